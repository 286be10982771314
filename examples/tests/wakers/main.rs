//! Wakers of traced futures, on executors that know nothing of it: each wake is counted once and
//! reaches the executor once, and who has no waker left is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ctp_trace::Reader;
use ctp_trace::record::{CoroutineId, Record};
use tempfile::tempdir;

/// What is known of a coroutine: wakes, and wakers that are alive, if it is not over.
type Account = (u32, Option<u32>);

/// By name.
type Accounts = BTreeMap<String, Account>;

fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.parent().and_then(Path::parent);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "ctp-record", "-p", "ctp-examples"]);
    cargo.args(["--bin", "ctp-record", "--example", "wakers"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success());
    profile.expect("in target/<profile>/deps").to_owned()
}

/// With leaf futures that may keep a waker, and with those that have to clone each.
const MODES: [&[&str]; 2] = [&[], &["--precise-chains"]];

fn record(directory: &Path, executor: &str, flags: &[&str]) -> Output {
    let profile = built();
    let mut command = Command::new(profile.join("ctp-record"));
    command
        .args(flags)
        .arg("--")
        .arg(profile.join("examples/wakers"));
    let output = command.arg(executor).current_dir(directory).output();
    output.expect("the recorder runs")
}

/// What the program says: only those that were shy, or whose wakers were kept or dropped, live on.
fn noted_accounts(output: &Output) -> Accounts {
    let text = String::from_utf8_lossy(&output.stdout);
    let account = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        let wakes = words.next()?.parse().ok()?;
        let wakers = words.next()?.parse().ok()?;
        let is_over = name.starts_with("busy");
        Some((name, (wakes, (!is_over).then_some(wakers))))
    };
    text.lines().filter_map(account).collect()
}

fn traced(directory: &Path) -> Accounts {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut names: BTreeMap<CoroutineId, String> = BTreeMap::new();
    let mut accounts = Accounts::new();
    for record in Reader::new(&bytes).expect("a trace") {
        match record.expect("it is whole") {
            Record::Birth(birth) => {
                accounts.insert(birth.name.clone(), (0, None));
                names.insert(birth.coroutine, birth.name);
            }
            Record::Wake(wake) => {
                let account = accounts.get_mut(&names[&wake.coroutine]);
                account.expect("it was born").0 = wake.count;
            }
            Record::EventCounts(event_counts) => {
                assert!(!event_counts.inexact && event_counts.attempted == event_counts.recorded);
                let account = accounts.get_mut(&names[&event_counts.coroutine]);
                account.expect("it was born").1 = event_counts.wakers;
            }
            _ => {}
        }
    }
    accounts.remove("around"); // of those the program tells nothing
    accounts
}

fn both(executor: &str, flags: &[&str]) -> [Accounts; 2] {
    let directory = tempdir().expect("room");
    let output = record(directory.path(), executor, flags);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    let noted_accounts = noted_accounts(&output);
    assert!(20 < noted_accounts.len(), "{message}");
    [noted_accounts, traced(directory.path())]
}

fn every_wake_is_counted_on(executor: &str) {
    for flags in MODES {
        let [noted_accounts, traced] = both(executor, flags);
        assert_eq!(noted_accounts, traced, "{flags:?}");
    }
}

// CT-15
#[test]
fn on_tokio() {
    every_wake_is_counted_on("tokio");
}

#[test]
fn on_smol() {
    every_wake_is_counted_on("smol");
}

#[test]
fn as_children_of_one_future() {
    every_wake_is_counted_on("unordered");
}

#[test]
fn on_a_custom_executor() {
    every_wake_is_counted_on("own");
}

#[test]
fn inside_another_traced_future() {
    every_wake_is_counted_on("nested");
}

fn alive(accounts: &Accounts) -> Vec<(String, Option<u32>)> {
    let wakers = |(name, (_, wakers)): (&String, &Account)| (name.clone(), *wakers);
    accounts.iter().map(wakers).collect()
}

/// What an earlier poll was given wakes whom it woke, and is not counted as a wake of the coroutine.
#[test]
fn on_an_executor_with_a_new_waker_each_poll() {
    for flags in MODES {
        let [noted_accounts, traced] = both("fickle", flags);
        assert_eq!(alive(&noted_accounts), alive(&traced), "{flags:?}");
        let wakes =
            |accounts: &Accounts| -> u32 { accounts.values().map(|(wakes, _)| wakes).sum() };
        assert!(wakes(&traced) < wakes(&noted_accounts), "some came late");
    }
}

/// Its wakers wake nobody, and there being none says nothing.
#[test]
fn on_an_executor_that_polls_everything() {
    for flags in MODES {
        let [noted_accounts, traced] = both("noop", flags);
        for (name, (wakes, wakers)) in traced {
            assert_eq!(wakers, None, "{name}");
            let most = noted_accounts[&name].0;
            assert!(wakes <= most, "{name}: some may come when it is over");
        }
    }
}
