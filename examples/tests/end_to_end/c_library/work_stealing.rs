//! The example with fibers on worker threads that steal from each other, on Boost.Context.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ctp_trace::Reader;
use ctp_trace::record::{EventKind, Record};
use serde_json::Value;
use tempfile::tempdir;

use super::build::{CPP_COMPILERS, Compiler, lines_of_recorded, package};
use super::misuse::{expected_events, recorded_events};
use super::page::shows_lines_of;
use crate::support::{line_of, record_built, report_json};

const FILE: &str = "work_stealing.cpp";
const FORGOTTEN: usize = 47;

/// A program that only compiles with Boost.Context.
const HAS_BOOST: &str = "#include <coroutine>\n#include <boost/context/fiber.hpp>\n";

fn check(compiler: &Compiler) {
    let directory = tempdir().expect("room");
    let directory = directory.path();
    if !compiler.accepts(directory, HAS_BOOST) {
        return;
    }
    let source = package().join("examples").join(FILE);
    let program = compiler.compile_with(directory, &source, "-lboost_context");
    let account = lines_of_recorded(directory, &program, &[]);
    healthy_fibers_have_their_events(directory, &account);
    runs_have_their_threads(directory, &account);
    forgotten_fibers_are_stuck(directory, &account);
    forgotten_fibers_have_stacks(directory);
    rules_of_a_probe_are_kept(directory, &program);
}

/// The program's own account of its healthy fibers.
fn healthy_fibers_have_their_events(directory: &Path, account: &[String]) {
    let is_healthy = |line: &&String| line.starts_with("healthy-");
    let lines: Vec<String> = account.iter().filter(is_healthy).cloned().collect();
    let expected = expected_events(&lines);
    assert_eq!(expected.len(), 20);
    let mut recorded = recorded_events(directory);
    recorded.retain(|name, _| expected.contains_key(name));
    assert_eq!(recorded, expected);
}

/// The program counts the runs on another thread than that of the fiber's run before.
fn runs_have_their_threads(directory: &Path, account: &[String]) {
    let expected = account
        .iter()
        .find_map(|line| line.strip_prefix("migrations "));
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut runs = BTreeMap::new();
    for record in Reader::new(&bytes).expect("a trace").flatten() {
        if let Record::Event(event) = record
            && event.kind == EventKind::Run
        {
            runs.insert((event.coroutine, event.n), event.tid);
        }
    }
    let runs: Vec<_> = runs.iter().collect();
    let migrations = runs.windows(2).filter(|pair| {
        let [((fiber, _), tid), ((next, _), next_tid)] = pair else {
            return false;
        };
        fiber == next && tid != next_tid
    });
    let migrations = migrations.count();
    assert!(migrations > 5000, "{migrations}");
    assert_eq!(Some(migrations.to_string().as_str()), expected);
}

fn example() -> String {
    fs::read_to_string(package().join("examples").join(FILE)).expect("text")
}

/// A line of the example, as in a report.
fn line(text: &str) -> u64 {
    line_of(&example(), text)
}

fn forgotten_fibers_are_stuck(directory: &Path, account: &[String]) {
    let forgotten = account
        .iter()
        .filter_map(|line| line.strip_prefix("forgotten "));
    let forgotten: BTreeSet<u64> = forgotten.map(|fd| fd.parse().expect("a number")).collect();
    let json = report_json(directory, &["--stuck"]);
    let [stuck] = &json["stuck"].as_array().expect("a list")[..] else {
        panic!("{json}");
    };
    assert_eq!(stuck["count"], FORGOTTEN, "{stuck}");
    assert_eq!(stuck["confidence"], "CERTAIN", "{stuck}");
    assert_eq!(stuck["state"], "NOT_WOKEN", "{stuck}");
    assert_eq!(stuck["line"], line("// waits here"), "{stuck}");
    let wait = &stuck["waits_for"][0];
    assert_eq!(wait["kind"], "readable", "{stuck}");
    let fds = wait["resources"].as_array().expect("a list").iter();
    assert_eq!(
        fds.filter_map(Value::as_u64).collect::<BTreeSet<u64>>(),
        forgotten
    );
    let closed_at = format!("{FILE}:{}", line("ctp::closed("));
    assert!(
        stuck.to_string().contains(&closed_at),
        "{closed_at} in {stuck}"
    );
}

/// The functions of the program, from the switch to the function that serves the connection.
fn forgotten_fibers_have_stacks(directory: &Path) {
    let json = report_json(directory, &["--stacks"]);
    let expected = [
        ("switch_to_worker", line("ctp_suspend_with_stack_at(")),
        ("read_request", line("// waits here")),
        ("serve", line("// serves here")),
    ];
    let tasks = json["tasks"].as_array().expect("a list").iter();
    let stacks = tasks.filter(|task| task["name"] == "connection");
    let has_all = |stack: &Value| {
        let frames = stack["frames"].as_array().expect("a stack");
        let positions = expected.map(|expected| frames.iter().position(|f| is_frame(f, expected)));
        positions.iter().all(Option::is_some) && positions.is_sorted()
    };
    let complete = stacks.filter(|stack| has_all(stack)).count();
    assert_eq!(complete, FORGOTTEN, "{json}");
}

fn is_frame(frame: &Value, (function, line): (&str, u64)) -> bool {
    let name = frame["function"].as_str();
    name.is_some_and(|name| name.starts_with(function)) && frame["line"] == line
}

fn rules_of_a_probe_are_kept(directory: &Path, program: &Path) {
    let checked = record_built(&["--check-probe"], directory, program, &[]);
    assert!(checked.status.success(), "{checked:?}");
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(!text.contains("FAIL"), "{text}");
    assert!(text.contains("PASS      own thread"), "{text}");
}

#[test]
fn page_shows_lines_of_the_scheduler() {
    shows_lines_of(&example(), "ctp_suspend_with_stack_at(&self->trace");
}

// CT-14, STB-04
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn stealing_workers_are_recorded_with_gcc() {
    check(&CPP_COMPILERS[1]);
}

// CT-14, STB-04
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn stealing_workers_are_recorded_with_clang() {
    check(&CPP_COMPILERS[3]);
}
