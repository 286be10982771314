//! Writes a watermark into a trace while nothing happens: the time up to which the trace is complete. So a
//! concurrent reader knows how long coroutines wait. Intervals grow, so that the trace stays small.

use ctp_trace::record::Nanos;

/// A recording is quiet after this long without an event.
const QUIET_NS: u64 = 500_000_000;

/// The next watermark is due when the time since the last is at least the quiet time divided by this.
const PART: u64 = 4;

/// The time of the latest watermark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watermark(Nanos);

impl Watermark {
    /// Advances the watermark to `at`, the time up to which the trace is complete. Returns false, and does nothing, if
    /// no watermark is due.
    pub fn advance_if_due(&mut self, at: Nanos, latest_event: Nanos) -> bool {
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

    /// How many watermarks are written if [`Watermark::advance_if_due`] is called every 100 ms, and when the last was.
    fn written(seconds: u64, events_each: Option<u64>) -> (u64, u64) {
        let mut watermark = Watermark::default();
        let (mut count, mut last) = (0, 0);
        for at in (0..seconds * SECOND).step_by(100_000_000) {
            let latest = events_each.map_or(0, |each| at / each * each);
            if watermark.advance_if_due(Nanos(at), Nanos(latest)) {
                (count, last) = (count + 1, at);
            }
        }
        (count, last)
    }

    // LT-23
    #[test]
    fn watermarks_bound_the_quiet_time_and_stay_few() {
        for seconds in [2, 60, 3_600, 24 * 3_600] {
            let (count, last) = written(seconds, None);
            assert!(seconds * SECOND <= last + last / 2, "{seconds} {last}");
            assert!(count < 64, "{count}");
        }
    }

    #[test]
    fn no_watermark_while_events_show_the_time() {
        assert_eq!(written(60, Some(400_000_000)).0, 0);
        assert!(0 < written(60, Some(SECOND)).0);
    }
}
