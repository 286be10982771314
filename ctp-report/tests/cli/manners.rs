//! Exit status, colours, pipes, and what is said when there is nothing to read.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use crate::desk::Desk;

const ESCAPE: &str = "\x1b[";

fn status(desk: &Desk, args: &[&str]) -> i32 {
    desk.report(args).status.code().expect("it is not killed")
}

// CT-24
#[test]
fn a_page_with_an_approximate_figure_does_not_call_all_of_them_exact() {
    let page = Desk::new().text(&["-i", "dubious.data"]);
    assert!(page.contains("lost 0"), "{page}");
    assert!(page.contains("~100.00%"), "{page}");
    assert!(!page.contains("exact"), "{page}");
}

#[test]
fn the_status_says_how_it_went() {
    let desk = Desk::new();
    assert_eq!(status(&desk, &["-i", "lost_wakeup.data", "--stuck"]), 0);
    assert_eq!(
        status(&desk, &["-i", "lost_wakeup.data", "--stuck", "--fail"]),
        3
    );
    assert_eq!(
        status(
            &desk,
            &["-i", "lost_wakeup.data", "--stuck", "--fail", "--json"]
        ),
        3
    );
    assert_eq!(status(&desk, &["-i", "woken.data", "--stuck", "--fail"]), 3);
    for fine in ["fixed", "cancelled", "queueing", "lossy"] {
        assert_eq!(
            status(&desk, &["-i", &format!("{fine}.data"), "--stuck", "--fail"]),
            0,
            "{fine}"
        );
    }
    assert_eq!(status(&desk, &["-i", "missing.data"]), 1);
    assert_eq!(
        status(&desk, &["--flame", "no/such/place.svg", "-i", "woken.data"]),
        1
    );
    assert_eq!(status(&desk, &["--nonsense"]), 2);
    assert_eq!(status(&desk, &["--help"]), 0);
}

#[test]
fn a_view_without_its_dashes_is_suggested() {
    let desk = Desk::new();
    let output = desk.report(&["stuck"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("did you mean --stuck?"), "{message}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(status(&desk, &["missing"]), 1);
}

// LT-09
#[test]
fn where_a_flight_recorder_has_put_only_snapshots_the_latest_is_named() {
    let desk = Desk::new();
    for snapshot in ["later.data.1", "later.data.2"] {
        fs::copy(desk.path("woken.data"), desk.path(snapshot)).unwrap();
    }
    let output = desk.report(&["-i", "later.data"]);
    assert_eq!(output.status.code(), Some(1));
    let said = "ctp-report: no later.data here, but what a flight recorder put there: the latest is -i \
                later.data.2\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    assert_eq!(status(&desk, &["-i", "later.data.2"]), 0);
}

/// What the gate says of a trace in which nothing looks stuck, and what it ends with.
fn gate(desk: &Desk, trace: &str, more: &[&str]) -> (Option<i32>, String) {
    let args = [&["-i", trace, "--stuck", "--fail"], more].concat();
    let output = desk.report(&args);
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

// CT-24
#[test]
fn a_gate_does_not_pass_what_the_trace_would_not_tell() {
    let desk = Desk::new();
    let whole = fs::read(desk.path("fixed.data")).unwrap();
    fs::write(desk.path("cut.data"), &whole[..whole.len() - 20]).unwrap();
    let mut holed = whole;
    let middle = holed.len() / 2;
    holed[middle] ^= 0xff;
    fs::write(desk.path("holed.data"), holed).unwrap();
    for (trace, why) in [
        ("cut.data", "the trace is cut off at byte"),
        ("holed.data", "1 part of the trace cannot be read"),
        ("crowded.data", "1 coroutine found no station"),
        ("unrecorded.data", "3 processes of the program are not in"),
        (
            "short.data",
            "409 events that the trace counts are not in it",
        ),
        ("torn.data", "of 2 coroutines records are missing"),
        (
            "robbed_of_others.data",
            "of 1 coroutine records are missing",
        ),
        ("idle_image.data", "an image does not say when it was taken"),
    ] {
        for more in [&[][..], &["-q"], &["--json"]] {
            let (status, said) = gate(&desk, trace, more);
            assert_eq!(status, Some(4), "{trace}: {said}");
            assert!(said.contains(why) && said.lines().count() == 1, "{said}");
        }
        assert_eq!(status(&desk, &["-i", trace, "--stuck"]), 0, "{trace}");
    }
    for (trace, why) in [
        ("filtered.data", "recording was stopped for a while"),
        ("three_runs.data", "the file of another tool does not say"),
    ] {
        let (status, said) = gate(&desk, trace, &["--threshold", "1h"]);
        assert_eq!(status, Some(4), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

// CT-24
#[test]
fn a_gate_does_not_pass_a_trace_without_coroutines() {
    let desk = Desk::new();
    for (trace, why) in [
        ("refused.data", "no coroutine found a station"),
        ("nobody.data", "no coroutine was born"),
        ("unattached.data", "never attached"),
    ] {
        let (status, said) = gate(&desk, trace, &[]);
        assert_eq!(status, Some(4), "{trace}: {said}");
        assert!(said.contains(why), "{said}");
        let without_gate = desk.report(&["-i", trace, "--stuck"]);
        assert_eq!(without_gate.status.code(), Some(1), "{trace}");
    }
}

// CT-24
#[test]
fn where_processes_are_missing_no_figure_is_said_to_be_of_them_all() {
    let desk = Desk::new();
    let page = |more: &[&str]| {
        let args = [&["-i", "unrecorded.data"], more].concat();
        desk.text(&args)
    };
    let text = page(&[]);
    assert!(
        text.contains("3 processes of the program are not in this trace"),
        "{text}"
    );
    assert!(
        text.contains("figures are of the processes recorded"),
        "{text}"
    );
    assert!(!text.contains("figure below is exact"), "{text}");
    assert!(page(&["--json"]).contains("\"unrecorded_processes\": 3"));
}

// LT-23, CT-26
#[test]
fn a_trace_that_is_still_written_is_said_to_go_on_and_not_to_be_cut_off() {
    let desk = Desk::new();
    let written = fs::File::open(desk.path("truncated.data")).unwrap();
    flock(&written, FlockOperation::NonBlockingLockExclusive).unwrap();
    let page = desk.text(&["-i", "truncated.data", "--stuck"]);
    assert!(
        page.contains("ended: it goes on (still recorded)"),
        "{page}"
    );
    assert!(page.contains("note: it is still recorded"), "{page}");
    assert!(page.contains("STUCK? 47 coroutines"), "{page}");
    fs::copy(desk.path("fixed.data"), desk.path("truncated.data")).unwrap();
    let page = desk.text(&["-i", "truncated.data", "--stuck"]);
    assert!(
        !page.contains("still recorded"),
        "it ended meanwhile: {page}"
    );
    drop(written);
    let page = desk.text(&["-i", "corrupt.data", "--stuck"]);
    assert!(!page.contains("still recorded"), "{page}");
}

// LT-23, LT-09
#[test]
fn what_an_earlier_recording_left_is_said_to_be_that_while_a_flight_recorder_goes_on() {
    let desk = Desk::new();
    let earlier = fs::File::open(desk.path("fixed.data")).unwrap();
    // As ctp-record does, whose process this one is here.
    fcntl_lock(&earlier, FlockOperation::NonBlockingLockShared).unwrap();
    let note = format!(
        "note: a flight recorder goes on into this file, and this is what an earlier recording left \
         there: ctp-record control {} snapshot writes what it has now",
        std::process::id()
    );
    let unwrapped = |page: String| page.replace("\n#  ", "");
    let page = unwrapped(desk.text(&["-i", "fixed.data", "--stuck"]));
    assert!(page.contains(&note), "{page}");
    drop(earlier);
    let page = desk.text(&["-i", "fixed.data", "--stuck"]);
    assert!(!page.contains("flight recorder"), "{page}");
}

// CT-24
#[test]
fn what_is_exported_from_a_trace_that_is_cut_off_is_said_not_to_be_whole() {
    let desk = Desk::new();
    for (trace, is_cut) in [("truncated.data", true), ("fixed.data", false)] {
        let mut export = desk.command(&["-i", trace, "--export", "csv"]);
        let output = export.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.contains("the trace is cut off"), is_cut, "{said}");
    }
}

#[test]
fn a_gate_says_stuck_where_it_knows_that_and_fine_of_what_is_too_young() {
    let desk = Desk::new();
    let (status, said) = gate(&desk, "truncated.data", &[]);
    assert_eq!((status, said.as_str()), (Some(3), ""));
    let (status, said) = gate(&desk, "torn.data", &["--threshold", "1h"]);
    assert_eq!((status, said.as_str()), (Some(0), ""));
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
fn an_option_that_nothing_heeds_is_refused() {
    let desk = Desk::new();
    for (option, heeding) in [
        (&["--time", "1s,2s"][..], &["--timeline"][..]),
        (&["-o", "out"], &["--export"]),
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
            let output = desk.report(&[&["-i", "chain.data"], view, option].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{view:?} {option:?}: {said}");
            assert!(said.contains(" alone\n"), "{said}");
            assert!(!desk.path("out").exists());
        }
    }
    for nameless in [
        &["--dump", "--symfs", "x"][..],
        &["--man", "--input", "x"],
        &["--export", "csv", "--symfs", "x"],
    ] {
        assert_eq!(status(&desk, nameless), 2);
    }
}

#[test]
fn the_usual_name_is_read_without_being_told() {
    let desk = Desk::new();
    fs::rename(desk.path("woken.data"), desk.path("ctp.data")).unwrap();
    assert!(desk.text(&["--stuck"]).contains("\nSTUCK 2 coroutines"));
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let desk = Desk::new();
    let args = ["-i", "woken.data", "--stuck"];
    let always = [&args[..], &["--color", "always"]].concat();
    let plain = desk.text(&args);
    assert!(!plain.contains(ESCAPE), "piped");
    let coloured = desk.text(&always);
    assert!(coloured.contains("\x1b[1m\x1b[31mSTUCK\x1b[0m"));
    let stripped = coloured
        .replace("\x1b[1m", "")
        .replace("\x1b[31m", "")
        .replace("\x1b[0m", "");
    assert_eq!(stripped, plain, "the same text");
    let forced = |no_color: &str| {
        let mut command = desk.command(&args);
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
    let desk = Desk::new();
    for view in [
        &["--dump"][..],
        &["--dump", "--json"],
        &["--stuck", "--json"],
        &["--folded", "-"],
        &["--export", "jsonl"],
        &["--export", "chrome"],
    ] {
        let args = [&["-i", "lost_wakeup.data"], view].concat();
        let mut command = desk.command(&args);
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
    let desk = Desk::new();
    for view in ["--flame", "--folded", "--timeline"] {
        let to_file = ["-i", "busy.data", "-q", view, "file"];
        desk.text(&to_file);
        let printed = desk.text(&["-i", "busy.data", view, "-"]);
        assert_eq!(printed, fs::read_to_string(desk.path("file")).unwrap());
    }
    let export = ["-i", "busy.data", "--export", "csv"];
    let dashed = [&export[..], &["-o", "-"]].concat();
    assert_eq!(desk.text(&dashed), desk.text(&export));
    assert!(!desk.path("-").exists());
}

#[test]
fn the_trace_may_stand_alone_or_come_from_standard_input() {
    let desk = Desk::new();
    let named = desk.text(&["-i", "busy.data", "--stuck", "-q"]);
    assert_eq!(desk.text(&["busy.data", "--stuck", "-q"]), named);
    assert_eq!(desk.text(&["--stuck", "-q", "busy.data"]), named);
    for dashed in [&["-i", "-", "--stuck", "-q"][..], &["-", "--stuck", "-q"]] {
        let mut command = desk.command(dashed);
        command.stdin(fs::File::open(desk.path("busy.data")).unwrap());
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), named);
    }
    assert_eq!(status(&desk, &["-i", "busy.data", "busy.data"]), 2);
    let missing = desk.report(&["other.data"]);
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(
        said.contains("no other.data here") && said.contains("-i FILE"),
        "{said}"
    );
}

#[test]
fn nothing_is_read_from_a_directory() {
    let desk = Desk::new();
    let output = desk.report(&["-i", "src"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("src is a directory"));
}

/// Whatever a file holds, there is an end with a sentence, not a panic.
#[test]
fn damaged_files_are_survived() {
    let desk = Desk::new();
    let whole = fs::read(desk.path("lost_wakeup.data")).unwrap();
    for i in 0..16 {
        let at = whole.len() * i / 16;
        let mut damaged = whole.clone();
        damaged[at] ^= 0x5a;
        let cut = &whole[..at];
        for bytes in [&damaged[..], cut] {
            fs::write(desk.path("damaged.data"), bytes).unwrap();
            let output = desk.report(&["-i", "damaged.data", "--stuck", "--json"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{at}: {said}");
            assert_eq!(
                output.status.code() == Some(1),
                said.starts_with("ctp-report: "),
                "{said}"
            );
        }
    }
}

#[test]
fn completions_and_manual_need_no_trace() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = desk.text(&["--completions", shell]);
        assert!(script.contains("threshold"), "{shell}");
    }
    let page = desk.text(&["--man"]);
    assert!(page.contains(".TH ctp-report") && page.contains("Exit status"));
    assert_eq!(
        desk.text(&["--version"]),
        format!("ctp-report {}\n", env!("CARGO_PKG_VERSION"))
    );
}
