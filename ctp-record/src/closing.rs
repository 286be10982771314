//! The closing lines: how the program ended, what was recorded, what was lost, and what to type next.

pub mod cost;
mod exit;
pub mod final_snapshot;
mod frozen;
mod laneless;
pub mod post_run;
mod refused;
pub mod start_and_end;
mod turned_away;
pub mod write;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use ctp_nostd::inspect::Counters;
use ctp_trace::record::{End, ExitReason, Nanos};

use crate::cli::words::{counted, grouped, seconds, shell_word, shown, size};
use crate::closing::post_run::StuckSummary;
use crate::connect::turned_away::TurnedAway;
use crate::harvest::Totals;
use crate::output::backlog::Backlog;

/// The content of the closing lines.
#[derive(Clone, Debug)]
pub struct ClosingLines<'c> {
    /// The name of the program or of the dump.
    pub subject: String,
    /// The trace.
    pub output: &'c Path,
    /// The trace's closing record.
    pub end: End,
    /// The result of writing the file.
    pub written: Written,
    /// How many coroutines look stuck or busy, if they were counted.
    pub stuck_summary: Option<StuckSummary>,
    /// What an event costs the program on this machine, if that was measured.
    pub event_cost: Option<Duration>,
    /// The capacity of the recording.
    pub room: Capacity,
    /// Processes other than the program.
    pub processes: OtherProcesses,
    /// The program was not allowed to ring (`--no-bell`).
    pub no_doorbell: bool,
    /// Memories that a program has overwritten.
    pub damaged: u32,
    /// Totals found in the memories.
    pub totals: Totals,
    /// Number of coroutines of a v1 probe, which keeps no totals.
    pub foreign: u32,
    /// The extent of a flight recorder's snapshot.
    pub snapshot: SnapshotExtent,
    /// Which of several memories in a dump was read.
    pub which: Option<String>,
    /// The counters in the memory.
    pub counters: Counters,
}

/// The result of writing the file.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The file's size; `None` if nothing was written.
    pub bytes: Option<u64>,
    /// The file is incomplete.
    pub is_cut: bool,
    /// There is no processor time left to read the file back.
    pub is_out_of_time: bool,
    /// Nothing was recorded, and the file at the destination is an earlier trace.
    pub keeps_earlier: bool,
    /// Why nothing was written.
    pub unwritten: Option<String>,
}

/// The capacity of a recording.
#[derive(Clone, Debug, Default)]
pub struct Capacity {
    /// Capacity in coroutines.
    pub stations: u32,
    /// The memory is a static of firmware, which goes on.
    pub is_static: bool,
    /// The buffer size in bytes with which the most threads get a buffer, and the number of these threads. `None` if
    /// that is no more than in this recording.
    pub roomier: Option<(u64, u32)>,
    /// The queue of unwritten data.
    pub backlog: Option<Backlog>,
}

/// Processes other than the program.
#[derive(Clone, Debug, Default)]
pub struct OtherProcesses {
    /// When the program ended, if its descendants were waited for.
    pub program_ended: Option<Nanos>,
    /// Running processes, with their names.
    pub survivors: Vec<(u32, String)>,
    /// Processes that got no memory.
    pub turned_away: TurnedAway,
}

/// The extent of a flight recorder's snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub struct SnapshotExtent {
    /// The length of the window; `None` for other recordings.
    pub window: Option<Nanos>,
    /// Coroutines that ended before the window and appear in the totals only.
    pub ended_before: u64,
}

impl<'c> ClosingLines<'c> {
    /// The closing lines of a trace of which only the end record is known so far.
    pub fn new(subject: String, output: &'c Path, end: End, counters: Counters) -> Self {
        ClosingLines {
            subject,
            output,
            end,
            written: Written::default(),
            stuck_summary: None,
            event_cost: None,
            room: Capacity::default(),
            processes: OtherProcesses::default(),
            no_doorbell: false,
            damaged: 0,
            totals: Totals::default(),
            foreign: 0,
            snapshot: SnapshotExtent::default(),
            which: None,
            counters,
        }
    }

    /// All lines.
    pub fn text(&self, verbose: bool) -> String {
        let mut lines = vec![self.exit_description()];
        lines.extend(self.which.clone());
        match self.coroutines() {
            0 => {
                lines.push(self.nothing_attached());
                lines.extend(self.earlier_trace());
            }
            _ if self.written.unwritten.is_some() => {}
            _ => lines.push(self.what_was_recorded()),
        }
        lines.extend(self.end_of_image());
        lines.extend(self.refused());
        lines.extend(self.filtered());
        lines.extend(self.crowded_out());
        lines.extend(self.laneless());
        lines.extend(self.frozen_to_the_limit());
        lines.extend(self.turned_away());
        lines.extend(self.unreached());
        lines.extend(self.damaged());
        lines.extend(self.damaged_lanes());
        lines.extend(self.doubtful());
        lines.extend(self.survivors());
        if verbose {
            lines.push(self.details());
        }
        lines.extend(self.written.unwritten.clone());
        lines.extend(self.what_was_written());
        lines.extend(self.what_next());
        let mut text = String::new();
        for line in lines {
            // Writing to a string does not fail.
            let _ = writeln!(text, "ctp-record: {line}");
        }
        text
    }

    fn coroutines(&self) -> u64 {
        self.end
            .coroutines
            .saturating_add(self.snapshot.ended_before)
    }

    fn what_was_recorded(&self) -> String {
        let end = &self.end;
        let events = end.events.saturating_add(self.totals.summed_up);
        let mut line = format!(
            "{}, {}{}, {} lost, {} refused",
            counted(self.coroutines(), "coroutine"),
            counted(events, "event"),
            self.events_detail(),
            grouped(end.lost),
            grouped(end.refused)
        );
        let is_sound = self.totals.doubtful == 0 && !matches!(end.how, ExitReason::Image);
        // The cost of a v1 probe, and on another processor, was not measured.
        let is_of_our_probe = is_sound && !self.room.is_static && self.foreign == 0;
        if let Some(cost) = self.event_cost
            && is_of_our_probe
            && end.at.0 > 0
        {
            let cost = cost.as_nanos() as f64;
            let share = cost * (events as f64 + end.lost as f64) / end.at.0 as f64 * 100.0;
            let _ = write!(
                line,
                "; about {cost:.0} ns an event, {share:.1} % of the run"
            );
        }
        line
    }

    fn events_detail(&self) -> String {
        match (self.totals.summed_up, self.snapshot.window) {
            _ if self.written.is_cut => " seen, not all of them written".to_owned(),
            (0, _) => String::new(),
            _ if self.coroutines() <= self.foreign.into() => format!(
                " ({} kept: the latest 8 of each coroutine, since this probe keeps no totals)",
                grouped(self.end.events)
            ),
            (_, Some(_)) if self.has_no_lane() => format!(
                " in totals ({} kept: at most the latest 8 of each coroutine)",
                grouped(self.end.events)
            ),
            (_, None) => format!(" in totals ({} kept)", grouped(self.end.events)),
            (_, Some(length)) => format!(
                " in totals ({} kept: the last {})",
                grouped(self.end.events),
                seconds(length.0)
            ),
        }
    }

    fn nothing_attached(&self) -> String {
        match self.end.how {
            ExitReason::Image => "no coroutine was ever born in that memory".to_owned(),
            _ if 0 < self.end.unrecorded.saturating_add(self.end.refused) => {
                "no coroutine was recorded".to_owned()
            }
            _ if self.went_into_the_background() => {
                "no coroutine was recorded before the program ended, but processes of it live on: \
                 --wait-all records them too. Where they attach no probe either, link ctp-nostd and \
                 call ctp_nostd::attach() first thing in main"
                    .to_owned()
            }
            _ => "no coroutine was recorded: the program attached no probe, or spawned none. \
                  Link ctp-nostd and call ctp_nostd::attach() first thing in main, or inspect the \
                  running program with -p PID"
                .to_owned(),
        }
    }

    fn earlier_trace(&self) -> Option<String> {
        let is_kept = self.written.keeps_earlier;
        is_kept.then(|| {
            format!(
                "{} is still the trace of an earlier run",
                shown(self.output)
            )
        })
    }

    /// Whether the program ended before some of its descendants, and the recorder did not wait for these.
    fn went_into_the_background(&self) -> bool {
        let has_ended = matches!(
            self.end.how,
            ExitReason::Exited(_) | ExitReason::Signalled(_)
        );
        has_ended && self.processes.program_ended.is_none() && !self.processes.survivors.is_empty()
    }

    /// A dump does not contain the time at which it was taken.
    fn end_of_image(&self) -> Option<String> {
        let is_image = matches!(self.end.how, ExitReason::Image) && 0 < self.coroutines();
        is_image.then(|| match self.end.at.0 {
            0 => "all times in the image are the same: if the program ran for longer, the timer that its \
                  now_ns() reads did not run"
                .to_owned(),
            at_ns => format!(
                "the image ends with its last record, {} after the first; later events are unknown",
                seconds(at_ns)
            ),
        })
    }

    fn filtered(&self) -> Option<String> {
        (self.totals.filtered > 0).then(|| {
            format!(
                "{} dropped by ctp-record control",
                counted(self.totals.filtered, "event")
            )
        })
    }

    /// Reports records that found a full buffer. Fewer events are counted as lost, because some of them were still read
    /// from slots.
    fn crowded_out(&self) -> Option<String> {
        let records = self.totals.crowded_out;
        let remedy = match &self.room.backlog {
            Some(backlog) if backlog.was_full() => format!(
                "the backlog of {} was full, too: a larger --backlog would keep longer \
                 bursts, a faster disk more",
                size(backlog.limit_bytes())
            ),
            _ => "a larger --buffer would keep longer bursts".to_owned(),
        };
        (records > 0 && self.totals.doubtful == 0).then(|| {
            let records = counted(records, "record");
            format!("{records} (events, wakes, locks) found a thread's buffer full; {remedy}")
        })
    }

    fn damaged(&self) -> Option<String> {
        let owner = match self.damaged {
            0 => return None,
            1 => "a process".to_owned(),
            many => format!("{many} processes"),
        };
        Some(format!(
            "{owner} overwrote the recording's memory: data read before that is sound, \
             figures of its coroutines are marked"
        ))
    }

    fn damaged_lanes(&self) -> Option<String> {
        let owner = match self.totals.damaged_lanes {
            0 => return None,
            1 => "a thread's buffer was".to_owned(),
            many => format!("{many} threads' buffers were"),
        };
        Some(format!(
            "{owner} overwritten: from then on only the latest events of its coroutines were read"
        ))
    }

    fn doubtful(&self) -> Option<String> {
        (self.totals.doubtful > 0).then(|| {
            format!(
                "the memory of {} held impossible numbers: their counts and all totals \
                 are in doubt",
                counted(self.totals.doubtful.into(), "coroutine")
            )
        })
    }

    fn survivors(&self) -> Option<String> {
        let names = self
            .processes
            .survivors
            .iter()
            .map(|(pid, name)| format!("{name} (pid {pid})"));
        let names: Vec<String> = names.collect();
        (!names.is_empty())
            .then(|| format!("still running, no longer recorded: {}", names.join(", ")))
    }

    fn details(&self) -> String {
        let counters = self.counters;
        format!(
            "doorbell rung {} times, {} while awake, {} without a socket, {} rescued by the safety tick; \
             {} left out, {} unnamed; {}, at most {} waited to be written",
            counters.wakes_sent,
            counters.wakes_would_block,
            counters.wakes_failed,
            counters.wakes_rescued,
            self.end.quarantined,
            self.end.unnamed,
            counted(self.totals.lanes.into(), "lane"),
            size(self.room.backlog.as_ref().map_or(0, Backlog::most_bytes))
        )
    }

    fn what_was_written(&self) -> Option<String> {
        let bytes = self.written.bytes.filter(|_| !self.written.keeps_earlier)?;
        let mut line = format!("wrote {} ({}", shown(self.output), size(bytes));
        if self.end.events > 0 && self.totals.summed_up == 0 {
            let each = bytes as f64 / self.end.events as f64;
            let _ = write!(line, ", {each:.1} B an event");
        }
        line.push(')');
        Some(line)
    }

    fn what_next(&self) -> Option<String> {
        if self.coroutines() == 0 || self.written.bytes.is_none() {
            return None;
        }
        let input = if self.output == Path::new("ctp.data") {
            String::new()
        } else {
            format!(" -i {}", shell_word(self.output))
        };
        Some(match &self.stuck_summary {
            _ if self.end.how.is_crash() => {
                format!("what ran last: ctp-report --last-words{input}")
            }
            Some(stuck_summary) if *stuck_summary == StuckSummary::default() => {
                format!("{stuck_summary}; next: ctp-report{input}")
            }
            Some(stuck_summary) => format!("{stuck_summary}; next: ctp-report --stuck{input}"),
            None => format!("next: ctp-report --stuck{input}"),
        })
    }
}

fn signal_name(number: i32) -> String {
    signal_hook::low_level::signal_name(number)
        .map_or_else(|| format!("signal {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(end: End) -> ClosingLines<'static> {
        ClosingLines::new("app".to_owned(), Path::new("x"), end, Counters::default())
    }

    #[test]
    fn full_buffers_are_reported_in_records() {
        let closing = ClosingLines {
            totals: Totals {
                lanes: 1,
                crowded_out: 41_710,
                ..Totals::default()
            },
            ..of(End::default())
        };
        let message = closing.crowded_out().expect("crowded-out records");
        assert!(
            message.starts_with("41 710 records (events, wakes, locks) found"),
            "{message}"
        );
    }

    #[test]
    fn coroutines_left_in_totals_only_were_recorded() {
        let closing = ClosingLines {
            snapshot: SnapshotExtent {
                window: None,
                ended_before: 1_001,
            },
            ..of(End::default())
        };
        let message = closing.text(false);
        assert!(message.contains("1 001 coroutines, 0 events"), "{message}");
        assert!(!message.contains("no coroutine was recorded"), "{message}");
    }

    // CTP-32, CT-24
    #[test]
    fn unrecorded_processes_do_not_hint_at_a_missing_probe() {
        let end = End {
            unrecorded: 1,
            ..End::default()
        };
        let message = of(end).text(false);
        assert!(message.contains("no coroutine was recorded\n"), "{message}");
        let message = of(End::default()).text(false);
        assert!(message.contains("attached no probe"), "{message}");
    }

    #[test]
    fn no_totals_and_no_cost_of_a_v1_probe() {
        let end = End {
            at: Nanos(1_000_000_000),
            coroutines: 4,
            events: 32,
            ..End::default()
        };
        let closing = ClosingLines {
            foreign: 4,
            totals: Totals {
                summed_up: 9_570,
                ..Totals::default()
            },
            snapshot: SnapshotExtent {
                window: Some(Nanos(500_000_000)),
                ended_before: 0,
            },
            ..of(end)
        };
        let own = "4 coroutines, 9 602 events (32 kept: the latest 8 of each coroutine, \
                   since this probe keeps no totals), 0 lost, 0 refused";
        assert_eq!(closing.what_was_recorded(), own);
        let ours = ClosingLines {
            foreign: 0,
            event_cost: Some(Duration::from_nanos(20)),
            ..closing
        };
        let message = ours.what_was_recorded();
        assert!(
            message.contains("in totals (32 kept: the last 500 ms)"),
            "{message}"
        );
        assert!(message.contains("about 20 ns an event, "), "{message}");
    }
}
