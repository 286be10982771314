//! The limit of processor time (`ulimit -t`). At the hard limit the kernel kills without a warning, and
//! what is not written by then is missing: so the recorder ends its work before.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time that writing the rest may take.
const MOST_RESERVE_S: u64 = 10;

/// Records that the recorder puts in order, encodes and writes in a second. It does more where it has a
/// processor for itself.
const RECORDS_A_S: u64 = if cfg!(debug_assertions) {
    200_000
} else {
    1_000_000
};

/// The kernel warns at the soft limit, so the recorder's own is lowered until there is time to write
/// the trace to its end.
pub fn keep_time_to_finish() {
    let limit = getrlimit(Resource::Cpu);
    let Some(hard) = limit.maximum else { return };
    let reserve = (hard / 10).clamp(1, MOST_RESERVE_S);
    let warned = hard.saturating_sub(reserve).max(1);
    let current = Some(limit.current.map_or(warned, |soft| soft.min(warned)));
    // Where it stays as it is, a recorder that takes so much is killed.
    let _ = setrlimit(Resource::Cpu, Rlimit { current, ..limit });
}

/// Records that can be written in half of what is left until the hard limit; nothing without a limit.
pub fn records_left() -> Option<u64> {
    let left = left(used())?.as_millis() as u64;
    Some(left.saturating_mul(RECORDS_A_S) / 2_000)
}

/// Can a trace be read back that was just written? That takes no longer than all that was done before.
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
