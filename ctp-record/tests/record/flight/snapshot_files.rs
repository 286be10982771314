//! The files of snapshots: messages if none can be written, and the files of an earlier recording.

use std::fs;
use std::path::Path;

use rustix::process::{Flock, FlockType, Pid, Resource, Rlimit, Signal, fcntl_getlk, prlimit};

use super::{Flight, is_whole, mortal};
use crate::killed;
use crate::lab::{Outcome, send, wait_until};

/// A flight recorder that takes snapshots on request, with this limit of bytes for its files.
fn limited(flags: &[&str], bytes: u64) -> Flight {
    let flags = [
        flags,
        &["--flight-recorder=64K", "--snapshot-on", "signal:USR2"],
    ]
    .concat();
    let flight = mortal(&flags);
    let limit = Rlimit {
        current: Some(bytes),
        maximum: None,
    };
    let pid = Pid::from_raw(flight.recorder.id() as i32);
    prlimit(pid, Resource::Fsize, limit).expect("permitted");
    flight
}

fn end(flight: Flight) -> Outcome {
    send(Signal::KILL, flight.program);
    flight.lab.outcome(flight.recorder)
}

/// Room for what is said, and not for a snapshot.
const TOO_LITTLE: u64 = 1_500;

// LT-09, CT-08
#[test]
fn recording_fails_if_all_snapshots_failed() {
    let flight = limited(&[], TOO_LITTLE);
    assert_eq!(flight.snapshot(&[]).status.code(), Some(1));
    send(Signal::USR2, flight.recorder.id());
    wait_until("both", || {
        flight.lab.read("stderr").matches("no snapshot: ").count() == 2
    });
    let outcome = end(flight);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let last: Vec<&str> = outcome.stderr.lines().rev().take(2).collect();
    let message = [
        "ctp-record: none of the 2 snapshots that were asked for could be written",
        "ctp-record: no snapshot was due at this exit (--snapshot-on); of 2 snapshots that were \
         requested before, none could be written",
    ];
    assert_eq!(last, message);
}

// LT-09, CT-08
#[test]
fn recording_with_any_snapshot_exits_like_the_program() {
    let flight = limited(&[], TOO_LITTLE);
    assert_eq!(flight.snapshot(&[]).status.code(), Some(1));
    let pid = Pid::from_raw(flight.recorder.id() as i32);
    let limit = Rlimit {
        current: None,
        maximum: None,
    };
    prlimit(pid, Resource::Fsize, limit).expect("permitted");
    is_whole(&flight.snapshot_to("one.ctp"));
    let outcome = end(flight);
    assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
    let message = "ctp-record: no snapshot was due at this exit (--snapshot-on); earlier snapshots are listed above\n";
    assert!(outcome.stderr.ends_with(message), "{}", outcome.stderr);
}

// LT-09, CT-08
#[test]
fn quiet_recorder_reports_missing_snapshots() {
    let flight = limited(&["-q"], TOO_LITTLE);
    send(Signal::USR2, flight.recorder.id());
    let message = || flight.lab.read("stderr");
    wait_until("its end", || message().contains("\n"));
    assert!(
        message().starts_with("ctp-record: no snapshot: cannot write ctp.data.1: File too large"),
        "{}",
        message()
    );
    let outcome = end(flight);
    assert_eq!(outcome.status.code(), Some(1));
    let sentence = "\nctp-record: the snapshot that was asked for could not be written\n";
    assert!(outcome.stderr.ends_with(sentence), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 2);
}

/// The process whose lock prevents writing this file, if any.
fn claimed_by(path: &Path) -> Option<i32> {
    let file = fs::File::open(path).expect("present");
    let lock = fcntl_getlk(file, &Flock::from(FlockType::WriteLock)).expect("can be asked");
    Some(
        lock?
            .pid
            .expect("it is of this namespace")
            .as_raw_nonzero()
            .get(),
    )
}

// LT-09, CT-06
#[test]
fn earlier_snapshots_are_kept_and_not_mistaken() {
    let flags = ["--flight-recorder=64K", "--snapshot-on", "exit,signal:USR2"];
    let first = mortal(&flags);
    for name in ["ctp.data.1", "ctp.data.2"] {
        send(Signal::USR2, first.recorder.id());
        first.lab.wait_for_file(name);
    }
    let (lab, _) = first.kill();
    let bytes = |name: &str| fs::read(lab.path(name)).ok();
    let before = ["ctp.data", "ctp.data.1", "ctp.data.2"].map(bytes);
    let others = ["ctp.data.3", "ctp.data.04", "ctp.data.4.txt", "ctp.data2"];
    fs::write(lab.path(others[0]), "no trace").expect("can be written");
    for name in &others[1..] {
        fs::copy(lab.path("ctp.data.1"), lab.path(name)).expect("can be copied");
    }
    let others_before = others.map(bytes);

    let second = Flight::start_in(lab, &flags, "mortal", &[killed::TRUTH, "2", "16", "400"]);
    let lab = &second.lab;
    lab.wait_for_file("ctp.data.2.old");
    wait_until("its claim", || claimed_by(&lab.path("ctp.data")).is_some());
    let recorder = second.recorder.id() as i32;
    assert_eq!(claimed_by(&lab.path("ctp.data")), Some(recorder));
    send(Signal::USR2, second.recorder.id());
    lab.wait_for_file("ctp.data.1");
    let (lab, _) = second.kill();
    let bytes = |name: &str| fs::read(lab.path(name)).ok();
    let kept = ["ctp.data.old", "ctp.data.1.old", "ctp.data.2.old"].map(bytes);
    assert!(kept == before, "each as it was");
    assert!(
        others.map(bytes) == others_before,
        "none of them is a snapshot"
    );
    let ours = ["ctp.data", "ctp.data.1"].map(bytes);
    assert!(ours.iter().all(Option::is_some) && ours[..] != before[..2]);
    assert!(!lab.path("ctp.data.2").exists(), "this one took but one");
}
