//! The closing line about coroutines and events: how many were recorded, and at what cost.

use std::fmt::Write as _;

use ctp_trace::record::ExitReason;

use super::ClosingLines;
use crate::cli::words::{counted, grouped, seconds};

impl ClosingLines<'_> {
    pub(super) fn what_was_recorded(&self) -> String {
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
        let is_of_our_probe = is_sound && !self.capacity.is_static && self.v1_coroutines == 0;
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
            _ if self.coroutines() <= self.v1_coroutines.into() => format!(
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
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ctp_trace::record::{End, Nanos};

    use super::*;
    use crate::closing::SnapshotExtent;
    use crate::harvest::Totals;

    #[test]
    fn no_totals_and_no_cost_of_a_v1_probe() {
        let end = End {
            at: Nanos(1_000_000_000),
            coroutines: 4,
            events: 32,
            ..End::default()
        };
        let closing = ClosingLines {
            v1_coroutines: 4,
            totals: Totals {
                summed_up: 9_570,
                ..Totals::default()
            },
            snapshot: SnapshotExtent {
                window: Some(Nanos(500_000_000)),
                ended_before: 0,
            },
            ..ClosingLines::of_end(end)
        };
        let own = "4 coroutines, 9 602 events (32 kept: the latest 8 of each coroutine, \
                   since this probe keeps no totals), 0 lost, 0 refused";
        assert_eq!(closing.what_was_recorded(), own);
        let ours = ClosingLines {
            v1_coroutines: 0,
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

    #[test]
    fn coroutines_left_in_totals_only_were_recorded() {
        let closing = ClosingLines {
            snapshot: SnapshotExtent {
                window: None,
                ended_before: 1_001,
            },
            ..ClosingLines::of_end(End::default())
        };
        let message = closing.text(false);
        assert!(message.contains("1 001 coroutines, 0 events"), "{message}");
        assert!(!message.contains("no coroutine was recorded"), "{message}");
    }
}
