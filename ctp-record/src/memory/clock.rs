//! The recording's time: nanoseconds of CLOCK_MONOTONIC since it began.

use std::time::{Duration, SystemTime};

use ctp_trace::record::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// The zero of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// CLOCK_MONOTONIC at the start.
    pub monotonic_ns: u64,
    /// Wall clock at the start.
    pub realtime_ns: u64,
}

impl Clock {
    /// Starts the clock now.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Clock {
            monotonic_ns: monotonic_ns(),
            realtime_ns: since_1970.unwrap_or(Duration::ZERO).as_nanos() as u64,
        }
    }

    /// Time since the start.
    pub fn now(&self) -> Nanos {
        Nanos(monotonic_ns().saturating_sub(self.monotonic_ns))
    }
}

/// CLOCK_MONOTONIC now.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The processor time that this thread has used so far.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
