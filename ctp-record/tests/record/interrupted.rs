//! CT-02, CT-08: whatever signal or failure ends a recording, its trace has an end, nothing stays
//! behind, and the program is left alone.

use std::fs;
use std::process::{Child, Command, Stdio};

use ctp_trace::record::ExitReason;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use crate::lab::{Lab, fixture, only_child, program_of, send, wait_until};

/// Signals that end a process which does nothing about them, by name and number. They are about
/// the process that gets them.
fn about_the_recorder() -> Vec<(String, i32)> {
    let named = [
        ("SIGTRAP", libc::SIGTRAP),
        ("SIGABRT", libc::SIGABRT),
        ("SIGALRM", libc::SIGALRM),
        ("SIGSTKFLT", libc::SIGSTKFLT),
        ("SIGXCPU", libc::SIGXCPU),
        ("SIGVTALRM", libc::SIGVTALRM),
        ("SIGPROF", libc::SIGPROF),
        ("SIGIO", libc::SIGIO),
        ("SIGPWR", libc::SIGPWR),
        ("SIGSYS", libc::SIGSYS),
    ];
    let real_time = [libc::SIGRTMIN(), libc::SIGRTMIN() + 5, libc::SIGRTMAX()];
    let named = named.map(|(name, number)| (name.to_owned(), number));
    let real_time = real_time.map(|number| (format!("signal {number}"), number));
    named.into_iter().chain(real_time).collect()
}

/// Sends any signal, even one without a name.
fn send_number(number: i32, to: u32) {
    let status = Command::new("kill")
        .args([format!("-{number}"), to.to_string()])
        .status();
    assert!(status.expect("there is such a program").success());
}

/// What is left of recorders in their directory.
pub fn left_over(lab: &Lab) -> Vec<String> {
    let entries = fs::read_dir(lab.path("")).expect("is there").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with("ctp-") || name.contains(".new-"))
        .collect()
}

fn is_alive(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

/// `signals count`, which logs each signal.
fn start(lab: &Lab, flags: &[&str]) -> (Child, u32) {
    let mut command = lab.recorder(flags, fixture("signals"));
    let recorder = command.args(["log", "count"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_line("log", "ready");
    let program = only_child(recorder.id());
    (recorder, program)
}

// CT-02
#[test]
fn signals_about_the_recorder_end_the_recording_alone() {
    for (name, number) in about_the_recorder() {
        let lab = Lab::new();
        let (recorder, program) = start(&lab, &[]);
        send_number(number, recorder.id());
        let outcome = lab.outcome(recorder);
        assert!(is_alive(program), "{name}");
        send(Signal::KILL, program);
        let message = &outcome.stderr;
        assert_eq!(
            outcome.status.code(),
            Some(128 + number),
            "{name}: {message}"
        );
        assert_eq!(lab.trace().end().how, ExitReason::Stopped, "{name}");
        assert_eq!(lab.read("log"), "ready\n", "{name}");
        assert_eq!(left_over(&lab), [""; 0], "{name}");
        let why = format!("ctp-record: {name} ");
        assert!(message.contains(&why), "{message}");
        assert!(
            message.contains("goes on without being recorded"),
            "{message}"
        );
    }
}

// CT-02
#[test]
fn signals_end_the_recording_in_every_mode() {
    for flags in [
        &["--summary"][..],
        &["--flight-recorder"],
        &["--wait-all"],
        &["-q"],
    ] {
        let lab = Lab::new();
        let (recorder, program) = start(&lab, flags);
        send(Signal::ALARM, recorder.id());
        let outcome = lab.outcome(recorder);
        assert!(is_alive(program), "{flags:?}");
        send(Signal::KILL, program);
        assert_eq!(outcome.status.code(), Some(128 + 14), "{}", outcome.stderr);
        assert_eq!(lab.trace().end().how, ExitReason::Stopped, "{flags:?}");
        assert_eq!(left_over(&lab), [""; 0], "{flags:?}");
    }
}

// CT-02
#[test]
fn wait_for_descendants_keeps_the_exit_status() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["--wait-all"], "sh");
    command.args(["-c", "sleep 600 & echo $! > child; exit 7"]);
    let recorder = command.spawn().expect("can be started");
    let child = lab.wait_for_number("child");
    // Its zombie is gone once the recorder has taken note of the end.
    wait_until("the program's end", || {
        let list = format!("/proc/{0}/task/{0}/children", recorder.id());
        fs::read_to_string(list).expect("running").trim().is_empty()
    });
    send(Signal::ALARM, recorder.id());
    let outcome = lab.outcome(recorder);
    assert!(is_alive(child));
    send(Signal::KILL, child);
    assert_eq!(outcome.status.code(), Some(7), "{}", outcome.stderr);
    assert_eq!(lab.trace().end().how, ExitReason::Exited(7));
    assert_eq!(left_over(&lab), [""; 0]);
}

// CT-02
#[test]
fn signals_to_the_program_leave_a_complete_trace() {
    for signal in [
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::USR1,
        Signal::USR2,
    ] {
        let lab = Lab::new();
        // A background job of a shell ignores some of them, and so would its children.
        let mut command = lab.command("env");
        command.args(["--default-signal", env!("CARGO_BIN_EXE_ctp-record"), "--"]);
        command.arg(fixture("signals")).args(["log", "default"]);
        let recorder = command.spawn().expect("can be started");
        lab.wait_for_line("log", "ready");
        send(signal, recorder.id());
        let outcome = lab.outcome(recorder);
        let number = signal.as_raw();
        assert_eq!(outcome.status.code(), Some(128 + number), "{signal:?}");
        assert_eq!(lab.trace().end().how, ExitReason::Signalled(number));
        assert_eq!(left_over(&lab), [""; 0], "{signal:?}");
    }
}

// CT-02
#[test]
fn ignored_signals_stay_ignored() {
    let lab = Lab::new();
    let mut command = lab.command("env");
    command.args([
        "--ignore-signal=ALRM",
        env!("CARGO_BIN_EXE_ctp-record"),
        "--",
    ]);
    command.arg(fixture("signals")).args(["log", "count"]);
    let recorder = command.spawn().expect("can be started");
    lab.wait_for_line("log", "ready");
    let program = program_of(recorder.id());
    send(Signal::ALARM, recorder.id());
    send(Signal::TERM, recorder.id());
    lab.wait_for_line("log", "SIGTERM");
    send(Signal::KILL, program);
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
    assert_eq!(lab.trace().end().how, ExitReason::Signalled(9));
}

/// The recorder of `signals`, and not the program, under strace; nothing where that cannot be used.
fn injected(lab: &Lab, expression: &str, program: &[&str]) -> Option<Command> {
    let strace = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    if !strace.is_ok_and(|status| status.success()) {
        println!("skipped: strace is not installed, or may not trace");
        return None;
    }
    let recorder = lab.recorder(&[], fixture(program[0]));
    let mut command = lab.command("strace");
    command
        .args(["-qq", "-o", "calls", "-e", expression])
        .arg(recorder.get_program())
        .args(recorder.get_args())
        .args(&program[1..]);
    Some(command)
}

// CT-02
#[test]
fn signal_before_the_start_leaves_no_files() {
    for (signal, number) in [("TERM", 15), ("ALRM", 14), ("HUP", 1), ("INT", 2)] {
        for call in ["mkdir", "listen"] {
            let lab = Lab::new();
            let expression = format!("inject={call}:signal={signal}:when=1");
            let Some(mut command) = injected(&lab, &expression, &["args_echo", "started"]) else {
                return;
            };
            let outcome = lab.run(&mut command);
            let message = format!("ctp-record: SIG{signal} came before the program was started\n");
            assert_eq!(outcome.stderr, message, "{call}");
            assert_eq!(outcome.status.code(), Some(128 + number));
            assert!(!lab.path("started").exists() && !lab.path("ctp.data").exists());
            assert_eq!(left_over(&lab), [""; 0], "{signal} {call}");
        }
    }
}

// CT-08
#[test]
fn without_a_control_socket_recording_continues() {
    for error in ["EADDRINUSE", "ENOBUFS", "EMFILE"] {
        let lab = Lab::new();
        let expression = format!("inject=listen:error={error}:when=2");
        let program = ["paced", "truth", "2", "3", "0"];
        let Some(mut command) = injected(&lab, &expression, &program) else {
            return;
        };
        let outcome = lab.run(&mut command);
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        let message = "ctp-record control cannot reach this recording: ";
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
        let trace = lab.trace();
        trace.is_complete();
        assert_eq!(trace.coroutines.len(), 2);
        assert_eq!(left_over(&lab), [""; 0], "{error}");
    }
}

// CT-08
#[test]
fn without_a_program_socket_no_files_are_left() {
    let lab = Lab::new();
    let expression = "inject=listen:error=EADDRINUSE:when=1";
    let Some(mut command) = injected(&lab, expression, &["args_echo", "started"]) else {
        return;
    };
    let outcome = lab.run(&mut command);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    assert!(!lab.path("started").exists());
    assert_eq!(left_over(&lab), [""; 0]);
}

// CT-08
#[test]
fn failing_accept_does_not_lose_the_trace() {
    for error in ["ECONNABORTED", "EMFILE", "ENOMEM", "EPERM"] {
        for when in ["1+", "2", "2+"] {
            let lab = Lab::new();
            let expression = format!("inject=accept4:error={error}:when={when}");
            let steps = "family truth work parent 3 1000 fork work child 3 1000";
            let steps: Vec<&str> = steps.split(' ').collect();
            let Some(mut command) = injected(&lab, &expression, &steps) else {
                return;
            };
            let outcome = lab.run(&mut command);
            assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
            let trace = lab.trace();
            assert_eq!(trace.end().how, ExitReason::Exited(0));
            let parent = lab
                .truth("truth")
                .into_iter()
                .find(|line| line[0] == "parent");
            let events: u64 = parent.expect("it worked")[2].parse().expect("a number");
            let event_counts = trace.named("parent").event_counts();
            assert_eq!(event_counts.recorded, events, "{error} {when}");
            assert_eq!(left_over(&lab), [""; 0], "{error} {when}");
        }
    }
}

/// The soft and the hard limit of processor time, as the kernel lists them.
fn processor_time(limits: &str) -> (String, String) {
    let line = limits.lines().find(|line| line.starts_with("Max cpu time"));
    let mut words = line.expect("it is listed").split_whitespace().skip(3);
    let mut word = || words.next().expect("two limits").to_owned();
    (word(), word())
}

// CT-02
#[test]
fn the_limit_of_processor_time_ends_the_recording_alone() {
    let lab = Lab::new();
    let mut command = lab.recorder(&[], fixture("hot"));
    let recorder = command.args(["truth", "2", "500", "0"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_file("truth.ready");
    let program = only_child(recorder.id());
    let limit = Rlimit {
        current: Some(1),
        maximum: None,
    };
    let pid = Pid::from_raw(recorder.id() as i32);
    prlimit(pid, Resource::Cpu, limit).expect("permitted");
    let outcome = lab.outcome(recorder);
    assert!(is_alive(program));
    send(Signal::KILL, program);
    assert_eq!(outcome.status.code(), Some(128 + 24), "{}", outcome.stderr);
    let message = "SIGXCPU (ctp-record has used its processor time: ulimit -t) ends the recording";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    assert_eq!(lab.trace().end().how, ExitReason::Stopped);
    assert_eq!(left_over(&lab), [""; 0]);
}

// CT-02
#[test]
fn a_trace_is_not_read_back_without_processor_time() {
    for (number, is_read) in [(libc::SIGALRM, true), (libc::SIGXCPU, false)] {
        let lab = Lab::new();
        let mut command = lab.recorder(&[], fixture("paced"));
        let recorder = command.args(["truth", "2", "1000000", "1000"]).spawn();
        let recorder = recorder.expect("can be started");
        wait_until("there are events", || {
            fs::metadata(lab.path("ctp.data")).is_ok_and(|file| 1_000 < file.len())
        });
        let program = only_child(recorder.id());
        send_number(number, recorder.id());
        let outcome = lab.outcome(recorder);
        send(Signal::KILL, program);
        let message = &outcome.stderr;
        assert_eq!(
            message.contains("nothing looks stuck"),
            is_read,
            "{message}"
        );
        assert!(message.contains("next: ctp-report"), "{message}");
    }
}

// CT-02
#[test]
fn the_recorder_is_warned_before_the_hard_limit() {
    for (limit, warned) in [("1", "1"), ("5", "4"), ("50", "45"), ("1000", "990")] {
        let lab = Lab::new();
        let script = "cat /proc/self/limits > its; until [ -e go ]; do sleep 0.01; done";
        let recorder = lab.recorder(&["-q"], "sh");
        let mut command = lab.command("sh");
        command
            .args(["-c", &format!("ulimit -t {limit}; exec \"$@\""), "sh"])
            .arg(recorder.get_program())
            .args(recorder.get_args());
        let recorder = command.args(["-c", script]).spawn();
        let recorder = recorder.expect("can be started");
        let limits = format!("/proc/{}/limits", recorder.id());
        let ours = || processor_time(&fs::read_to_string(&limits).expect("running"));
        let expected = (warned.to_owned(), limit.to_owned());
        wait_until("its limit", || ours() == expected);
        fs::write(lab.path("go"), "").expect("can be written");
        assert_eq!(lab.outcome(recorder).status.code(), Some(0));
        let own = processor_time(&lab.read("its"));
        assert_eq!(own, (limit.to_owned(), limit.to_owned()));
    }
}
