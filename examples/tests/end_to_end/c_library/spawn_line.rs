//! Where a coroutine of C++ is spawned, if its promise has an `initial_suspend` of its own.

use std::fs;

use tempfile::tempdir;

use super::build::{CPP_COMPILERS, Linked, lines_of_recorded};
use super::misuse::source;
use crate::support::{line_of, report_json};

const FILE: &str = "spawn_line.cpp";

// CT-13
#[test]
fn spawn_line_is_the_first_line_of_the_function() {
    let text = fs::read_to_string(source(FILE)).expect("text");
    let shown = format!("{FILE}:{}", line_of(&text, "static task waits"));
    for compiler in CPP_COMPILERS {
        let directory = tempdir().expect("room");
        let directory = directory.path();
        if let Some(program) = compiler.compile(directory, &source(FILE), Linked::Static) {
            lines_of_recorded(directory, &program, &[]);
            let tree = report_json(directory, &["--tree"]);
            let spawned_at = tree["tree"][0]["spawned_at"]
                .as_str()
                .unwrap_or_else(|| panic!("{compiler:?}: {tree}"));
            assert!(spawned_at.contains(&shown), "{compiler:?}: {spawned_at}");
        }
    }
}
