//! When events can have happened, and at which times of the trace.

use ctp_trace::record::Nanos;

/// How far a probe's clock may be ahead of ours, or behind it at the start.
pub(crate) const LEEWAY_NS: u64 = 1_000_000_000;

/// The times that make sense, on the monotonic clock.
#[derive(Debug)]
pub(super) struct Horizon {
    /// The trace's zero.
    start_ns: u64,
    now_ns: fn() -> u64,
    /// Nothing later than this had happened when the clock was last asked.
    latest_ns: u64,
    /// Nothing earlier than this can have happened.
    dawn_ns: u64,
    /// It is over: later times are never usual.
    is_over: bool,
    /// All of these times are of the program's clock, which is so far ahead of the recorder's.
    ahead_ns: i64,
}

impl Horizon {
    /// Without a clock everything can have happened.
    pub(super) fn new(start_ns: u64) -> Self {
        Horizon {
            start_ns,
            now_ns: || u64::MAX,
            latest_ns: 0,
            dawn_ns: 0,
            is_over: false,
            ahead_ns: 0,
        }
    }

    /// What lies far ahead of the clock or long before the start is nonsense.
    pub(super) fn clocked(start_ns: u64, now_ns: fn() -> u64) -> Self {
        Horizon {
            now_ns,
            dawn_ns: start_ns.saturating_sub(LEEWAY_NS),
            ..Horizon::new(start_ns)
        }
    }

    /// Of an image: nothing in it can be later than `latest_ns`.
    pub(super) fn of_image(start_ns: u64, latest_ns: u64) -> Self {
        Horizon {
            now_ns: || 0,
            latest_ns,
            is_over: true,
            ..Horizon::new(start_ns)
        }
    }

    /// What time it is.
    pub(super) fn now_ns(&self) -> u64 {
        (self.now_ns)().saturating_add_signed(self.ahead_ns)
    }

    /// When the recording began and what time it is, on the recorder's clock.
    pub(super) fn of_recorder(&self) -> (u64, u64) {
        let start_ns = self.start_ns.saturating_add_signed(-self.ahead_ns);
        (start_ns, (self.now_ns)())
    }

    /// From now on times are of a clock that is so far ahead of the recorder's.
    pub(super) fn follow_clock(&mut self, ahead_ns: i64) {
        let by_ns = ahead_ns.saturating_sub(self.ahead_ns);
        for time in [&mut self.start_ns, &mut self.latest_ns, &mut self.dawn_ns] {
            *time = time.saturating_add_signed(by_ns);
        }
        self.ahead_ns = ahead_ns;
    }

    /// The trace's zero.
    pub(super) fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Can something have happened at this time? The clock is asked only about what is later than
    /// at its last answer.
    pub(super) fn may_have_been(&mut self, monotonic_ns: u64) -> bool {
        if self.latest_ns < monotonic_ns {
            let latest_ns = self.now_ns().saturating_add(LEEWAY_NS);
            if self.is_over {
                return monotonic_ns <= latest_ns;
            }
            self.latest_ns = latest_ns;
        }
        monotonic_ns <= self.latest_ns
    }

    /// It is this time now; from now on no later one is usual.
    pub(super) fn stop(&mut self, at_ns: u64) {
        self.latest_ns = at_ns;
        self.is_over = true;
    }

    /// Is this time, without a look at the clock, neither in the future nor before the start?
    #[inline]
    pub(super) fn is_usual(&self, monotonic_ns: u64) -> bool {
        self.start_ns < monotonic_ns && monotonic_ns <= self.latest_ns
    }

    /// Does this time lie so long before the start that it is not known?
    pub(super) fn is_before_dawn(&self, monotonic_ns: u64) -> bool {
        monotonic_ns < self.dawn_ns
    }

    /// This time in the trace.
    pub(super) fn nanos(&self, monotonic_ns: u64) -> Nanos {
        Nanos(monotonic_ns.saturating_sub(self.start_ns))
    }
}
