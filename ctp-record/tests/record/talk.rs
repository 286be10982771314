//! The recorder's messages, and when there are none.

use std::fs::File;
use std::process::Stdio;

use crate::lab::{Lab, fixture};

#[test]
fn quiet_says_nothing() {
    let lab = Lab::new();
    let outcome = lab.record(&["-q"], "paced", &["truth", "2", "2", "0"]);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    lab.trace();
}

/// The kernel counts the bytes read by a process and by the children that it has waited for.
#[test]
fn quiet_reads_no_trace_back() {
    let lab = Lab::new();
    let script = "\"$@\"; cat /proc/$$/io > io";
    let recorder = lab.recorder(&["-q"], fixture("hot"));
    let mut command = lab.command("sh");
    command
        .args(["-c", script, "sh"])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    lab.run(command.args(["truth", "2", "5000", "100"]));
    let io = lab.read("io");
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    let read: u64 = read
        .expect("the kernel has this field")
        .parse()
        .expect("a number");
    let trace = lab.path("ctp.data").metadata().expect("present").len();
    assert!(500_000 < trace, "it is much more than is read of /proc");
    assert!(read < trace, "{read} of {trace} bytes");
}

#[test]
fn all_messages_go_to_stderr_with_the_tools_name() {
    let lab = Lab::new();
    let outcome = lab.record(&["-v"], "paced", &["truth", "2", "2", "0"]);
    assert_eq!(outcome.stdout, "");
    for line in outcome.stderr.lines() {
        assert!(line.starts_with("ctp-record: "), "{line}");
    }
    assert!(
        outcome
            .stderr
            .contains("2 coroutines, 11 events, 0 lost, 0 refused")
    );
}

// CT-01
#[test]
fn unattached_program_gets_a_hint() {
    let lab = Lab::new();
    let outcome = lab.run(&mut lab.recorder(&[], "true"));
    assert_eq!(outcome.status.code(), Some(0));
    let stderr = outcome.stderr;
    assert!(stderr.contains("no coroutine was recorded"), "{stderr}");
    assert!(
        stderr.contains("call ctp_nostd::attach() first thing in main"),
        "{stderr}"
    );
    assert!(!stderr.contains("--wait-all"), "{stderr}");
    assert_eq!(lab.trace().coroutines.len(), 0);
}

// LT-19
#[test]
fn background_program_gets_a_hint_to_wait_all() {
    let lab = Lab::new();
    let script = "sleep 1 & exit 0";
    let outcome = lab.run(lab.recorder(&[], "sh").args(["-c", script]));
    let stderr = outcome.stderr;
    let message = "no coroutine was recorded before the program ended, but processes of it live on: \
                --wait-all records them too";
    assert!(stderr.contains(message), "{stderr}");
    assert!(stderr.contains("still running"), "{stderr}");
}

// CT-01
#[test]
fn full_stderr_does_not_change_the_exit_status() {
    let lab = Lab::new();
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("is there");
    let mut command = lab.recorder(&[], fixture("paced"));
    command
        .args(["truth", "2", "2", "0", "exit", "5"])
        .stderr(full);
    assert_eq!(lab.run(&mut command).status.code(), Some(5));
    lab.trace();
}

fn says(arguments: &[&str]) -> String {
    let lab = Lab::new();
    let outcome = lab.run(lab.bare_recorder().args(arguments));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

#[test]
fn help_begins_with_examples_and_fits_a_terminal() {
    let help = says(&["--help"]);
    assert!(
        help.starts_with("Examples:\n  ctp-record -- ./app"),
        "{help}"
    );
    let usage = "Usage: ctp-record [OPTIONS] -- PROGRAM [ARGS]...\n";
    assert!(help.contains(usage), "{help}");
    let control = says(&["control", "--help"]);
    assert!(control.lines().all(|line| line.len() <= 100), "{control}");
    assert!(help.contains("Each thread's history, up to 256M"), "{help}");
    assert!(help.lines().all(|line| line.len() <= 100), "{help}");
}

#[test]
fn a_version_names_protocol_and_format() {
    let version = says(&["--version"]);
    assert!(
        version.contains("cTP v1") && version.contains("trace format 1"),
        "{version}"
    );
}

#[test]
fn completions_and_the_man_page_are_printed() {
    assert!(says(&["--completions", "bash"]).contains("complete -F _ctp__record"));
    assert!(says(&["--completions", "zsh"]).starts_with("#compdef ctp-record"));
    assert!(says(&["--man"]).contains(".TH ctp-record 1"));
}

#[test]
fn man_pages_of_all_commands_are_written() {
    let lab = Lab::new();
    let option = format!("--man={}", lab.path("").display());
    assert_eq!(says(&[&option]), "");
    let pages = [
        "ctp-record",
        "ctp-record-control",
        "ctp-record-control-snapshot",
    ];
    for page in pages {
        let text = lab.read(&format!("{page}.1"));
        assert!(text.contains(&format!(".TH {page} 1")), "{page}");
    }
    let mut command = lab.bare_recorder();
    let outcome = lab.run(command.arg("--man=missing"));
    assert_eq!(outcome.status.code(), Some(1));
    assert!(
        outcome
            .stderr
            .starts_with("ctp-record: cannot write man pages to missing: ")
    );
}

#[test]
fn closed_stdout_reader_is_no_error() {
    for arguments in [&["--completions", "bash"][..], &["--man"]] {
        let lab = Lab::new();
        let mut command = lab.bare_recorder();
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn();
        let child = child.as_mut().expect("can be started");
        drop(child.stdout.take());
        assert_eq!(child.wait().expect("ends").code(), Some(0));
        assert_eq!(lab.read("stderr"), "");
    }
}

#[test]
fn wrong_usage_exits_with_2_and_a_suggestion() {
    for (arguments, hint) in [
        (&[][..], "try: ctp-record -- ./app"),
        (&["-n", "0", "--", "true"], "0 is not in 1..=1048576"),
        (&["-q", "-v", "--", "true"], "cannot be used with"),
        (&["-o", "-", "--", "true"], "stdout is the program's"),
        (&["--elf", "x", "--", "true"], "--image"),
        (
            &["--buffer", "1", "--", "true"],
            "less than 1K; 0 is for none",
        ),
        (&["--backlog", "0", "--", "true"], "less than 1K"),
        (
            &["control", "1", "frob"],
            "no verb 'frob'; there are: stop, start, filter, status, snapshot, stacks",
        ),
        (&["control", "1", "frob"], "Usage: ctp-record control"),
        (&["control", "1"], "Usage: ctp-record control"),
        (
            &["control", "1", "filter", "x"],
            "Usage: ctp-record control",
        ),
        (
            &["control", "1", "snapshot", "-o", "two\nlines"],
            "Usage: ctp-record control",
        ),
    ] {
        let lab = Lab::new();
        let outcome = lab.run(lab.bare_recorder().args(arguments));
        assert_eq!(outcome.status.code(), Some(2), "{arguments:?}");
        assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    }
}
