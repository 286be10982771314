//! The progress line.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use crate::lab::{Lab, fixture};
use crate::terminal::pseudo_terminal;

/// The output on a terminal as stderr, in a recording of a second or two.
fn seen(lab: &Lab, flags: &[&str], stdout: impl FnOnce(&File) -> Stdio) -> String {
    let (user, program) = pseudo_terminal();
    let program = File::from(program);
    let mut command = lab.recorder(flags, fixture("paced"));
    command.args(["truth", "2", "100", "5000"]);
    command.stdout(stdout(&program));
    command.stderr(program);
    let mut recorder = command.spawn().expect("can be started");
    drop(command);
    let (mut screen, mut piece) = (Vec::new(), [0; 4096]);
    // Reading a terminal that no other process has open is an error.
    while let Ok(length @ 1..) = File::from(user.try_clone().expect("can be")).read(&mut piece) {
        screen.extend_from_slice(&piece[..length]);
    }
    recorder.wait().expect("was started here");
    String::from_utf8(screen).expect("is text")
}

fn elsewhere(lab: &Lab) -> impl FnOnce(&File) -> Stdio {
    let log = File::create(lab.path("log")).expect("can be made");
    |_| log.into()
}

#[test]
fn separate_terminal_shows_progress_until_the_end() {
    let lab = Lab::new();
    let screen = seen(&lab, &[], elsewhere(&lab));
    let (status, closing) = screen.rsplit_once("\x1b[K").expect("it is cleared");
    assert!(status.contains(" events, "), "{screen:?}");
    assert!(status.contains(" 0 lost, "), "{screen:?}");
    assert!(closing.starts_with("ctp-record: "), "{screen:?}");
    assert!(!closing.contains("waiting"), "{screen:?}");
}

#[test]
fn terminal_of_the_program_shows_no_progress() {
    let lab = Lab::new();
    let screen = seen(&lab, &[], |screen| {
        screen.try_clone().expect("can be").into()
    });
    assert!(!screen.contains('\x1b'), "{screen:?}");
    assert_eq!(seen(&Lab::new(), &["-q"], elsewhere(&lab)), "");
}

/// Events and events a second, from each line.
fn figures(screen: &str) -> Vec<(u64, u64)> {
    let figure = |line: &str, unit: &str| {
        let (before, _) = line.split_once(unit)?;
        let (_, grouped) = before.rsplit_once(|c: char| !c.is_ascii_digit() && c != ' ')?;
        grouped.replace(' ', "").parse().ok()
    };
    screen
        .split('\r')
        .filter_map(|line| Some((figure(line, " events, ")?, figure(line, "/s, ")?)))
        .collect()
}

/// 402 events in two seconds, of which totals and what came last are kept.
#[test]
fn progress_counts_all_events_in_every_mode() {
    let reaches = [
        (&["--summary"][..], " waiting, "),
        (
            &["--flight-recorder=30s"],
            ", at most the last 30.0 s kept\x1b",
        ),
        (
            &["--flight-recorder=64K"],
            ", the last 64K of each thread kept\x1b",
        ),
    ];
    for (flags, location) in reaches {
        let lab = Lab::new();
        let screen = seen(&lab, flags, elsewhere(&lab));
        assert!(screen.contains(location), "{screen:?}");
        let (events, per_second) = *figures(&screen).last().expect("it is shown");
        assert!((100..=402).contains(&events), "{screen:?}");
        assert!((1..=402).contains(&per_second), "{screen:?}");
    }
}
