//! While nothing happens, a trace says now and then up to when all is told, so that who reads it
//! meanwhile knows how long coroutines wait: ever more seldom, so that it hardly grows.

use ctp_trace::record::Nanos;

/// Nothing happens: there was no event for so long.
const QUIET_NS: u64 = 500_000_000;

/// The next one comes when it has been quiet for a quarter longer.
const PART: u64 = 4;

/// The latest one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watermark(Nanos);

impl Watermark {
    /// Is one to be written now, when all until `at` is told, and the latest event was then?
    pub fn is_due(&mut self, at: Nanos, latest_event: Nanos) -> bool {
        let quiet_ns = at.0.saturating_sub(latest_event.0);
        let pause_ns = at.0.saturating_sub(self.0.0);
        let is_due = QUIET_NS.max(quiet_ns / PART) <= pause_ns.min(quiet_ns);
        if is_due {
            self.0 = at;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// How often one is written if it is asked so often each second, and when the last one.
    fn written(seconds: u64, events_each: Option<u64>) -> (u64, u64) {
        let mut watermark = Watermark::default();
        let (mut count, mut last) = (0, 0);
        for at in (0..seconds * SECOND).step_by(100_000_000) {
            let latest = events_each.map_or(0, |each| at / each * each);
            if watermark.is_due(Nanos(at), Nanos(latest)) {
                (count, last) = (count + 1, at);
            }
        }
        (count, last)
    }

    // LT-23
    #[test]
    fn it_says_how_long_it_has_been_quiet_to_a_quarter_and_hardly_takes_room() {
        for seconds in [2, 60, 3_600, 24 * 3_600] {
            let (count, last) = written(seconds, None);
            assert!(seconds * SECOND <= last + last / 2, "{seconds} {last}");
            assert!(count < 64, "{count}");
        }
    }

    #[test]
    fn it_says_nothing_while_events_tell_the_time() {
        assert_eq!(written(60, Some(400_000_000)).0, 0);
        assert!(0 < written(60, Some(SECOND)).0);
    }
}
