//! Follows `docs/c-and-cpp.md`: installs the library, builds the programs of the page with pkg-config
//! and CMake, records, and compares the report with the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::{TempDir, tempdir};

use super::build::{C_COMPILERS, CPP_COMPILERS, install};
use super::header::output_of;
use crate::support::{record_built, report};

const PAGE: &str = include_str!("../../../../docs/c-and-cpp.md");

/// The first block of the page in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE
        .split_once(&format!("```{language}\n"))
        .expect("the page has the block");
    rest.split("```").next().expect("text")
}

/// Checks that the block of the page with this text consists of lines of a program.
pub fn shows_lines_of(program: &str, text: &str) {
    let mut blocks = PAGE.split("```").skip(1).step_by(2);
    let shown = blocks.find(|block| block.contains(text));
    let shown = shown.expect("the page has the block").lines().skip(1);
    let lines: Vec<&str> = program.lines().map(str::trim_end).collect();
    for line in shown.filter(|line| !line.is_empty()) {
        assert!(lines.contains(&line), "{line} is not in the program");
    }
}

/// A home directory in which the library is installed.
fn home() -> TempDir {
    let directory = tempdir().expect("room");
    install(&directory.path().join(".local"));
    directory
}

/// Runs a shell command of the page. False, with a visible reason, without one of these programs.
fn is_run(home: &Path, needed: &[&str], command: &str) -> bool {
    let is_missing = |name: &&&str| Command::new(**name).arg("--version").output().is_err();
    if let Some(name) = needed.iter().find(is_missing) {
        eprintln!("SKIPPED: {name} is not installed");
        return false;
    }
    let mut shell = Command::new("sh");
    shell.current_dir(home).args(["-c", command]);
    shell.env("HOME", home);
    shell.env("PKG_CONFIG_PATH", home.join(".local/lib/pkgconfig"));
    let output = shell.output().expect("sh runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {message}");
    true
}

/// The command of the page that begins with this word.
fn command_of(word: &str) -> &'static str {
    let mut lines = PAGE.lines();
    let command = lines.find(|line| line.starts_with(&format!("{word} ")));
    command.expect("the page has the command")
}

// CT-13, CT-14
#[test]
fn programs_of_the_page_are_reported_as_shown() {
    let directory = home();
    fs::write(directory.path().join("hangs.cpp"), block("cpp")).expect("room");
    let shown = block("text").lines().filter(|line| {
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
    let directory = home();
    let program = format!("{}int main(void) {{ return ctp_attach(); }}\n", block("c"));
    fs::write(directory.path().join("program.c"), program).expect("room");
    if C_COMPILERS[0].is_able(directory.path()) {
        is_run(directory.path(), &["cc", "pkg-config"], command_of("cc"));
    }
}

/// The text of the page with the static library, and with the shared library as its comment says.
#[test]
fn cmake_finds_both_libraries() {
    let text = block("cmake");
    assert!(text.contains("ctp::ctp") && text.contains("ctp::shared"));
    for text in [text.to_owned(), text.replace("ctp::ctp", "ctp::shared")] {
        let directory = home();
        fs::write(directory.path().join("CMakeLists.txt"), text).expect("room");
        fs::write(directory.path().join("hangs.cpp"), block("cpp")).expect("room");
        let command = format!("CXX=g++ {}", command_of("cmake"));
        if has_coroutines("g++") && is_run(directory.path(), &["cmake"], &command) {
            let run = Command::new(directory.path().join("build/hangs")).output();
            assert!(run.expect("the program runs").status.success());
        }
    }
}

/// The file and the links have the names that distributions use.
#[test]
fn shared_library_has_a_version() {
    let directory = home();
    let installed = directory.path().join(".local/lib");
    let link = |name: &str| fs::read_link(installed.join(name)).expect("a link");
    let name = link("libctp.so");
    let file = link(name.to_str().expect("text"));
    assert_eq!(name, Path::new("libctp.so.0.1"));
    assert_eq!(file, Path::new("libctp.so.0.1.0"));
    let library = installed.join(file);
    assert!(library.symlink_metadata().expect("a file").is_file());
    if let Some(dynamic) = output_of(Command::new("readelf").arg("-d").arg(library)) {
        assert!(dynamic.contains("soname: [libctp.so.0.1]"), "{dynamic}");
    }
}
