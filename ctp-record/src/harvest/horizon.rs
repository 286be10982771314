//! Decides which times of events are possible, and converts them to the trace's time.

use ctp_trace::record::Nanos;

/// How far a probe's clock may be ahead of the recorder's, or behind it at the start.
pub(crate) const LEEWAY_NS: u64 = 1_000_000_000;

/// The possible times of events, on the monotonic clock.
#[derive(Debug)]
pub(super) struct Horizon {
    /// The trace's zero.
    start_ns: u64,
    now_ns: fn() -> u64,
    /// The latest possible time, as of the last reading of the clock.
    latest_ns: u64,
    /// The earliest possible time.
    earliest_ns: u64,
    /// The recording has ended: later times are never usual.
    is_over: bool,
    /// All of these times are on the program's clock, which is ahead of the recorder's by this much.
    ahead_ns: i64,
}

impl Horizon {
    /// Accepts every time, because there is no clock to compare with.
    pub(super) fn new(start_ns: u64) -> Self {
        Horizon {
            start_ns,
            now_ns: || u64::MAX,
            latest_ns: 0,
            earliest_ns: 0,
            is_over: false,
            ahead_ns: 0,
        }
    }

    /// Rejects times far ahead of the clock or long before the start.
    pub(super) fn clocked(start_ns: u64, now_ns: fn() -> u64) -> Self {
        Horizon {
            now_ns,
            earliest_ns: start_ns.saturating_sub(LEEWAY_NS),
            ..Horizon::new(start_ns)
        }
    }

    /// Accepts times up to `latest_ns`, for an image.
    pub(super) fn of_image(start_ns: u64, latest_ns: u64) -> Self {
        Horizon {
            now_ns: || 0,
            latest_ns,
            is_over: true,
            ..Horizon::new(start_ns)
        }
    }

    /// The present time, on the program's clock.
    pub(super) fn now_ns(&self) -> u64 {
        (self.now_ns)().saturating_add_signed(self.ahead_ns)
    }

    /// The start of the recording and the time now, on the recorder's clock.
    pub(super) fn of_recorder(&self) -> (u64, u64) {
        let start_ns = self.start_ns.saturating_add_signed(-self.ahead_ns);
        (start_ns, (self.now_ns)())
    }

    /// Moves all times to a clock that is ahead of the recorder's by `ahead_ns`.
    pub(super) fn follow_clock(&mut self, ahead_ns: i64) {
        let by_ns = ahead_ns.saturating_sub(self.ahead_ns);
        for time in [
            &mut self.start_ns,
            &mut self.latest_ns,
            &mut self.earliest_ns,
        ] {
            *time = time.saturating_add_signed(by_ns);
        }
        self.ahead_ns = ahead_ns;
    }

    /// The trace's zero.
    pub(super) fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Whether an event can have happened at this time. Reads the clock only for a time later than the last
    /// reading.
    pub(super) fn is_possible(&mut self, monotonic_ns: u64) -> bool {
        if self.latest_ns < monotonic_ns {
            let latest_ns = self.now_ns().saturating_add(LEEWAY_NS);
            if self.is_over {
                return monotonic_ns <= latest_ns;
            }
            self.latest_ns = latest_ns;
        }
        monotonic_ns <= self.latest_ns
    }

    /// Ends the recording at this time: from now on no later time is usual.
    pub(super) fn stop(&mut self, at_ns: u64) {
        self.latest_ns = at_ns;
        self.is_over = true;
    }

    /// Whether this time is certainly possible, without reading the clock: after the start, and not after the
    /// last reading.
    #[inline]
    pub(super) fn is_usual(&self, monotonic_ns: u64) -> bool {
        self.start_ns < monotonic_ns && monotonic_ns <= self.latest_ns
    }

    /// Whether this time lies so long before the start that the true time is unknown.
    pub(super) fn is_too_early(&self, monotonic_ns: u64) -> bool {
        monotonic_ns < self.earliest_ns
    }

    /// Converts to the trace's time.
    pub(super) fn nanos(&self, monotonic_ns: u64) -> Nanos {
        Nanos(monotonic_ns.saturating_sub(self.start_ns))
    }
}
