//! The line that says how it goes.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use crate::lab::{Lab, fixture};
use crate::terminal::pseudo_terminal;

/// What a user sees for whom stderr is a terminal, in a recording of a second or two.
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
    // A terminal that nobody else has open any more is an error.
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
fn a_terminal_of_its_own_shows_how_it_goes_until_it_is_over() {
    let lab = Lab::new();
    let screen = seen(&lab, &[], elsewhere(&lab));
    let (status, closing) = screen.rsplit_once("\x1b[K").expect("it is cleared");
    assert!(status.contains(" events, "), "{screen:?}");
    assert!(status.contains(" 0 lost, "), "{screen:?}");
    assert!(closing.starts_with("ctp-record: "), "{screen:?}");
    assert!(!closing.contains("waiting"), "{screen:?}");
}

#[test]
fn a_terminal_on_which_the_program_writes_is_left_alone() {
    let lab = Lab::new();
    let screen = seen(&lab, &[], |screen| {
        screen.try_clone().expect("can be").into()
    });
    assert!(!screen.contains('\x1b'), "{screen:?}");
    assert_eq!(seen(&Lab::new(), &["-q"], elsewhere(&lab)), "");
}
