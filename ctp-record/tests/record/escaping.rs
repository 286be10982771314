//! CT-01: names of programs, paths and arguments never control the terminal, and stay within their
//! line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;

use rustix::process::Signal;

use crate::lab::{Lab, Outcome, fixture, program_of, send};

/// Names that clear the screen, change the title, turn text around, hide, and begin a new line.
const NAMES: [&[u8]; 8] = [
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    b"\n#ctp-record: wrote x\r",
    b"\x9b31m",
    "\u{9b}31m".as_bytes(),
    "\u{202e}gpj".as_bytes(),
    "\u{2066}a\u{2069}\u{200b}".as_bytes(),
    "\u{2028}\u{feff}\u{7f}".as_bytes(),
];

/// The standard's categories, not the recorder's own list.
fn is_obeyed(c: char) -> bool {
    let turns_or_hides = [
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    c != '\n' && (c.is_control() || turns_or_hides.iter().any(|range| range.contains(&c)))
}

/// `Outcome` has what is no text replaced, so this looks at the files.
fn is_safe(lab: &Lab, name: &str) -> String {
    let bytes = fs::read(lab.path(name)).expect("was made");
    let text = String::from_utf8(bytes).expect("valid text");
    assert!(!text.contains(is_obeyed), "{text:?}");
    text
}

/// Each line of stderr begins with the recorder's prefix.
fn prints_own_lines(lab: &Lab) -> String {
    let text = is_safe(lab, "stderr");
    for line in text.lines() {
        assert!(line.starts_with("ctp-record: "), "{text:?}");
    }
    text
}

fn named(prefix: &str, name: &[u8], suffix: &str) -> OsString {
    OsString::from_vec([prefix.as_bytes(), name, suffix.as_bytes()].concat())
}

/// Starts a child and ends once the child executes the program.
const LEAVES_A_CHILD: &str =
    "\"$0\" 600 & echo $! > pid; while ! grep -q ^s /proc/$!/comm; do sleep 0.01; done";

// CT-01
#[test]
fn closing_lines_name_odd_programs_and_files_safely() {
    for name in NAMES {
        let lab = Lab::new();
        let output = named("o", name, "");
        let (script, sleep) = (named("./p", name, ""), named("./s", name, ""));
        symlink("/bin/sh", lab.path("").join(&script)).expect("can be made");
        symlink("/bin/sleep", lab.path("").join(&sleep)).expect("can be made");
        let mut command = lab.bare_recorder();
        command
            .args(["-v", "-o"])
            .arg(&output)
            .arg("--")
            .arg(&script);
        command.args(["-c", LEAVES_A_CHILD]).arg(&sleep);
        let outcome = lab.run(&mut command);
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        let pid = lab.read("pid").trim().parse().expect("a process id");
        send(Signal::KILL, pid);
        let message = prints_own_lines(&lab);
        assert!(
            message.contains("still running, no longer recorded: s"),
            "{message}"
        );
        assert!(message.contains("wrote o"), "{message}");
        assert!(lab.path("").join(&output).exists());
    }
}

// CT-01
#[test]
fn suggested_command_works_for_odd_file_names() {
    for name in NAMES {
        let lab = Lab::new();
        let output = named("it's o", name, "");
        let mut command = lab.bare_recorder();
        command
            .arg("-o")
            .arg(&output)
            .arg("--")
            .arg(fixture("paced"));
        lab.run(command.args(["truth", "1", "2", "0"]));
        let message = prints_own_lines(&lab);
        let (_, word) = message.split_once(" -i ").expect("what to type");
        // As read by bash, ksh, zsh and POSIX shells of 2024.
        let script = format!("printf %s {}", word.trim_end());
        let shell = lab.command("bash").args(["-c", &script]).status();
        if shell.is_err() {
            eprintln!("skipped: there is no bash");
            return;
        }
        assert_eq!(
            fs::read(lab.path("stdout")).ok().as_deref(),
            Some(output.as_bytes())
        );
    }
}

// CT-01
#[test]
fn errors_name_odd_programs_and_files_safely() {
    for name in NAMES {
        let lab = Lab::new();
        fs::write(lab.path("").join(named("plain", name, "")), "").expect("can be written");
        fs::create_dir(lab.path("").join(named("dir", name, ""))).expect("can be made");
        let (missing, plain) = (named("./no", name, ""), named("./plain", name, ""));
        let (within, directory) = (named("no", name, "/x"), named("dir", name, ""));
        let dash = OsStr::new("--");
        let cases: [&[&OsStr]; 6] = [
            &[dash, &missing],
            &[dash, &plain],
            &[OsStr::new("-o"), &within, dash, OsStr::new("true")],
            &[OsStr::new("-o"), &directory, dash, OsStr::new("true")],
            &[OsStr::new("--image"), &within],
            &[OsStr::new("--image"), &plain],
        ];
        for arguments in cases {
            let outcome = lab.run(lab.bare_recorder().args(arguments));
            assert_ne!(outcome.status.code(), Some(0), "{arguments:?}");
            let message = prints_own_lines(&lab);
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}

// CT-01
#[test]
fn wrong_usage_is_named_safely() {
    for name in NAMES {
        let cases: [&[OsString]; 7] = [
            &[named("--no", name, "")],
            &[named("-Z", name, ""), "true".into()],
            &["-n".into(), named("1", name, ""), "true".into()],
            &["--stuck-after".into(), named("1", name, ""), "true".into()],
            &[named("--flight-recorder=", name, ""), "true".into()],
            &["control".into(), "1".into(), named("no", name, "")],
            &[
                "control".into(),
                "1".into(),
                "filter".into(),
                named("no", name, ""),
            ],
        ];
        for arguments in cases {
            let lab = Lab::new();
            let outcome = lab.run(lab.bare_recorder().args(arguments));
            assert_eq!(outcome.status.code(), Some(2), "{arguments:?}");
            let message = is_safe(&lab, "stderr");
            assert!(message.starts_with("error: "), "{message}");
            assert!(!message.contains("\n#ctp-record"), "{message}");
        }
    }
}

fn run_asking(lab: &Lab, pid: u32, words: &[&str]) -> Outcome {
    let mut command = lab.bare_recorder();
    let create = |name| fs::File::create(lab.path(name)).expect("can be made");
    command.stdout(create("said")).stderr(create("complained"));
    let status = command
        .args(["control", &pid.to_string()])
        .args(words)
        .status();
    let status = status.expect("can be run");
    let (stdout, stderr) = (is_safe(lab, "said"), is_safe(lab, "complained"));
    Outcome {
        status,
        stdout,
        stderr,
    }
}

// CT-01
#[test]
fn control_names_odd_files_safely() {
    for name in NAMES {
        let lab = Lab::new();
        let output = named("o", name, "");
        symlink("/bin/sleep", lab.path("").join(named("p", name, ""))).expect("can be made");
        let mut command = lab.bare_recorder();
        command
            .args(["--flight-recorder=64K", "-o"])
            .arg(&output)
            .arg("--");
        command.arg(named("./p", name, "")).arg("600");
        let recorder = command.spawn().expect("can be started");
        let program = program_of(recorder.id());
        let status = run_asking(&lab, program, &["status"]);
        assert_eq!(status.stdout.matches("\noutput ").count(), 1, "{status:?}");
        assert!(!status.stdout.contains("\n#ctp-record"), "{status:?}");
        let json = run_asking(&lab, program, &["--json", "status"]).stdout;
        assert!(json.starts_with('{') && json.lines().count() == 1, "{json}");
        let snapshot = run_asking(&lab, program, &["snapshot"]);
        assert_eq!(snapshot.stdout.lines().count(), 2, "{snapshot:?}");
        send(Signal::KILL, program);
        lab.outcome(recorder);
        prints_own_lines(&lab);
    }
}
