//! Exit status, colours, pipes, and messages for missing or incomplete input.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use crate::test_dir::TestDir;

const ESCAPE: &str = "\x1b[";

fn status(test_dir: &TestDir, args: &[&str]) -> i32 {
    test_dir
        .report(args)
        .status
        .code()
        .expect("it is not killed")
}

// CT-24
#[test]
fn approximate_pages_are_not_called_exact() {
    let page = TestDir::new().text(&["-i", "dubious.data"]);
    assert!(page.contains("lost 0"), "{page}");
    assert!(page.contains("~100.00%"), "{page}");
    assert!(!page.contains("exact"), "{page}");
}

// CT-21
#[test]
fn the_trace_to_read_is_never_overwritten() {
    let test_dir = TestDir::new();
    let trace = test_dir.path("lost_wakeup.data");
    let before = fs::read(&trace).expect("a trace");
    std::os::unix::fs::symlink(&trace, test_dir.path("link.svg")).expect("a link");
    for args in [
        ["--export", "jsonl", "-o", "lost_wakeup.data"],
        ["--export", "perfetto", "-o", "link.svg"],
        ["--timeline", "link.svg", "--threshold", "1s"],
        ["--html", "./lost_wakeup.data", "--threshold", "1s"],
    ] {
        let run = test_dir.report(&[&["-i", "lost_wakeup.data"], &args[..]].concat());
        let message = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{message}");
        assert!(message.contains("is the trace to read"), "{message}");
        assert_eq!(fs::read(&trace).expect("a trace"), before);
    }
}

#[test]
fn exit_status_reports_the_result() {
    let test_dir = TestDir::new();
    assert_eq!(status(&test_dir, &["-i", "lost_wakeup.data", "--stuck"]), 0);
    assert_eq!(
        status(&test_dir, &["-i", "lost_wakeup.data", "--stuck", "--fail"]),
        3
    );
    assert_eq!(
        status(
            &test_dir,
            &["-i", "lost_wakeup.data", "--stuck", "--fail", "--json"]
        ),
        3
    );
    assert_eq!(
        status(&test_dir, &["-i", "woken.data", "--stuck", "--fail"]),
        3
    );
    for fine in ["fixed", "cancelled", "queueing", "lossy"] {
        assert_eq!(
            status(
                &test_dir,
                &["-i", &format!("{fine}.data"), "--stuck", "--fail"]
            ),
            0,
            "{fine}"
        );
    }
    assert_eq!(status(&test_dir, &["-i", "missing.data"]), 1);
    assert_eq!(
        status(
            &test_dir,
            &["--flame", "no/such/place.svg", "-i", "woken.data"]
        ),
        1
    );
    assert_eq!(status(&test_dir, &["--nonsense"]), 2);
    assert_eq!(status(&test_dir, &["--help"]), 0);
}

#[test]
fn a_view_without_the_dashes_is_suggested() {
    let test_dir = TestDir::new();
    let output = test_dir.report(&["stuck"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("did you mean --stuck?"), "{message}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(status(&test_dir, &["missing"]), 1);
}

// LT-09
#[test]
fn missing_trace_suggests_the_latest_snapshot() {
    let test_dir = TestDir::new();
    for snapshot in ["later.data.1", "later.data.2"] {
        fs::copy(test_dir.path("woken.data"), test_dir.path(snapshot)).unwrap();
    }
    let output = test_dir.report(&["-i", "later.data"]);
    assert_eq!(output.status.code(), Some(1));
    let text = "ctp-report: no later.data here, but snapshots of a flight recorder: for the latest, use -i \
                later.data.2\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), text);
    assert_eq!(status(&test_dir, &["-i", "later.data.2"]), 0);
}

/// The exit status and message of the check.
fn gate(test_dir: &TestDir, trace: &str, more: &[&str]) -> (Option<i32>, String) {
    let args = [&["-i", trace, "--stuck", "--fail"], more].concat();
    let output = test_dir.report(&args);
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

// CT-24
#[test]
fn check_fails_if_the_trace_is_incomplete() {
    let test_dir = TestDir::new();
    let whole = fs::read(test_dir.path("fixed.data")).unwrap();
    fs::write(test_dir.path("cut.data"), &whole[..whole.len() - 20]).unwrap();
    let mut holed = whole;
    let middle = holed.len() / 2;
    holed[middle] ^= 0xff;
    fs::write(test_dir.path("holed.data"), holed).unwrap();
    for (trace, why) in [
        ("cut.data", "the trace is cut off at byte"),
        ("holed.data", "1 part of the trace cannot be read"),
        ("crowded.data", "1 coroutine found no station"),
        ("unrecorded.data", "3 processes of the program are not in"),
        (
            "short.data",
            "409 events that the trace counts are not in it",
        ),
        ("torn.data", "could explain the state of 2 coroutines"),
        (
            "robbed_of_others.data",
            "could explain the state of 1 coroutine",
        ),
        ("idle_image.data", "an image does not say when it was taken"),
    ] {
        for more in [&[][..], &["-q"], &["--json"]] {
            let (status, text) = gate(&test_dir, trace, more);
            assert_eq!(status, Some(4), "{trace}: {text}");
            assert!(text.contains(why) && text.lines().count() == 1, "{text}");
        }
        assert_eq!(status(&test_dir, &["-i", trace, "--stuck"]), 0, "{trace}");
    }
    for (trace, why) in [
        ("filtered.data", "recording was stopped for a while"),
        ("three_runs.data", "the file of another tool does not say"),
    ] {
        let (status, text) = gate(&test_dir, trace, &["--threshold", "1h"]);
        assert_eq!(status, Some(4), "{text}");
        assert!(text.contains(why), "{text}");
    }
}

// CT-24
#[test]
fn check_fails_without_coroutines() {
    let test_dir = TestDir::new();
    for (trace, why) in [
        ("refused.data", "no coroutine found a station"),
        ("nobody.data", "no coroutine was born"),
        ("unattached.data", "never attached"),
    ] {
        let (status, text) = gate(&test_dir, trace, &[]);
        assert_eq!(status, Some(4), "{trace}: {text}");
        assert!(text.contains(why), "{text}");
        let without_gate = test_dir.report(&["-i", trace, "--stuck"]);
        assert_eq!(without_gate.status.code(), Some(1), "{trace}");
    }
}

// CT-24
#[test]
fn missing_processes_qualify_all_figures() {
    let test_dir = TestDir::new();
    let page = |more: &[&str]| {
        let args = [&["-i", "unrecorded.data"], more].concat();
        test_dir.text(&args)
    };
    let text = page(&[]);
    assert!(
        text.contains("3 processes of the program are not in this trace"),
        "{text}"
    );
    assert!(
        text.contains("figures cover the recorded processes"),
        "{text}"
    );
    assert!(!text.contains("figure below is exact"), "{text}");
    assert!(page(&["--json"]).contains("\"unrecorded_processes\": 3"));
}

// LT-23, CT-26
#[test]
fn running_recordings_are_not_called_truncated() {
    let test_dir = TestDir::new();
    let written = fs::File::open(test_dir.path("truncated.data")).unwrap();
    flock(&written, FlockOperation::NonBlockingLockExclusive).unwrap();
    let page = test_dir.text(&["-i", "truncated.data", "--stuck"]);
    assert!(page.contains("ended: not yet (still recorded)"), "{page}");
    assert!(
        page.contains("note: the recording is still running"),
        "{page}"
    );
    assert!(page.contains("STUCK? 47 coroutines"), "{page}");
    fs::copy(test_dir.path("fixed.data"), test_dir.path("truncated.data")).unwrap();
    let page = test_dir.text(&["-i", "truncated.data", "--stuck"]);
    assert!(
        !page.contains("still recorded"),
        "it ended meanwhile: {page}"
    );
    drop(written);
    let page = test_dir.text(&["-i", "corrupt.data", "--stuck"]);
    assert!(!page.contains("still recorded"), "{page}");
}

// LT-23, LT-09
#[test]
fn earlier_recording_is_named_while_flight_recorder_runs() {
    let test_dir = TestDir::new();
    let earlier = fs::File::open(test_dir.path("fixed.data")).unwrap();
    // This process plays the part of ctp-record.
    fcntl_lock(&earlier, FlockOperation::NonBlockingLockShared).unwrap();
    let note = format!(
        "note: a flight recorder is running with this output file, which still has an earlier \
         recording: ctp-record control {} snapshot writes the current events",
        std::process::id()
    );
    let unwrapped = |page: String| page.replace("\n#  ", "");
    let page = unwrapped(test_dir.text(&["-i", "fixed.data", "--stuck"]));
    assert!(page.contains(&note), "{page}");
    drop(earlier);
    let page = test_dir.text(&["-i", "fixed.data", "--stuck"]);
    assert!(!page.contains("flight recorder"), "{page}");
}

// CT-24
#[test]
fn exports_of_truncated_traces_get_a_note() {
    let test_dir = TestDir::new();
    for (trace, is_cut) in [("truncated.data", true), ("fixed.data", false)] {
        let mut export = test_dir.command(&["-i", trace, "--export", "csv"]);
        let output = export.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.contains("the trace is cut off"), is_cut, "{text}");
    }
}

#[test]
fn check_ignores_waits_below_the_threshold() {
    let test_dir = TestDir::new();
    let (status, text) = gate(&test_dir, "truncated.data", &[]);
    assert_eq!((status, text.as_str()), (Some(3), ""));
    let (status, text) = gate(&test_dir, "torn.data", &["--threshold", "1h"]);
    assert_eq!((status, text.as_str()), (Some(0), ""));
}

/// All views but the table of sites.
const VIEWS: [&[&str]; 10] = [
    &["--stuck"],
    &["--last-words"],
    &["--tree"],
    &["--why", "1"],
    &["--histogram"],
    &["--dump"],
    &["--flame", "out"],
    &["--folded", "out"],
    &["--timeline", "out"],
    &["--export", "csv"],
];

#[test]
fn unused_options_are_rejected() {
    let test_dir = TestDir::new();
    for (option, heeding) in [
        (&["-o", "out"][..], &["--export"][..]),
        (&["--by", "run"], &["--flame", "--folded"]),
        (&["--title", "x"], &["--flame", "--timeline"]),
        (
            &["--threshold", "2s"],
            &["--stuck", "--tree", "--why", "--timeline"],
        ),
        (&["--ids"], &["--stuck", "--last-words", "--tree"]),
        (&["--fail"], &["--stuck"]),
        (&["--ignore", "x"], &["--stuck"]),
        (&["--sort", "mean"], &[]),
        (&["--percent-limit", "1"], &[]),
        (&["--allow", "self-wakes"], &[]),
    ] {
        for view in VIEWS.into_iter().filter(|view| !heeding.contains(&view[0])) {
            let output = test_dir.report(&[&["-i", "chain.data"], view, option].concat());
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{view:?} {option:?}: {text}");
            assert!(text.contains(" is only for "), "{text}");
            assert!(!test_dir.path("out").exists());
        }
    }
    for nameless in [
        &["--dump", "--symfs", "x"][..],
        &["--man", "--input", "x"],
        &["--export", "csv", "--symfs", "x"],
    ] {
        assert_eq!(status(&test_dir, nameless), 2);
    }
}

#[test]
fn default_trace_name_is_used() {
    let test_dir = TestDir::new();
    fs::rename(test_dir.path("woken.data"), test_dir.path("ctp.data")).unwrap();
    assert!(test_dir.text(&["--stuck"]).contains("\nSTUCK 2 coroutines"));
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let test_dir = TestDir::new();
    let args = ["-i", "woken.data", "--stuck"];
    let always = [&args[..], &["--color", "always"]].concat();
    let plain = test_dir.text(&args);
    assert!(!plain.contains(ESCAPE), "piped");
    let coloured = test_dir.text(&always);
    assert!(coloured.contains("\x1b[1m\x1b[31mSTUCK\x1b[0m"));
    let stripped = coloured
        .replace("\x1b[1m", "")
        .replace("\x1b[31m", "")
        .replace("\x1b[0m", "");
    assert_eq!(stripped, plain, "the same text");
    let forced = |no_color: &str| {
        let mut command = test_dir.command(&args);
        command.env("CLICOLOR_FORCE", "1");
        if !no_color.is_empty() {
            command.env("NO_COLOR", no_color);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(forced("").contains(ESCAPE));
    assert!(!forced("1").contains(ESCAPE));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let test_dir = TestDir::new();
    for view in [
        &["--dump"][..],
        &["--dump", "--json"],
        &["--stuck", "--json"],
        &["--folded", "-"],
        &["--export", "jsonl"],
        &["--export", "chrome"],
    ] {
        let args = [&["-i", "lost_wakeup.data"], view].concat();
        let mut command = test_dir.command(&args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.stderr),
            (Some(0), vec![]),
            "{view:?}"
        );
    }
}

#[test]
fn a_dash_is_standard_output() {
    let test_dir = TestDir::new();
    for view in ["--flame", "--folded", "--timeline"] {
        let to_file = ["-i", "busy.data", "-q", view, "file"];
        test_dir.text(&to_file);
        let printed = test_dir.text(&["-i", "busy.data", view, "-"]);
        assert_eq!(printed, fs::read_to_string(test_dir.path("file")).unwrap());
    }
    let export = ["-i", "busy.data", "--export", "csv"];
    let dashed = [&export[..], &["-o", "-"]].concat();
    assert_eq!(test_dir.text(&dashed), test_dir.text(&export));
    assert!(!test_dir.path("-").exists());
}

#[test]
fn the_trace_may_stand_alone_or_come_from_standard_input() {
    let test_dir = TestDir::new();
    let named = test_dir.text(&["-i", "busy.data", "--stuck", "-q"]);
    assert_eq!(test_dir.text(&["busy.data", "--stuck", "-q"]), named);
    assert_eq!(test_dir.text(&["--stuck", "-q", "busy.data"]), named);
    for dashed in [&["-i", "-", "--stuck", "-q"][..], &["-", "--stuck", "-q"]] {
        let mut command = test_dir.command(dashed);
        command.stdin(fs::File::open(test_dir.path("busy.data")).unwrap());
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), named);
    }
    assert_eq!(status(&test_dir, &["-i", "busy.data", "busy.data"]), 2);
    let missing = test_dir.report(&["other.data"]);
    let text = String::from_utf8_lossy(&missing.stderr);
    assert!(
        text.contains("no other.data here") && text.contains("-i FILE"),
        "{text}"
    );
}

#[test]
fn nothing_is_read_from_a_directory() {
    let test_dir = TestDir::new();
    let output = test_dir.report(&["-i", "src"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("src is a directory"));
}

/// Damaged files cause an error message, not a panic.
#[test]
fn damaged_files_cause_no_panic() {
    let test_dir = TestDir::new();
    let whole = fs::read(test_dir.path("lost_wakeup.data")).unwrap();
    for i in 0..16 {
        let at = whole.len() * i / 16;
        let mut damaged = whole.clone();
        damaged[at] ^= 0x5a;
        let cut = &whole[..at];
        for bytes in [&damaged[..], cut] {
            fs::write(test_dir.path("damaged.data"), bytes).unwrap();
            let output = test_dir.report(&["-i", "damaged.data", "--stuck", "--json"]);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{at}: {text}");
            assert_eq!(
                output.status.code() == Some(1),
                text.starts_with("ctp-report: "),
                "{text}"
            );
        }
    }
}

#[test]
fn man_pages_of_all_commands_are_written() {
    let test_dir = TestDir::new();
    let option = format!("--man={}", test_dir.path("").display());
    assert_eq!(test_dir.text(&[&option]), "");
    for page in ["ctp-report", "ctp-report-diff"] {
        let text = std::fs::read_to_string(test_dir.path(&format!("{page}.1")));
        assert!(text.is_ok_and(|text| text.contains(&format!(".TH {page} 1"))));
    }
}

#[test]
fn completions_and_manual_need_no_trace() {
    let test_dir = TestDir::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = test_dir.text(&["--completions", shell]);
        assert!(script.contains("threshold"), "{shell}");
    }
    let page = test_dir.text(&["--man"]);
    assert!(page.contains(".TH ctp-report") && page.contains("Exit status"));
    assert_eq!(
        test_dir.text(&["--version"]),
        format!("ctp-report {}\n", env!("CARGO_PKG_VERSION"))
    );
}
