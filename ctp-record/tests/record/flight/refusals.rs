//! Options and snapshot requests that are refused, with a message that says why.

use super::*;

#[test]
fn impossible_options_are_refused_with_a_remedy() {
    let lab = Lab::new();
    let refused = |flags: &[&str]| {
        let outcome = lab.run(&mut lab.recorder(flags, "true"));
        assert_eq!(outcome.status.code(), Some(2), "{flags:?}");
        outcome.stderr
    };
    assert!(refused(&["--summary", "--flight-recorder"]).contains("cannot be used with"));
    assert!(refused(&["--snapshot-on", "exit"]).contains("--flight-recorder"));
    assert!(refused(&["--flight-recorder=5m"]).contains("5min"));
    assert!(refused(&["--flight-recorder", "--buffer", "0"]).contains("leaves no room"));
    assert!(refused(&["--flight-recorder=1M", "--buffer", "2M"]).contains("leave out one"));
    let message = refused(&["--flight-recorder", "--snapshot-on", "signal:INT"]);
    assert!(message.contains("USR1, USR2"), "{message}");
}

#[test]
fn only_a_flight_recorder_takes_snapshots() {
    let flight = Flight::start(&[], "mortal", &[killed::TRUTH, "1", "4", "400"]);
    let output = flight.snapshot(&[]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("start it with ctp-record --flight-recorder"),
        "{message}"
    );
    assert!(!Path::new("ctp.data.1").exists());
    flight.kill();
}

// LT-09
#[test]
fn failed_snapshot_request_gets_a_reason() {
    let flags = ["--flight-recorder=64K"];
    let flight = Flight::start(&flags, "mortal", &[killed::TRUTH, "1", "4", "400"]);
    // Room for what the snapshot is of, and none for the stack of a thread.
    let limit = 1024 * flight.recorder_kib("VmSize:") + (3 << 19);
    let limited = |limit| {
        let limit = Rlimit {
            current: limit,
            maximum: None,
        };
        let pid = Pid::from_raw(flight.recorder.id() as i32);
        prlimit(pid, Resource::As, limit).expect("permitted");
    };
    limited(Some(limit));
    let output = flight.snapshot(&["-o", "none.ctp"]);
    limited(None);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("cannot start a thread"), "{message}");
    assert_eq!(output.status.code(), Some(1));
    is_whole(&flight.snapshot_to("one.ctp"));
    flight.kill();
}
