//! The call stack of a coroutine in C, which waits on a stack of its own.

use std::path::Path;

use tempfile::tempdir;

use super::build::{C_COMPILERS, Linked, lines_of_recorded};
use crate::support::report_json;

/// The functions of the coroutine and their lines, innermost first, as the program prints them.
fn expected(account: &[String]) -> Vec<String> {
    account.iter().rev().cloned().collect()
}

/// The same as the report has them, without the function of the C library that began the stack.
fn reported(directory: &Path) -> Vec<String> {
    let json = report_json(directory, &["--stacks"]);
    let frames = json["tasks"][0]["frames"].as_array().expect("a stack");
    let own = frames.iter().filter(|frame| {
        let file = frame["file"].as_str();
        file.is_some_and(|file| file.ends_with("c_library/stackful.c"))
    });
    own.map(|frame| {
        format!(
            "{} {}",
            frame["function"].as_str().expect("a name"),
            frame["line"]
        )
    })
    .collect()
}

// STB-04
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn call_stack_of_a_coroutine_in_c_is_exact() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = source.join("tests/end_to_end/c_library/stackful.c");
    for compiler in &C_COMPILERS {
        let directory = tempdir().expect("room");
        if let Some(program) = compiler.compile(directory.path(), &source, Linked::Static) {
            let account = lines_of_recorded(directory.path(), &program, &[]);
            assert_eq!(account.len(), 3, "{account:?}");
            assert_eq!(
                reported(directory.path()),
                expected(&account),
                "{compiler:?}"
            );
        }
    }
}
