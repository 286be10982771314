//! Calls that a program should not make, and coroutines that end in unusual ways: the trace has the
//! events that the program expects, and no others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctp_trace::Reader;
use ctp_trace::record::{CoroutineId, Event, EventKind, Record, WaitKind};
use tempfile::tempdir;

use super::build::{C_COMPILERS, CPP_COMPILERS, Compiler, Linked, lines_of_recorded};

const IN_C: [&str; 8] = [
    "nothing", "texts", "dead", "copies", "twice", "fork", "exit", "thread",
];
const IN_CPP: [&str; 11] = [
    "operator",
    "destroy",
    "unstarted",
    "thread",
    "exception",
    "refused",
    "leaves",
    "rethrown",
    "exit",
    "static",
    "trace",
];

/// The events of each coroutine, a letter for each, by the coroutine's name.
pub type Events = BTreeMap<String, String>;

/// A program beside this file.
pub fn source(file: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end/c_library");
    directory.join(file)
}

fn letter(event: &Event) -> char {
    match event.kind {
        EventKind::Birth => 'B',
        EventKind::Run => 'R',
        EventKind::Suspend if event.wait == WaitKind::Readable => 'F',
        EventKind::Suspend => 'S',
        EventKind::Death => 'D',
    }
}

pub fn recorded_events(directory: &Path) -> Events {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut names: BTreeMap<CoroutineId, String> = BTreeMap::new();
    let mut events = BTreeMap::new();
    for record in Reader::new(&bytes).expect("a trace").flatten() {
        match record {
            Record::Birth(birth) => {
                names.insert(birth.coroutine, birth.name);
            }
            Record::Event(event) => {
                let key = (event.coroutine, event.n);
                assert_eq!(events.insert(key, letter(&event)), None, "{event:?}");
            }
            _ => {}
        }
    }
    let mut found = Events::new();
    for ((coroutine, _), letter) in events {
        found
            .entry(names[&coroutine].clone())
            .or_default()
            .push(letter);
    }
    found
}

/// The events that the program printed, as `NAME LETTERS`.
pub fn expected_events(account: &[String]) -> Events {
    let lines = account.iter().filter_map(|line| line.split_once(' '));
    lines
        .map(|(name, letters)| (name.to_owned(), letters.to_owned()))
        .collect()
}

/// Records a scene, and compares the trace with what the program printed.
fn check(program: &Path, argument: &str) {
    let directory = tempdir().expect("room");
    let account = lines_of_recorded(directory.path(), program, &[argument]);
    let expected = expected_events(&account);
    assert!(!expected.is_empty(), "{argument}");
    assert_eq!(recorded_events(directory.path()), expected, "{argument}");
}

/// Checks each scene of a program, compiled by each of these compilers, with and without a recorder.
pub fn check_scenes(file: &str, compilers: &[Compiler], scenes: &[&str]) {
    for compiler in compilers {
        let directory = tempdir().expect("room");
        if let Some(program) = compiler.compile(directory.path(), &source(file), Linked::Static) {
            check_program(&program, scenes);
        }
    }
}

/// Checks each scene of this program, with and without a recorder.
pub fn check_program(program: &Path, scenes: &[&str]) {
    for scene in scenes {
        check(program, scene);
        let run = Command::new(program).arg(scene).output();
        assert!(run.is_ok_and(|run| run.status.success()), "{scene}");
    }
}

#[test]
fn misuse_in_c_has_the_defined_effect() {
    check_scenes("misuse.c", &C_COMPILERS, &IN_C);
}

// CT-12, CT-16
#[test]
fn unusual_ends_of_cpp_coroutines_are_recorded() {
    check_scenes("misuse.cpp", &CPP_COMPILERS, &IN_CPP);
}

#[test]
fn two_copies_of_the_library_record_separately() {
    let directory = tempdir().expect("room");
    let compiler = &C_COMPILERS[0];
    let Some(program) = compiler.compile(directory.path(), &source("copies.c"), Linked::Static)
    else {
        return;
    };
    for linked in [Linked::Static, Linked::Shared] {
        let plugin = compiler.compile_plugin(directory.path(), &source("copies.c"), linked);
        check(&program, &plugin.to_string_lossy());
    }
}
