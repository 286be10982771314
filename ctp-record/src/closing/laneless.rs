//! Closing lines about threads without a lane.

use super::ClosingLines;
use crate::cli::size::typed;
use crate::cli::words::{counted, grouped};

impl ClosingLines<'_> {
    pub(super) fn laneless(&self) -> Option<String> {
        let threads = self.counters.laneless;
        let remedy = self
            .capacity
            .roomier
            .map_or(String::new(), |(bytes, most)| {
                let (buffer, most) = (typed(bytes), grouped(most.into()));
                format!("; with --buffer {buffer} up to {most} threads of a process get one")
            });
        if self.has_no_lane() {
            return Some(without_any(threads));
        }
        (threads > 0).then(|| {
            format!(
                "{} got no buffer: until one is free, only the latest 8 events of each of their \
                 coroutines are kept between two passes of the recorder{remedy}",
                counted(threads.into(), "thread")
            )
        })
    }

    /// Whether no thread had a lane although the recording has lanes: the program could not map them. A flight
    /// recorder counts lanes in its snapshot only.
    pub(super) fn has_no_lane(&self) -> bool {
        0 < self.counters.laneless && self.totals.lanes == 0 && self.written.unwritten.is_none()
    }
}

fn without_any(threads: u32) -> String {
    format!(
        "{} got no buffer, because the program has no memory left to map any (ulimit -v, or locked memory): \
         only the latest 8 events of each coroutine are kept between two passes of the recorder; \
         a smaller --buffer may fit",
        counted(threads.into(), "thread")
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctp_nostd::inspect::Counters;
    use ctp_trace::record::{End, Nanos};

    use crate::closing::{SnapshotExtent, Written};
    use crate::harvest::Totals;

    use super::*;

    // LT-12
    #[test]
    fn threads_without_a_buffer_get_a_hint_at_smaller_buffers() {
        let mut closing = ClosingLines::new(
            "app".to_owned(),
            Path::new("x"),
            End::default(),
            Counters {
                laneless: 2,
                ..Counters::default()
            },
        );
        closing.totals.lanes = 1;
        let message = closing.laneless().expect("threads without a buffer");
        assert!(
            message.starts_with("2 threads got no buffer: until"),
            "{message}"
        );
        assert!(message.ends_with("passes of the recorder"), "{message}");
        closing.capacity.roomier = Some((1 << 20, 5120));
        let message = closing.laneless().expect("threads without a buffer");
        let remedy = "; with --buffer 1M up to 5 120 threads of a process get one";
        assert!(message.ends_with(remedy), "{message}");
    }

    #[test]
    fn no_window_is_claimed_if_no_buffer_could_be_mapped() {
        let end = End {
            events: 408,
            coroutines: 90,
            ..End::default()
        };
        let closing = ClosingLines {
            totals: Totals {
                summed_up: 43_514,
                ..Totals::default()
            },
            snapshot: SnapshotExtent {
                window: Some(Nanos(3_900_000_000)),
                ended_before: 0,
            },
            counters: Counters {
                laneless: 3,
                ..Counters::default()
            },
            ..ClosingLines::of_end(end)
        };
        let kept = "(408 kept: at most the latest 8 of each coroutine)";
        assert!(closing.what_was_recorded().contains(kept));
        let message = closing.laneless().expect("threads without a buffer");
        assert!(message.contains("no memory left to map any"), "{message}");
        assert!(!message.contains("until one is free"), "{message}");
        let unwritten = ClosingLines {
            written: Written {
                unwritten: Some("no snapshot".to_owned()),
                ..Written::default()
            },
            ..closing
        };
        let message = unwritten.laneless().expect("threads without a buffer");
        assert!(message.contains("until one is free"), "{message}");
    }
}
