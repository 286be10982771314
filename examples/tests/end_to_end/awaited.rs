//! Await chains match the program if it is built with frame pointers. Otherwise there are none, and
//! the report says how to get them.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctp_trace::Reader;
use ctp_trace::record::{CoroutineId, Event, EventKind, Record, SiteId};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::{line_of, program, record, report, report_json};

const PROGRAM: &str = include_str!("../../src/bin/awaited.rs");

/// `function:line` of each, the innermost first, and how many coroutines there are.
type Chains = BTreeMap<String, u64>;

/// In a separate target directory, since all dependencies are built with other flags.
fn built_with_frame_pointers(name: &str) -> PathBuf {
    built_in_package_with_frame_pointers("ctp-examples", name)
}

/// The same for a program of this package.
pub fn built_in_package_with_frame_pointers(package: &str, name: &str) -> PathBuf {
    let target = target().join("frame-pointers");
    built((package, name), &target, "-C force-frame-pointers=yes")
}

fn built_without(name: &str) -> PathBuf {
    built(("ctp-examples", name), &target(), "")
}

fn target() -> PathBuf {
    let profile = program("awaited");
    let target = profile.ancestors().nth(2).expect("in target/<profile>");
    target.to_owned()
}

/// With optimisation, so that most functions are inlined into others.
fn built((package, name): (&str, &str), target: &Path, flags: &str) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "-p", package]);
    // Without what only other programs need.
    cargo.arg("--no-default-features");
    cargo.args(["--bin", name, "--target-dir"]).arg(target);
    cargo.env("RUSTFLAGS", flags);
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS");
    assert!(cargo.status().expect("cargo runs").success());
    target.join("release").join(name)
}

fn record_program(directory: &Path, program: &Path, flags: &[&str]) -> Chains {
    let mut command = Command::new(crate::support::program("ctp-record"));
    command.args(flags).arg("--").arg(program);
    let output = command.current_dir(directory).output();
    let output = output.expect("the recorder runs");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    let chains = text.lines().filter_map(|line| line.split_once(' '));
    count(chains.map(|(_, chain)| (chain.to_owned(), 1)))
}

fn count(all: impl Iterator<Item = (String, u64)>) -> Chains {
    let mut chains = Chains::new();
    all.for_each(|(chain, more)| *chains.entry(chain).or_default() += more);
    chains
}

fn groups(json: &Value) -> impl Iterator<Item = &Value> {
    let of = |view: &str| json[view].as_array().expect("a list").iter();
    of("stuck").chain(of("waiting"))
}

fn short(place: &Value) -> String {
    let function = place["function"].as_str().unwrap_or_default();
    let name = function.rsplit("::").next().unwrap_or_default();
    format!("{name}:{}", place["line"])
}

fn chain(group: &Value) -> String {
    let awaiters = group["awaited_by"]["functions"].as_array();
    let all = [group].into_iter().chain(awaiters.into_iter().flatten());
    all.map(short).collect::<Vec<_>>().join(" ")
}

// CT-13, STB-22
#[test]
fn await_chains_match_the_program() {
    let directory = tempdir().expect("room");
    let program = built_with_frame_pointers("awaited");
    let truth = record_program(directory.path(), &program, &[]);
    assert_eq!(truth.len(), 3, "three ways lead there");
    let json = report_json(directory.path(), &["--stuck"]);
    let of_readers = groups(&json).filter(|group| chain(group).starts_with("read_frame"));
    let found = of_readers.map(|of_reader| {
        assert_eq!(of_reader["awaited_by"]["whole"], true, "{of_reader}");
        let is_until_late = chain(of_reader).contains("until_late");
        assert_eq!(
            of_reader["one_of_several"] == true,
            is_until_late,
            "{of_reader}"
        );
        (chain(of_reader), of_reader["count"].as_u64().unwrap_or(0))
    });
    assert_eq!(count(found), truth, "{json}");
    chains_have_separate_histories(&json);
    what_is_too_long_is_not_shown_as_whole(&json);
    wait_without_a_waker_has_no_old_chain(&json);
    ended_wait_leaves_no_announcement(&json);
    the_main_thread_has_chains_too(directory.path());
}

/// Others were served only where a handshake is awaited, so the waits for a transfer are compared
/// with waits of the same inner calls. Durations depend on the machine.
fn chains_have_separate_histories(json: &Value) {
    let usual = |way: &str| {
        let group = groups(json).find(|group| chain(group).contains(way));
        group.expect("waiting")["usual"].clone()
    };
    let (handshake, transfer) = (usual("handshake"), usual("transfer"));
    assert_eq!(handshake["level"], "chain", "{json}");
    let waits = handshake["waits"].as_u64().unwrap_or(0);
    assert!((1..=20).contains(&waits), "{json}");
    assert_eq!(transfer["level"], "inner-calls", "{json}");
}

fn what_is_too_long_is_not_shown_as_whole(json: &Value) {
    let deep = groups(json).find(|group| chain(group).starts_with("descend"));
    let awaited_by = &deep.expect("waiting")["awaited_by"];
    assert_eq!(awaited_by["whole"], false, "{awaited_by}");
    let functions = awaited_by["functions"].as_array().expect("a list");
    assert!(3 < functions.len(), "{awaited_by}");
    assert!(
        functions
            .iter()
            .all(|function| short(function).starts_with("descend:"))
    );
}

fn wait_without_a_waker_has_no_old_chain(json: &Value) {
    let forsaken = groups(json).find(|group| chain(group).starts_with("forsaken"));
    let forsaken = forsaken.expect("waiting");
    assert_eq!(forsaken["in_function"], true, "{forsaken}");
    assert_eq!(forsaken["usual"]["waits"], Value::Null, "{forsaken}");
}

fn ended_wait_leaves_no_announcement(json: &Value) {
    let turned_away = groups(json).find(|group| chain(group).contains("turn_away:"));
    let turned_away = turned_away.expect("waiting");
    let line = line_of(PROGRAM, "// here, and not for the bell");
    assert_eq!(chain(turned_away), format!("turn_away:{line}"));
    assert_eq!(turned_away["waits_for"], json!([]), "{turned_away}");
}

fn the_main_thread_has_chains_too(directory: &Path) {
    let (sites, chains) = suspends_of(directory, "main");
    assert!(sites.iter().any(|site| chains.contains(site)), "{sites:?}");
}

/// Where all of this name suspended, and which sites have chains.
fn suspends_of(directory: &Path, name: &str) -> (BTreeSet<SiteId>, BTreeSet<SiteId>) {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let (mut ids, mut sites, mut chains) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let is_wait = |event: &Event, ids: &BTreeSet<CoroutineId>| {
        event.kind == EventKind::Suspend && ids.contains(&event.coroutine)
    };
    for record in Reader::new(&bytes).expect("a trace") {
        match record.expect("a complete record") {
            Record::Birth(birth) if birth.name == name => drop(ids.insert(birth.coroutine)),
            Record::Chain(chain) => drop(chains.insert(chain.site)),
            Record::Event(event) if is_wait(&event, &ids) => drop(sites.insert(event.site)),
            _ => {}
        }
    }
    (sites, chains)
}

// CT-13
#[test]
fn flight_recorder_has_chains_unless_calls_are_forbidden() {
    let program = built_with_frame_pointers("awaited");
    let directory = tempdir().expect("room");
    record_program(directory.path(), &program, &["--flight-recorder"]);
    let json = report_json(directory.path(), &["--stuck"]);
    let readers = groups(&json).filter(|group| chain(group).starts_with("read_frame"));
    let ways: BTreeSet<String> = readers.map(chain).collect();
    assert_eq!(ways.len(), 3, "{json}");

    record_program(directory.path(), &program, &["--no-bell"]);
    let json = report_json(directory.path(), &["--stuck"]);
    assert!(
        groups(&json).all(|group| group["awaited_by"] == Value::Null),
        "{json}"
    );
    let (_, chains) = suspends_of(directory.path(), "main");
    assert!(
        !chains.is_empty(),
        "which leaf it is takes no look at the stack"
    );
}

// CT-13
#[test]
fn without_frame_pointers_only_the_leaf_is_known() {
    let directory = tempdir().expect("room");
    let program = built_without("awaited");
    record_program(directory.path(), &program, &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    let (forsaken, others): (Vec<&Value>, Vec<&Value>) =
        groups(&json).partition(|group| chain(group).starts_with("forsaken"));
    for group in &others {
        let within = group["within"].as_str().unwrap_or_default();
        assert!(within.starts_with("tokio::"), "{group}");
        assert_eq!(group["awaited_by"], Value::Null, "{group}");
    }
    let leaves: BTreeSet<&str> = others
        .iter()
        .filter_map(|other| other["within"].as_str())
        .collect();
    assert!(
        1 < leaves.len(),
        "of a stream, a bell, a channel: {leaves:?}"
    );
    assert!(
        forsaken.iter().all(|value| value["within"] == Value::Null),
        "{json}"
    );
}

// CT-13
#[test]
fn kept_waker_has_a_chain_with_precise_chains() {
    let program = built_with_frame_pointers("kept_waker");
    let directory = tempdir().expect("room");
    let last_waits = |flags: &[&str]| {
        let truth = record_program(directory.path(), &program, flags);
        assert_eq!(truth.values().sum::<u64>(), 5, "{truth:?}");
        let json = report_json(directory.path(), &["--stuck", "--threshold", "200ms"]);
        assert!(groups(&json).all(|group| group["one_of_several"] != true));
        // On a busy machine others may be usual, and then their place does not matter.
        let mut stuck = json["stuck"].as_array().expect("a list").iter();
        let is_open = flags.is_empty() && stuck.any(|value| value["in_function"] == true);
        let text = report(directory.path(), &["--stuck", "--threshold", "200ms"]).stdout;
        let text = String::from_utf8(text).expect("text");
        assert_eq!(
            text.contains("ctp-record --precise-chains"),
            is_open,
            "{text}"
        );
        let found =
            groups(&json).map(|group| (awaiting(group), group["count"].as_u64().unwrap_or(0)));
        (count(found), truth)
    };
    let (found, truth) = last_waits(&["--precise-chains"]);
    assert_eq!(found, truth);
    // The first poll of a future that leaves the place open makes the next poll precise.
    let (found, truth) = last_waits(&[]);
    let is_polled = |at: &str| {
        let function = at.split(':').next().unwrap_or_default();
        ["choose", "guard", "quiet", "visit"].contains(&function)
    };
    for at in found.keys() {
        assert!(truth.contains_key(at) || is_polled(at), "{at}: {truth:?}");
    }
    let visit = truth.keys().find(|at| at.starts_with("farewell"));
    assert!(visit.is_some_and(|at| found.contains_key(at)), "{found:?}");
}

/// The two outermost functions, without what a leaf future does to keep a waker.
fn awaiting(group: &Value) -> String {
    let chain = chain(group);
    let mut steps: Vec<&str> = chain.rsplit(' ').take(2).collect();
    steps.reverse();
    steps.join(" ")
}

/// The tasks called `woken_by_*`, and the usual waker of each.
fn usually_woken(json: &Value) -> Chains {
    let usual = groups(json).filter_map(|group| {
        let woken = group["function"].as_str()?.rsplit("::").next()?;
        let waker = waker(&group["usual_waker"])?;
        Some((format!("{woken} {waker}"), 1))
    });
    count(usual.filter(|(woken, _)| woken.starts_with("woken_by_")))
}

/// `function:line` of a usual waker, or `runtime:part`.
fn waker(usual: &Value) -> Option<String> {
    if let Some(part) = usual["runtime"].as_str() {
        return Some(format!("runtime:{part}"));
    }
    let function = usual["function"].as_str()?.rsplit("::").next()?;
    let (_, line) = usual["at"].as_str()?.rsplit_once(':')?;
    Some(format!("{function}:{line}"))
}

// CT-14
#[test]
fn callers_of_wakers_match_the_program() {
    let directory = tempdir().expect("room");
    let program = built_with_frame_pointers("woken_from");
    let mut command = Command::new(crate::support::program("ctp-record"));
    let output = command
        .arg("--")
        .arg(&program)
        .current_dir(directory.path());
    let output = output.output().expect("the recorder runs");
    let truth = String::from_utf8(output.stdout).expect("text");
    let truth = count(truth.lines().map(|line| (line.to_owned(), 1)));
    assert_eq!(truth.len(), 6, "{truth:?}");
    let json = report_json(directory.path(), &["--stuck", "--threshold", "200ms"]);
    assert_eq!(usually_woken(&json), truth, "{json}");
}

// CT-13
#[test]
fn without_frame_pointers_the_report_says_how_to_get_chains() {
    let directory = tempdir().expect("room");
    record(directory.path(), "awaited", &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    for group in groups(&json) {
        assert_eq!(group["awaited_by"], Value::Null, "{group}");
        assert!(!chain(group).starts_with("read_frame"), "{group}");
    }
    let text = report(directory.path(), &["--stuck"]).stdout;
    let text = String::from_utf8(text).expect("text");
    let hint = "to see who awaits whom: build the program with RUSTFLAGS=";
    assert_eq!(text.matches(hint).count(), 1, "{text}");
}

// CT-15
#[test]
#[cfg(all(debug_assertions, target_arch = "x86_64"))] // Otherwise, the leaf is known.
fn hangs_that_need_frame_pointers_do_not_pass() {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    if flags.contains("force-frame-pointers") {
        eprintln!("SKIPPED: the program has frame pointers");
        return;
    }
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_forgotten_permits", &[]);
    let checked = report(directory.path(), &["--stuck", "--fail"]);
    assert_eq!(checked.status.code(), Some(4));
    let page = String::from_utf8(checked.stdout).expect("text");
    let words: Vec<&str> = page.split_whitespace().collect();
    let uncertain = "coroutines wait in functions whose awaits all look like one; build the program \
                     with RUSTFLAGS=\"-C force-frame-pointers=yes\".";
    assert!(words.join(" ").contains(uncertain), "{page}");
}
