//! What is said of threads that found no lane.

use super::Closing;
use crate::cli::size::typed;
use crate::cli::words::{counted, grouped};

impl Closing<'_> {
    pub(super) fn laneless(&self) -> Option<String> {
        let threads = self.counters.laneless;
        let remedy = self.room.roomier.map_or(String::new(), |(bytes, most)| {
            let (buffer, most) = (typed(bytes), grouped(most.into()));
            format!("; with --buffer {buffer} up to {most} threads of a process have one")
        });
        if self.has_no_lane() {
            return Some(without_any(threads));
        }
        (threads > 0).then(|| {
            format!(
                "{} found no buffer: until one is free, only the latest 8 events of each coroutine \
                 there are kept from one look of the recorder to the next{remedy}",
                counted(threads.into(), "thread")
            )
        })
    }

    /// Where lanes were to be, no thread has had any: the program could not map them. Those of a flight
    /// recorder are counted in its snapshot only.
    pub(super) fn has_no_lane(&self) -> bool {
        0 < self.counters.laneless && self.totals.lanes == 0 && self.written.unwritten.is_none()
    }
}

fn without_any(threads: u32) -> String {
    format!(
        "{} found no buffer, since the program has no room to map any (ulimit -v, or locked memory): \
         only the latest 8 events of each coroutine are kept from one look of the recorder to the \
         next; a smaller --buffer may fit",
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
    fn threads_without_a_buffer_are_told_of_one_that_more_can_have_if_there_is() {
        let mut closing = Closing::new(
            "app".to_owned(),
            Path::new("x"),
            End::default(),
            Counters {
                laneless: 2,
                ..Counters::default()
            },
        );
        closing.totals.lanes = 1;
        let message = closing.laneless().expect("there are such threads");
        assert!(
            message.starts_with("2 threads found no buffer: until"),
            "{message}"
        );
        assert!(message.ends_with("the recorder to the next"), "{message}");
        closing.room.roomier = Some((1 << 20, 5120));
        let message = closing.laneless().expect("there are such threads");
        let remedy = "; with --buffer 1M up to 5 120 threads of a process have one";
        assert!(message.ends_with(remedy), "{message}");
    }

    #[test]
    fn of_a_program_that_could_map_no_buffer_no_window_is_told() {
        let end = End {
            events: 408,
            coroutines: 90,
            ..End::default()
        };
        let closing = Closing {
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
            ..Closing::new("app".to_owned(), Path::new("x"), end, Counters::default())
        };
        let kept = "(408 kept: at most the latest 8 of each coroutine)";
        assert!(closing.what_was_recorded().contains(kept));
        let message = closing.laneless().expect("there are such threads");
        assert!(message.contains("no room to map any"), "{message}");
        assert!(!message.contains("until one is free"), "{message}");
        let unwritten = Closing {
            written: Written {
                unwritten: Some("no snapshot".to_owned()),
                ..Written::default()
            },
            ..closing
        };
        let message = unwritten.laneless().expect("there are such threads");
        assert!(message.contains("until one is free"), "{message}");
    }
}
