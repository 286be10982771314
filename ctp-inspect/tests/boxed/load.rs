//! Boxed futures in a program that creates and drops others all the time.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::program::{Program, build, function, inspections_under_load};
use crate::queue::check_places;

/// Between two inspections, so that the program is seen in different states.
const PAUSE: Duration = Duration::from_millis(7);

fn check(path: &Path) {
    let program = Program::run(path, "load");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    let most = program.numbers["most"] as usize;
    let mut passing = 0;
    for _ in 0..inspections_under_load() {
        inspections.inspect();
        let boxes = inspections.boxes();
        let others = boxes
            .iter()
            .filter(|(address, _)| !program.boxes.contains_key(address));
        let others: Vec<_> = others.map(|(_, task)| function(&task.name)).collect();
        let names = ["passing", "passing_twice"];
        assert!(others.iter().all(|name| names.contains(name)), "{others:?}");
        assert!(others.len() <= most, "{} of {most}", others.len());
        passing += others.len();
        check_places(&program, &inspections);
        for address in program.boxes.keys() {
            assert!(!boxes[address].may_be_freed);
        }
        thread::sleep(PAUSE);
    }
    eprintln!("{passing} passing futures");
    assert!(0 < passing);
}

#[test]
fn futures_that_come_and_go_are_never_too_many() {
    check(&build(&[], "debug"));
}

#[test]
fn optimised_futures_that_come_and_go_are_never_too_many() {
    check(&build(&["--release"], "release"));
}
