//! LT-23, CT-26: reading a trace during its recording.

use std::fs::{self, File};
use std::path::Path;

use ctp_trace::record::{Nanos, Record};
use ctp_trace::{Completeness, Reader};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use crate::lab::{Lab, fixture, program_of, send, wait_until};

/// Longer than any test.
const PAUSE_US: &str = "600000000";

/// The latest event in the file, and the time up to which the file is complete.
fn reported(path: &Path) -> Option<(Nanos, Nanos)> {
    let bytes = fs::read(path).ok()?;
    let (mut event, mut watermark) = (None, None);
    for record in Reader::new(&bytes).ok()?.flatten() {
        match record {
            Record::Event(latest) => event = Some(latest.at),
            Record::Watermark(at) => watermark = Some(at),
            _ => {}
        }
    }
    event.zip(watermark)
}

fn is_locked(path: &Path) -> bool {
    let file = File::open(path).expect("present");
    flock(file, FlockOperation::NonBlockingLockShared).is_err()
}

// LT-23, CT-26
#[test]
fn idle_file_has_a_watermark() {
    let lab = Lab::new();
    let mut command = lab.recorder(&[], fixture("paced"));
    let recorder = command.args(["truth", "2", "1", PAUSE_US]).spawn();
    let recorder = recorder.expect("can be started");
    let (program, trace) = (program_of(recorder.id()), lab.path("ctp.data"));
    wait_until("a watermark long after the event", || {
        reported(&trace).is_some_and(|(event, at)| event.0 + 1_500_000_000 < at.0)
    });
    assert!(is_locked(&trace));
    send(Signal::TERM, program);
    lab.outcome(recorder);
    assert!(!is_locked(&trace));
    let bytes = fs::read(&trace).expect("present");
    let mut reader = Reader::new(&bytes).expect("is a trace");
    let end = reader.by_ref().flatten().last();
    assert!(matches!(end, Some(Record::End(_))));
    assert_eq!(reader.completeness(), Completeness::Whole);
}

// LT-23
#[test]
fn summary_file_does_not_grow_while_idle() {
    let lab = Lab::new();
    let arguments = ["truth", "1", "1", "1600000"];
    lab.record(&["--summary"], "paced", &arguments);
    assert!(reported(&lab.path("ctp.data")).is_none());
    lab.record(&[], "paced", &arguments);
    assert!(reported(&lab.path("ctp.data")).is_some());
}
