//! The closing lines: how the program ended, what was recorded, what was lost, and what to type next.

pub mod cost;
mod damage;
mod exit;
pub mod final_snapshot;
pub mod finish;
mod frozen;
mod laneless;
mod left_out;
mod next;
mod nothing;
pub mod post_run;
mod recorded;
mod refused;
mod turned_away;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use ctp_nostd::inspect::Counters;
use ctp_trace::record::{End, ExitReason, Nanos};

use crate::cli::words::{counted, seconds, size};
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
    pub capacity: Capacity,
    /// Processes other than the program.
    pub processes: OtherProcesses,
    /// The program was not allowed to ring (`--no-bell`).
    pub no_doorbell: bool,
    /// Memories that a program has overwritten.
    pub damaged_regions: u32,
    /// Totals found in the memories.
    pub totals: Totals,
    /// Number of coroutines of a v1 probe, which keeps no totals.
    pub v1_coroutines: u32,
    /// The extent of a flight recorder's snapshot.
    pub snapshot: SnapshotExtent,
    /// Which of several memories in a dump was read.
    pub chosen_memory: Option<String>,
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
            capacity: Capacity::default(),
            processes: OtherProcesses::default(),
            no_doorbell: false,
            damaged_regions: 0,
            totals: Totals::default(),
            v1_coroutines: 0,
            snapshot: SnapshotExtent::default(),
            chosen_memory: None,
            counters,
        }
    }

    /// All lines.
    pub fn text(&self, verbose: bool) -> String {
        let mut lines = vec![self.exit_description()];
        lines.extend(self.chosen_memory.clone());
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
            size(
                self.capacity
                    .backlog
                    .as_ref()
                    .map_or(0, Backlog::most_bytes)
            )
        )
    }
}

fn signal_name(number: i32) -> String {
    signal_hook::low_level::signal_name(number)
        .map_or_else(|| format!("signal {number}"), str::to_owned)
}

#[cfg(test)]
impl ClosingLines<'static> {
    /// The closing lines of a test, with the end record only.
    fn of_end(end: End) -> Self {
        ClosingLines::new("app".to_owned(), Path::new("x"), end, Counters::default())
    }
}
