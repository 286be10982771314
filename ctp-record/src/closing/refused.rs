//! The closing line about coroutines that were refused because all stations were taken.

use std::fmt::Write as _;

use ctp_nostd::layout::MAX_STATIONS;

use super::ClosingLines;
use crate::cli::words::{counted, grouped};

impl ClosingLines<'_> {
    pub(super) fn refused(&self) -> Option<String> {
        if self.end.refused == 0 {
            return None;
        }
        let needed = u64::from(self.capacity.stations) + self.end.refused;
        let (places, refused) = (
            grouped(self.capacity.stations.into()),
            grouped(self.end.refused),
        );
        let remedy = if self.capacity.is_static {
            format!("Memory<{needed}>")
        } else if u64::from(MAX_STATIONS) < needed {
            return Some(self.far_too_many());
        } else {
            format!("-n {needed}")
        };
        Some(format!(
            "all {places} places were taken; {remedy} would have kept the {refused} that were refused"
        ))
    }

    /// The line for more coroutines than any recording can hold at once.
    fn far_too_many(&self) -> String {
        let mut line = format!(
            "all {} places were taken, and {} refused",
            grouped(self.capacity.stations.into()),
            counted(self.end.refused, "coroutine")
        );
        if self.capacity.stations < MAX_STATIONS {
            let _ = write!(line, "; -n {MAX_STATIONS} would have kept more of them");
        }
        if self.has_history() {
            line += "; if they are short-lived, --flight-recorder frees places sooner";
        }
        line
    }

    /// Whether a place is freed only after all its events have been read from a lane.
    fn has_history(&self) -> bool {
        self.snapshot.window.is_none() && 0 < self.totals.lanes
    }
}

#[cfg(test)]
mod tests {

    use ctp_trace::record::End;

    use super::*;
    use crate::closing::Capacity;

    // CTP-05
    #[test]
    fn advised_places_stay_within_the_limit() {
        let refused_of = |stations, refused| {
            let end = End {
                refused,
                ..End::default()
            };
            let closing = ClosingLines {
                capacity: Capacity {
                    stations,
                    ..Capacity::default()
                },
                ..ClosingLines::of_end(end)
            };
            closing.refused().expect("refused coroutines")
        };
        assert_eq!(
            refused_of(4, 6),
            "all 4 places were taken; -n 10 would have kept the 6 that were refused"
        );
        assert_eq!(
            refused_of(4, MAX_STATIONS.into()),
            "all 4 places were taken, and 1 048 576 coroutines refused; \
             -n 1048576 would have kept more of them"
        );
        assert_eq!(
            refused_of(MAX_STATIONS, 1),
            "all 1 048 576 places were taken, and 1 coroutine refused"
        );
    }
}
