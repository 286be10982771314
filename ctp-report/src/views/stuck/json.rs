//! The fields of `--stuck --json`.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;
use serde_json::{Value, json};

use crate::evidence::thread_inspections::ThreadInspection;
use crate::findings::Finding as _;
use crate::findings::leaks::Leak;
use crate::views::stuck::model::Group;
use crate::views::stuck::model::deadlocks::Deadlock;

/// All groups by verdict, the deadlock cycles, the threads in closures of the blocking pool, and the
/// coroutines that were alive at a clean end.
pub fn fields(
    threshold: Nanos,
    groups: &[Group],
    deadlocks: &[Deadlock],
    pool: &[ThreadInspection],
    leaks: &[Leak],
) -> Value {
    let of = |requested: fn(Verdict) -> bool| -> Vec<&Group> {
        let groups = groups.iter();
        groups.filter(|group| requested(group.verdict())).collect()
    };
    json!({
        "threshold_ns": threshold.0,
        "deadlocks": deadlocks,
        "stuck": of(Verdict::is_stuck),
        "busy": of(|verdict| verdict == Verdict::Busy),
        "unknown": of(|verdict| verdict == Verdict::Unknown),
        "waiting": of(|verdict| verdict == Verdict::Waiting),
        "blocking_pool": pool,
        (<Vec<Leak>>::NAME): leaks,
    })
}
