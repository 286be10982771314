//! A flight recorder with many threads, related processes, and peers.

use ctp_trace::record::{Act, Dialect, EventKind, ProcessExit};

use crate::family::{everything_is_there, record};
use crate::flight::is_whole;
use crate::lab::Lab;
use crate::peers;

// LT-14
#[test]
fn dead_threads_keep_lanes_while_others_are_free() {
    let lab = Lab::new();
    lab.record(&["--flight-recorder"], "brief", &["truth", "100", "8", "3"]);
    let trace = lab.trace();
    is_whole(&trace);
    assert_eq!(trace.end().events.to_string(), lab.truth("truth")[0][0]);
    let started = trace
        .thread_events
        .iter()
        .filter(|thread_event| thread_event.act == Act::Begin);
    assert_eq!(started.count(), 96, "each thread has a record");
}

// CTP-34
#[test]
fn ended_processes_keep_their_final_state() {
    let lab = Lab::new();
    let steps = "work parent 5 0 fork work child 5 0 clone work grandchild 5 0 kill";
    let (_, trace) = record(&lab, &["--flight-recorder"], steps);
    everything_is_there(&lab, &trace);
    is_whole(&trace);
    assert_eq!(trace.processes.len(), 3);
    assert_eq!(trace.process_ends.len(), 2);
    for coroutine in trace.coroutines.values() {
        assert_eq!(coroutine.last(), EventKind::Suspend);
        assert_eq!(
            coroutine.events.len() as u64,
            coroutine.event_counts().attempted
        );
    }
}

// CTP-33
#[test]
fn new_image_is_another_process() {
    let lab = Lab::new();
    let steps = "work old 5 0 exec work new 5 0";
    let (_, trace) = record(&lab, &["--flight-recorder"], steps);
    everything_is_there(&lab, &trace);
    is_whole(&trace);
    let replaced = &trace.process_ends[0];
    assert_eq!(replaced.how, ProcessExit::Exec);
    assert_eq!(replaced.process, trace.named("old").birth.process);
}

// CTP-13
#[test]
fn plain_v1_peers_keep_their_latest_events() {
    peers::latest(Dialect::V1PerStation, "d1");
    peers::latest(Dialect::V1PerSlot, "d2");
}
