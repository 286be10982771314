//! Programs that are written for coroTracer's SDK, with the header of the same name.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use super::build::{CPP_COMPILERS, Compiler, Linked, lines_of_recorded};
use super::misuse::{check_scenes, source};
use crate::support::{line_of, report_json};

const SCENES: [&str; 5] = ["awaits", "destroy", "converts", "writes", "kept"];

// CT-12, CT-16
#[test]
fn promises_of_the_mixin_are_recorded() {
    check_scenes("mixin.cpp", &CPP_COMPILERS, &SCENES);
}

/// Records the mailboxes with this line before their text. Returns the only stuck group and the text.
/// `None` without the compiler.
fn stuck_mailboxes(compiler: &Compiler, first_line: &str) -> Option<(Value, String)> {
    let directory = tempdir().expect("room");
    let text = fs::read_to_string(source("mailboxes.cpp")).expect("text");
    let text = format!("{first_line}\n{text}");
    let copy = directory.path().join(compiler.file_name());
    fs::write(&copy, &text).expect("room");
    let program = compiler.compile(directory.path(), &copy, Linked::Static)?;
    Some((stuck_group(directory.path(), &program), text))
}

/// Compares the number of stuck coroutines with the program's own account.
fn stuck_group(directory: &Path, program: &Path) -> Value {
    let account = lines_of_recorded(directory, program, &[]);
    let forgotten = account
        .iter()
        .find_map(|line| line.strip_prefix("forgotten "));
    let forgotten: u64 = forgotten.and_then(|n| n.parse().ok()).expect("a number");
    let json = report_json(directory, &["--stuck"]);
    let [stuck] = &json["stuck"].as_array().expect("a list")[..] else {
        panic!("{json}");
    };
    assert_eq!(stuck["count"], forgotten, "{json}");
    stuck.clone()
}

// CT-13
#[test]
fn program_of_the_sdk_is_stuck_at_its_await() {
    for compiler in &CPP_COMPILERS {
        let Some((stuck, text)) = stuck_mailboxes(compiler, "") else {
            continue;
        };
        assert_eq!(stuck["line"], line_of(&text, "co_await mailbox"), "{stuck}");
        assert_eq!(stuck["state"], "SUSPENDED", "{stuck}");
        assert_eq!(stuck["confidence"], "LIKELY", "{stuck}");
    }
}

// CT-14
#[test]
fn wakes_make_the_mixin_certain() {
    let Some((stuck, text)) = stuck_mailboxes(&CPP_COMPILERS[0], "#define WITH_WAKES") else {
        return;
    };
    assert_eq!(stuck["state"], "NOT_WOKEN", "{stuck}");
    assert_eq!(stuck["confidence"], "CERTAIN", "{stuck}");
    let closed_at = format!("source.cpp:{}", line_of(&text, "ctp::closed("));
    assert!(
        stuck.to_string().contains(&closed_at),
        "{closed_at} in {stuck}"
    );
}
