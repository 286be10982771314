//! History that is whole: more events than slots hold, and threads that come and go.

use std::fs::File;
use std::process::Command;

use ctp_trace::record::{Act, ThreadEvent};

use crate::lab::{Lab, fixture};
use crate::loss::counts_agree;

/// What the closing lines say was used.
fn lanes(stderr: &str) -> u32 {
    let (before, _) = stderr.split_once(" lane").expect("the hint about lanes");
    let count = before.rsplit("; ").next().expect("there is one at least");
    // Thousands stand apart.
    count.replace(' ', "").parse().expect("a number")
}

// CT-11, LT-07
#[test]
fn a_burst_that_lanes_can_hold_is_recorded_without_loss() {
    let lab = Lab::new();
    let outcome = lab.record(&["-v"], "hot", &["truth", "3", "8", "10000"]);
    counts_agree(&lab).is_complete();
    assert_eq!(lanes(&outcome.stderr), 3);
}

// LT-07
#[test]
fn full_lanes_are_counted_and_larger_lanes_suggested() {
    let lab = Lab::new();
    let outcome = lab.record(&["--buffer", "1K"], "hot", &["truth", "2", "3", "50000"]);
    let trace = counts_agree(&lab);
    assert!(trace.end().lost > 0, "32 records are overrun");
    let message = &outcome.stderr;
    assert!(message.contains("a larger --buffer"), "{message}");
}

/// The trace of so many threads, which has all that they did.
fn brief(lab: &Lab, threads: &str, at_once: &str, cycles: &str) -> String {
    brief_with(&["-v"], lab, threads, at_once, cycles)
}

fn brief_with(flags: &[&str], lab: &Lab, threads: &str, at_once: &str, cycles: &str) -> String {
    let outcome = lab.record(flags, "brief", &["truth", threads, at_once, cycles]);
    let trace = lab.trace();
    trace.is_complete();
    assert_eq!(trace.end().events.to_string(), lab.truth("truth")[0][0]);
    outcome.stderr
}

// LT-13
#[test]
fn ten_thousand_short_threads_use_few_lanes() {
    let message = brief(&Lab::new(), "10000", "8", "10");
    assert!(lanes(&message) <= 16, "{message}");
    assert!(!message.contains("got no buffer"), "{message}");
}

// LT-12
#[test]
fn two_thousand_threads_each_have_a_lane() {
    let lab = Lab::new();
    let message = brief(&lab, "2000", "2000", "20");
    assert_eq!(lanes(&message), 2000, "{message}");
    assert!(!message.contains("got no buffer"), "{message}");
    assert_eq!(lab.trace().end().lost, 0);
}

// LT-12
#[test]
fn first_lanes_are_mapped_in_advance() {
    let mapped = |flags: &[&str]| -> u64 {
        let message = Lab::new().record(flags, "brief", &["mapped"]).stdout;
        message.trim().parse().expect("a number")
    };
    let (none, some) = (
        mapped(&["-n", "16", "--buffer", "0"]),
        mapped(&["-n", "16"]),
    );
    assert!(none + 16 * 4 <= some, "{none} and {some} KiB");
}

fn may_look_at_a_child() -> bool {
    let mut child = Command::new("sleep").arg("9").spawn().expect("sleep runs");
    let memory = File::open(format!("/proc/{}/mem", child.id()));
    child.kill().expect("it sleeps");
    child.wait().expect("it is a child");
    memory.is_ok()
}

// LT-12
#[test]
fn later_threads_find_prepared_pages() {
    if !may_look_at_a_child() {
        return eprintln!("skipped: no access to the memory of a child");
    }
    let message = Lab::new().record(&[], "brief", &["waits", "80"]).stdout;
    let with: usize = message.trim().parse().expect("a number");
    // Now and then a thread reaches a new page of the table of lanes, or starts before the recorder
    // has checked.
    assert!(with <= 16, "{with} of 64");
}

/// The program's address space fits the long lanes of this size, but not the short ones.
const ADDRESSES_KIB: &str = "ulimit -v 1200000; exec \"$0\" \"$@\"";

// LT-12
#[test]
fn threads_without_a_lane_are_recorded_from_slots() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["-v", "-n", "2000", "--buffer", "8M"], "sh");
    command.args(["-c", ADDRESSES_KIB]).arg(fixture("brief"));
    command.args(["truth", "200", "200", "3"]);
    command.envs([("RUST_MIN_STACK", "65536"), ("MALLOC_ARENA_MAX", "1")]);
    let message = lab.run(&mut command).stderr;
    assert_eq!(lanes(&message), 128, "{message}");
    assert!(message.contains("72 threads got no buffer"), "{message}");
    let trace = lab.trace();
    trace.is_complete();
    assert_eq!(trace.end().events, 200 * 8);
    let is_loss = |thread_event: &&ThreadEvent| thread_event.act == Act::Loss(0);
    assert_eq!(trace.thread_events.iter().filter(is_loss).count(), 1);
}

// CTP-30, LT-04
#[test]
fn signal_handler_during_an_event_corrupts_nothing() {
    let lab = Lab::new();
    let outcome = lab.record(&["--buffer", "64M"], "nested", &["truth", "1000000"]);
    let trace = counts_agree(&lab);
    // If many handlers run during an event, the last ones are left out and counted.
    trace.has_no_gaps();
    assert!(trace.end().lost < trace.end().events / 100);
    let inner = trace.named("inner").event_counts().attempted;
    let handled = inner.saturating_sub(500_000); // those of its switches
    assert!(
        handled > 200,
        "{handled} events of the handler; {}",
        outcome.stderr
    );
}
