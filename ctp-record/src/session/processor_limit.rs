//! The limit of processor time (`ulimit -t`). At the hard limit the kernel kills the recorder without a warning,
//! and unwritten data is lost. The recorder therefore ends its work earlier.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Maximum number of seconds of processor time reserved for writing the rest.
const MAX_RESERVE_S: u64 = 10;

/// Records that the recorder can order, encode and write in a second. The recorder is faster if it has a processor for
/// itself.
const RECORDS_A_S: u64 = if cfg!(debug_assertions) {
    200_000
} else {
    1_000_000
};

/// Lowers the soft limit, at which the kernel sends SIGXCPU, so that there is time left to finish the trace.
pub fn keep_time_to_finish() {
    let limit = getrlimit(Resource::Cpu);
    let Some(hard) = limit.maximum else { return };
    let reserve = (hard / 10).clamp(1, MAX_RESERVE_S);
    let warned = hard.saturating_sub(reserve).max(1);
    let current = Some(limit.current.map_or(warned, |soft| soft.min(warned)));
    // If this fails, the recorder may be killed at the hard limit.
    let _ = setrlimit(Resource::Cpu, Rlimit { current, ..limit });
}

/// Records that can be written in half of the time left until the hard limit; `None` without a limit.
pub fn records_left() -> Option<u64> {
    let left = left(used())?.as_millis() as u64;
    Some(left.saturating_mul(RECORDS_A_S) / 2_000)
}

/// Whether there is time to read back the trace, which takes no more processor time than the recorder has used so far.
pub fn has_time_to_read_back() -> bool {
    let used = used();
    left(used).is_none_or(|left| used < left)
}

fn left(used: Duration) -> Option<Duration> {
    let hard = getrlimit(Resource::Cpu).maximum?;
    Some(Duration::from_secs(hard).saturating_sub(used))
}

/// Processor time of all threads of the recorder.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
