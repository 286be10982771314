//! CT-08, CTP-18: nothing is left of disk or descriptors; the program does not notice.

use std::fs;
use std::process::{Child, Command};

use ctp_trace::Completeness;
use ctp_trace::record::{Act, ThreadEvent};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::lab::{Lab, Outcome, fixture, wait_until};
use crate::trace::Trace;

fn hot(lab: &Lab, output: &str) -> Child {
    recorded_hot(lab, &["-q", "-o", output])
}

fn recorded_hot(lab: &Lab, flags: &[&str]) -> Child {
    let mut command = lab.recorder(flags, fixture("hot"));
    let recorder = command.args(["truth", "2", "100", "20000"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_file("truth.ready");
    recorder
}

/// The program ran to its end, and then the recorder printed exactly this. Before, it may have
/// reported that the file is full.
fn says(lab: &Lab, outcome: &Outcome, sentence: &str) {
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let (last, before) = lines.split_last().expect("it says something");
    assert_eq!(*last, format!("ctp-record: {sentence}"));
    assert!(
        before.len() < 2
            && before
                .iter()
                .all(|line| line.contains("nothing more can be written to ")),
        "{before:?}"
    );
    assert_eq!(lab.truth("truth").len(), 200, "the program ran to its end");
}

// CT-08
#[test]
fn full_disk_loses_only_later_records() {
    let lab = Lab::new();
    let recorder = hot(&lab, "ctp.data");
    let pid = Pid::from_raw(recorder.id() as i32);
    // Room for a block of the longest kind, and not for all of them.
    let full = Rlimit {
        current: Some(400_000),
        maximum: Some(400_000),
    };
    prlimit(pid, Resource::Fsize, full).expect("permitted");
    let outcome = lab.outcome(recorder);
    let sentence = "cannot write ctp.data: File too large (os error 27); it can be read up to here";
    says(&lab, &outcome, sentence);
    let (trace, completeness) = Trace::read_any(&lab.path("ctp.data"));
    assert!(matches!(completeness, Completeness::Truncated { .. }));
    assert!(
        trace
            .coroutines
            .values()
            .any(|coroutine| !coroutine.events.is_empty())
    );
}

// CT-08
#[test]
fn full_file_is_reported_while_the_program_runs() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["-q", "-o", "/dev/full"], fixture("family"));
    let steps = ["truth", "work", "one", "5000", "0", "await", "go"];
    let recorder = command.args(steps).spawn().expect("can be started");
    let reported = "nothing more can be written to /dev/full: No space left on device (os error 28); \
                free space and record again";
    wait_until("the sentence", || lab.read("stderr").contains(reported));
    // Not into the files of the recording itself.
    let mut control = Command::new(env!("CARGO_BIN_EXE_ctp-record"));
    control.env("TMPDIR", lab.path(""));
    control.args(["control", &recorder.id().to_string(), "status"]);
    let message = control.output().expect("can be run").stdout;
    let message = String::from_utf8_lossy(&message);
    assert!(
        message.contains("failure        No space left on device"),
        "{message}"
    );
    fs::write(lab.path("go"), "").expect("can be made");
    let outcome = lab.outcome(recorder);
    assert_eq!(
        outcome.stderr.matches(reported).count(),
        1,
        "{}",
        outcome.stderr
    );
}

// CT-08
#[test]
fn snapshot_on_a_full_disk_is_not_announced() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["--flight-recorder"], fixture("family"));
    let steps = ["truth", "work", "one", "5000", "0", "await", "go"];
    let recorder = command.args(steps).spawn().expect("can be started");
    lab.wait_for_file("truth");
    let pid = Pid::from_raw(recorder.id() as i32);
    // Its stderr goes to a file, too.
    let full = Rlimit {
        current: Some(1_000),
        maximum: Some(1_000),
    };
    prlimit(pid, Resource::Fsize, full).expect("permitted");
    fs::write(lab.path("go"), "").expect("can be made");
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let sentence = "cannot write ctp.data: File too large (os error 27); raise ulimit -f";
    assert!(outcome.stderr.contains(sentence), "{}", outcome.stderr);
    assert!(!lab.path("ctp.data").exists());
}

// CT-08
#[test]
fn removed_output_is_reported() {
    for directory in ["gone", "renamed"] {
        let lab = Lab::new();
        fs::create_dir(lab.path("disk")).expect("can be made");
        let recorder = hot(&lab, "disk/ctp.data");
        lab.wait_for_file("disk/ctp.data");
        match directory {
            "gone" => fs::remove_dir_all(lab.path("disk")).expect("can be removed"),
            _ => fs::rename(lab.path("disk"), lab.path(directory)).expect("can be renamed"),
        }
        let outcome = lab.outcome(recorder);
        let sentence =
            "disk/ctp.data was written, but has been moved, removed, truncated or replaced since";
        says(&lab, &outcome, sentence);
        if directory == "renamed" {
            Trace::read(&lab.path("renamed/ctp.data"));
        }
    }
}

// CT-08
#[test]
fn removed_output_was_complete() {
    let lab = Lab::new();
    let recorder = recorded_hot(&lab, &[]);
    lab.wait_for_file("ctp.data");
    fs::remove_file(lab.path("ctp.data")).expect("can be removed");
    let message = lab.outcome(recorder).stderr;
    let sentence = "ctp.data was written, but has been moved";
    assert!(message.contains(sentence), "{message}");
    assert!(message.contains(" events, "), "{message}");
    assert!(!message.contains("not all of them written"), "{message}");
}

// CT-08
#[test]
fn truncated_output_is_reported() {
    let lab = Lab::new();
    let recorder = hot(&lab, "ctp.data");
    lab.wait_for_file("ctp.data");
    let file = fs::File::options().write(true).open(lab.path("ctp.data"));
    file.and_then(|file| file.set_len(0)).expect("is ours");
    let outcome = lab.outcome(recorder);
    let sentence = "ctp.data was written, but has been moved, removed, truncated or replaced since";
    says(&lab, &outcome, sentence);
}

// CT-08
#[test]
fn pipe_receives_the_trace_during_recording() {
    let lab = Lab::new();
    let script = "mkfifo pipe; cat pipe >copy & \"$@\"; status=$?; wait; exit $status";
    let recorder = lab.recorder(&["-o", "pipe"], fixture("paced"));
    let mut command = within(&lab, script, &recorder);
    let outcome = lab.run(command.args(["truth", "3", "4", "100"]));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(Trace::read(&lab.path("copy")).coroutines.len(), 3);
    assert!(!outcome.stderr.contains("wrote "), "{}", outcome.stderr);
}

// CT-08
#[test]
fn closed_pipe_is_reported() {
    let lab = Lab::new();
    let script = "mkfifo pipe; head -c 10 pipe >copy & \"$@\"";
    let recorder = lab.recorder(&["-q", "-o", "pipe"], fixture("hot"));
    let mut command = within(&lab, script, &recorder);
    let outcome = lab.run(command.args(["truth", "2", "100", "20000"]));
    let sentence = "cannot write pipe: Broken pipe (os error 32); it can be read up to here";
    says(&lab, &outcome, sentence);
}

/// The same command, as the arguments of a script.
fn within(lab: &Lab, script: &str, recorder: &Command) -> Command {
    let mut command = lab.command("sh");
    command.args(["-c", script, "sh"]);
    command
        .arg(recorder.get_program())
        .args(recorder.get_args());
    command
}

// CTP-18
#[test]
fn with_few_descriptors_the_program_ends_or_never_starts() {
    let mut ran = 0;
    for limit in 4..20 {
        let lab = Lab::new();
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        let recorder = lab.recorder(&["-q"], "sh");
        let mut command = within(&lab, &script, &recorder);
        let outcome = lab.run(command.args(["-c", "echo ran; sleep 0.01; echo ended; exit 7"]));
        match outcome.stdout.as_str() {
            "" => {
                assert_ne!(outcome.status.code(), Some(0), "{limit}");
                assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
                assert!(
                    outcome.stderr.contains("Too many open files"),
                    "{}",
                    outcome.stderr
                );
                assert!(
                    outcome.stderr.ends_with("; raise ulimit -n\n"),
                    "{}",
                    outcome.stderr
                );
                assert_eq!(ran, 0, "{limit}");
                let left = fs::read_dir(lab.path("")).expect("is there").count();
                assert_eq!(left, 2, "what was said, and nothing else");
            }
            message => {
                assert_eq!(
                    (message, outcome.status.code()),
                    ("ran\nended\n", Some(7)),
                    "{limit}"
                );
                assert_eq!(outcome.stderr, "");
                lab.trace();
                ran += 1;
            }
        }
    }
    assert!(ran > 0);
}

// CTP-18
#[test]
fn too_large_memory_is_reported_with_size_and_limit() {
    let lab = Lab::new();
    let recorder = lab.recorder(&["-n", "1000", "--buffer", "64K"], "true");
    let mut command = within(&lab, "ulimit -f 100; exec \"$@\"", &recorder);
    let outcome = lab.run(&mut command);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let message = outcome.stderr;
    assert!(
        message.starts_with("ctp-record: cannot make shared memory of "),
        "{message}"
    );
    assert!(
        message.contains(" MB: File too large (os error 27); raise ulimit -f, or try a smaller"),
        "{message}"
    );
}

// CTP-18
#[test]
fn processes_may_exceed_the_recorders_descriptors() {
    let lab = Lab::new();
    let script = "ulimit -n 16; exec \"$@\"";
    let recorder = lab.recorder(&["-q"], "sh");
    let group = "for i in $(seq 30); do \"$0\" truth.$i 1 2 20000 & done; wait";
    let mut command = within(&lab, script, &recorder);
    let outcome = lab.run(command.args(["-c", group]).arg(fixture("paced")));
    assert_eq!(
        (outcome.status.code(), outcome.stderr.as_str()),
        (Some(0), "")
    );
    let trace = lab.trace();
    assert_eq!(trace.coroutines.len(), 30);
    trace.is_complete();
    assert!((1..=30).all(|number| lab.path(&format!("truth.{number}")).exists()));
}

// CTP-18, CTP-32
#[test]
fn forks_beyond_the_recorders_descriptors_are_counted() {
    let lab = Lab::new();
    let script = "ulimit -n 20; exec \"$@\"";
    let recorder = lab.recorder(&[], fixture("family"));
    let mut command = within(&lab, script, &recorder);
    let outcome = lab.run(command.args("truth crowd 8 20 20000".split(' ')));
    let trace = lab.trace();
    let missing = 8 - trace.coroutines.len() as u64;
    assert!(0 < missing, "{}", outcome.stderr);
    assert_eq!(trace.end().unrecorded, missing);
    let reported = "got no memory, because no descriptor was left";
    assert!(outcome.stderr.contains(reported), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ulimit -n"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("--wait-all"), "{}", outcome.stderr);
}

#[test]
fn little_address_space_means_slots_only() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["-v"], "sh");
    command.args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\""]);
    command.arg(fixture("hot")).args(["truth", "1", "4", "8"]);
    let outcome = lab.run(&mut command);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("; 0 lanes"), "{}", outcome.stderr);
    let why = "1 thread got no buffer, because the program has no memory left to map any";
    assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    let trace = lab.trace();
    trace.is_complete();
    assert_eq!(trace.end().events, 4 * 8);
}

// CTP-32, CTP-34
#[test]
fn a_process_without_room_for_the_memory_is_counted() {
    let lab = Lab::new();
    let script =
        "(ulimit -v 100000; \"$0\" child work child 3 0); exec \"$0\" truth work parent 3 0";
    let mut command = lab.recorder(&["-n", "200000"], "sh");
    command.args(["-c", script]).arg(fixture("family"));
    let message = lab.run(&mut command).stderr;
    assert!(message.contains("ctp: not recording: mapping"), "{message}");
    let trace = lab.trace();
    assert_eq!(trace.coroutines.len(), 1, "{message}");
    assert_eq!(trace.end().unrecorded, 1, "{message}");
    assert!(lab.path("child").exists(), "it lives all the same");
}

// CT-24
#[test]
fn closings_by_threads_without_a_buffer_may_be_missing() {
    for flags in [&[][..], &["--flight-recorder"]] {
        let lab = Lab::new();
        let mut command = lab.recorder(flags, "sh");
        command.args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\""]);
        command.arg(fixture("family"));
        let message = lab
            .run(command.args(["truth", "listen", "left", "1200"]))
            .stderr;
        let is_loss = |thread_event: &&ThreadEvent| thread_event.act == Act::Loss(0);
        assert_eq!(lab.trace().thread_events.iter().filter(is_loss).count(), 1);
        let caveat =
            "this is uncertain: records are missing that could explain the state of 1 coroutine";
        assert!(message.contains(caveat), "{message}");
    }
}

#[test]
fn flight_recorder_knows_our_probe_without_address_space() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["--flight-recorder"], "sh");
    command.args(["-c", "ulimit -v 400000; exec \"$0\" \"$@\""]);
    command.arg(fixture("hot")).args(["truth", "1", "4", "20"]);
    let message = lab.run(&mut command).stderr;
    assert!(message.contains(" 80 events in totals ("), "{message}");
    let kept = " kept: at most the latest 8 of each coroutine), 0 lost";
    assert!(message.contains(kept), "{message}");
    let why = "1 thread got no buffer, because the program has no memory left to map any";
    assert!(message.contains(why), "{message}");
    assert!(!message.contains("this probe keeps no totals"), "{message}");
}

#[test]
fn without_buffers_no_thread_lacks_a_buffer() {
    let lab = Lab::new();
    let message = lab.record(&["--buffer", "0"], "hot", &["truth", "1", "4", "8"]);
    assert!(
        !message.stderr.contains("got no buffer"),
        "{}",
        message.stderr
    );
}
