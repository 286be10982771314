//! Follows `docs/c-and-cpp.md`: installs the library, builds the programs of the page with pkg-config
//! and CMake, records, and compares the report with the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::{TempDir, tempdir};

use super::build::{C_COMPILERS, CPP_COMPILERS, libraries, package};
use crate::support::{record_built, report};

const PAGE: &str = include_str!("../../../../docs/c-and-cpp.md");

/// The first block of the page in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE
        .split_once(&format!("```{language}\n"))
        .expect("the page has the block");
    rest.split("```").next().expect("text")
}

/// A directory with the library installed in `prefix`.
fn installed() -> TempDir {
    let directory = tempdir().expect("room");
    let mut install = Command::new("sh");
    install.arg(package().join("install"));
    install.arg(directory.path().join("prefix"));
    let target = libraries().parent().expect("a target folder");
    install.env("CARGO_TARGET_DIR", target);
    assert!(install.status().expect("sh runs").success());
    directory
}

/// Runs a shell command of the page. False, with a visible reason, without one of these programs.
fn is_run(directory: &Path, needed: &[&str], command: &str) -> bool {
    let is_missing = |name: &&&str| Command::new(**name).arg("--version").output().is_err();
    if let Some(name) = needed.iter().find(is_missing) {
        eprintln!("SKIPPED: {name} is not installed");
        return false;
    }
    let mut shell = Command::new("sh");
    shell.current_dir(directory).args(["-c", command]);
    shell.env("PKG_CONFIG_PATH", directory.join("prefix/lib/pkgconfig"));
    let output = shell.output().expect("sh runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {message}");
    true
}

/// The command of the page that compiles with this compiler.
fn command_of(compiler: &str) -> &'static str {
    let mut lines = PAGE.lines();
    let command = lines.find(|line| line.starts_with(&format!("{compiler} ")));
    command.expect("the page has the command")
}

// CT-13, CT-14
#[test]
fn programs_of_the_page_are_reported_as_shown() {
    let directory = installed();
    fs::write(directory.path().join("hangs.cpp"), block("cpp")).expect("room");
    let shown = PAGE.lines().filter(|line| {
        let parts = ["STUCK 3", "  >   56 |", "closed by ", "usual waker "];
        parts.iter().any(|part| line.contains(part))
    });
    let shown: Vec<&str> = shown.collect();
    assert_eq!(shown.len(), 4);
    for compiler in ["g++", "clang++"] {
        let needed = [compiler, "pkg-config"];
        if !has_coroutines(compiler) || !is_run(directory.path(), &needed, command_of(compiler)) {
            continue;
        }
        record_built(&[], directory.path(), &PathBuf::from("./hangs"), &[]);
        let text = report(directory.path(), &["--stuck"]).stdout;
        let text = String::from_utf8_lossy(&text);
        for line in &shown {
            assert!(text.contains(line), "{compiler}: {line} in {text}");
        }
    }
}

/// Whether this compiler can compile coroutines here.
fn has_coroutines(command: &str) -> bool {
    let directory = tempdir().expect("room");
    let mut compilers = CPP_COMPILERS.iter();
    let compiler = compilers.find(|compiler| compiler.command == command);
    compiler.is_some_and(|compiler| compiler.is_able(directory.path()))
}

#[test]
fn c_of_the_page_compiles() {
    let directory = installed();
    let program = format!("{}int main(void) {{ return ctp_attach(); }}\n", block("c"));
    fs::write(directory.path().join("program.c"), program).expect("room");
    if C_COMPILERS[0].is_able(directory.path()) {
        is_run(directory.path(), &["cc", "pkg-config"], command_of("cc"));
    }
}

/// Builds a program with the static library, and another with the shared library.
const CMAKE: &str = r#"
cmake_minimum_required(VERSION 3.13)
project(programs CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(ctp 0.1.0 REQUIRED)
add_executable(with_static hangs.cpp)
target_link_libraries(with_static PRIVATE ctp::ctp)
add_executable(with_shared hangs.cpp)
target_link_libraries(with_shared PRIVATE ctp::shared)
"#;

#[test]
fn cmake_finds_both_libraries() {
    let directory = installed();
    fs::write(directory.path().join("CMakeLists.txt"), CMAKE).expect("room");
    fs::write(directory.path().join("hangs.cpp"), block("cpp")).expect("room");
    let command =
        "CXX=g++ cmake -S . -B build -DCMAKE_PREFIX_PATH=$PWD/prefix && cmake --build build";
    if has_coroutines("g++") && is_run(directory.path(), &["cmake"], command) {
        for program in ["build/with_static", "build/with_shared"] {
            let run = Command::new(directory.path().join(program)).output();
            assert!(run.expect("the program runs").status.success(), "{program}");
        }
    }
}
