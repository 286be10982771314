//! Coroutines of Boost.Asio, recorded by `ctp_asio.hpp`.

mod branches;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use super::build::{CPP_COMPILERS, Compiler, Linked, lines_of_recorded, package};
use super::misuse::{check_program, recorded_events, source};
use super::page::shows_lines_of;
use crate::support::{line_of, report_json};

const SOURCE: &str = "asio/scenes.cpp";

/// The scenes with exact events.
const SCENES: [&str; 8] = [
    "nested",
    "exceptions",
    "cancellation",
    "branches",
    "destroyed",
    "untraced",
    "channels",
    "threads",
];

/// A program that only compiles with a version of Boost that the header supports.
const HAS_BOOST: &str = "#include <coroutine>
#include <boost/version.hpp>
static_assert(BOOST_VERSION >= 108100);
";

/// Compiles the scenes once, and checks all of them.
fn check(compiler: &Compiler) {
    let directory = tempdir().expect("room");
    if !compiler.accepts(directory.path(), HAS_BOOST) {
        return;
    }
    let Some(program) = compiler.compile(directory.path(), &source(SOURCE), Linked::Static) else {
        return;
    };
    check_program(&program, &SCENES);
    parallel_branches_alternate(&program);
    waits_of_the_server_are_reported(&program);
}

/// Runs and waits alternate, in whichever order the branches of the coroutines complete.
fn parallel_branches_alternate(program: &Path) {
    let directory = tempdir().expect("room");
    lines_of_recorded(directory.path(), program, &["parallel"]);
    let events = recorded_events(directory.path());
    let letters = &events["parallel"];
    assert!(letters.len() > 1000, "{letters}");
    assert_eq!(letters.replace("SR", ""), "BRD".repeat(4), "{letters}");
    let report = report_json(directory.path(), &[]);
    assert_eq!(report["trace"]["broken"], json!([]), "{report}");
}

/// The number after this word in the program's own account.
fn number(account: &[String], word: &str) -> u64 {
    let mut numbers = account.iter().filter_map(|line| line.strip_prefix(word));
    let number = numbers.next().expect("the program prints this word");
    number.trim().parse().expect("a number")
}

/// The group of the coroutines that wait at the line of the scenes with this text.
fn group_at<'j>(groups: &'j Value, text: &str) -> &'j Value {
    group_at_line_of(SOURCE, groups, text)
}

/// The group of the coroutines that wait at the line with this text, of this program.
fn group_at_line_of<'j>(file: &str, groups: &'j Value, text: &str) -> &'j Value {
    let line = line_of(&fs::read_to_string(source(file)).expect("text"), text);
    let mut groups = groups.as_array().expect("a list").iter();
    let found = groups.find(|group| group["line"] == line);
    found.unwrap_or_else(|| panic!("no group at line {line}"))
}

fn waits_of_the_server_are_reported(program: &Path) {
    let directory = tempdir().expect("room");
    let account = lines_of_recorded(directory.path(), program, &["server"]);
    let json = report_json(directory.path(), &["--stuck"]);
    worker_without_jobs_is_stuck(&json, number(&account, "abandoned "));
    client_waits_for_an_answer(&json, number(&account, "unanswered "));
    for (text, name) in [
        ("ctp::reading(socket).idle()", "session"),
        ("ctp::accepting(acceptor)", "listener"),
    ] {
        let group = group_at(&json["waiting"], text);
        assert_eq!(group["names"][0], name, "{group}");
        assert_eq!(group["reason"], "idle", "{group}");
    }
}

fn worker_without_jobs_is_stuck(json: &Value, jobs: u64) {
    let worker = group_at(&json["stuck"], "jobs.async_receive");
    assert_eq!(worker["count"], 1, "{worker}");
    assert_eq!(worker["names"][0], "worker", "{worker}");
    assert_eq!(worker["state"], "NOT_WOKEN", "{worker}");
    assert_eq!(worker["confidence"], "LIKELY", "{worker}");
    let wait = &worker["waits_for"][0];
    assert_eq!(wait["kind"], "channel", "{worker}");
    assert_eq!(wait["resources"][0], jobs, "{worker}");
}

fn client_waits_for_an_answer(json: &Value, fd: u64) {
    let client = group_at(&json["waiting"], "asio::buffer(&answer, 1)");
    assert_eq!(client["count"], 1, "{client}");
    assert_eq!(client["names"][0], "client", "{client}");
    assert_eq!(client["reason"], "nothing-to-read", "{client}");
    let wait = &client["waits_for"][0];
    assert_eq!(wait["kind"], "readable", "{client}");
    assert_eq!(wait["resources"][0], fd, "{client}");
}

#[test]
fn page_shows_lines_of_the_asio_scenes() {
    let scenes = fs::read_to_string(source(SOURCE)).expect("text");
    shows_lines_of(&scenes, "ctp::accepting(acceptor)");
}

/// The program of the figures in `docs/performance.md`, for a single round.
#[test]
fn costs_are_compared_for_each_operation() {
    let directory = tempdir().expect("room");
    let compiler = &CPP_COMPILERS[0];
    if !compiler.accepts(directory.path(), HAS_BOOST) {
        return;
    }
    let source = package().join("examples/asio_cost.cpp");
    let program = compiler.compile(directory.path(), &source, Linked::Static);
    let program = program.expect("the compiler is able to");
    let lines = lines_of_recorded(directory.path(), &program, &["1"]);
    let has_ratio = |line: &&String| line.split_whitespace().last().is_some_and(is_positive);
    assert_eq!(
        lines.iter().skip(1).filter(has_ratio).count(),
        5,
        "{lines:?}"
    );
}

fn is_positive(word: &str) -> bool {
    word.parse().is_ok_and(|ratio: f64| 0.0 < ratio)
}

// CT-12, CT-13, CT-16
#[test]
fn coroutines_of_asio_are_recorded_with_gcc() {
    check(&CPP_COMPILERS[1]);
}

// CT-12, CT-13, CT-16
#[test]
fn coroutines_of_asio_are_recorded_with_clang() {
    check(&CPP_COMPILERS[2]);
}
