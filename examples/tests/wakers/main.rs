//! Wakers of traced futures, on executors without support for them: each wake is counted once and
//! reaches the executor once, and coroutines without a waker are known.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ctp_trace::Reader;
use ctp_trace::record::{CoroutineId, Record};
use tempfile::tempdir;

/// The report on a coroutine: wakes, and live wakers if the coroutine has not ended.
type Account = (u32, Option<u32>);

/// By name.
type Accounts = BTreeMap<String, Account>;

fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.parent().and_then(Path::parent);
    let mut cargo = Command::new(env!("CARGO"));
    // The whole workspace, so that nothing is compiled again for other features.
    cargo.args(["build", "--quiet", "--workspace"]);
    cargo.args(["--bin", "ctp-record", "--example", "wakers"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success());
    profile.expect("in target/<profile>/deps").to_owned()
}

/// With leaf futures that may keep a waker, and with leaf futures that clone at each poll.
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

/// The program's account: only coroutines whose wakers were kept, dropped or never given out are
/// alive.
fn logged_accounts(output: &Output) -> Accounts {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?.to_owned();
            let wakes = words.next()?.parse().ok()?;
            let wakers = words.next()?.parse().ok()?;
            let is_over = name.starts_with("busy");
            Some((name, (wakes, (!is_over).then_some(wakers))))
        })
        .collect()
}

fn traced(directory: &Path) -> Accounts {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut names: BTreeMap<CoroutineId, String> = BTreeMap::new();
    let mut accounts = Accounts::new();
    for record in Reader::new(&bytes).expect("a trace") {
        match record.expect("a complete record") {
            Record::Birth(birth) => {
                accounts.insert(birth.name.clone(), (0, None));
                names.insert(birth.coroutine, birth.name);
            }
            Record::Wake(wake) => {
                let account = accounts.get_mut(&names[&wake.coroutine]);
                account.expect("born before").0 = wake.count;
            }
            Record::EventCounts(event_counts) => {
                assert!(!event_counts.inexact && event_counts.attempted == event_counts.recorded);
                let account = accounts.get_mut(&names[&event_counts.coroutine]);
                account.expect("born before").1 = event_counts.wakers;
            }
            _ => {}
        }
    }
    accounts.remove("around"); // the program prints nothing about those
    accounts
}

fn both(executor: &str, flags: &[&str]) -> [Accounts; 2] {
    let directory = tempdir().expect("room");
    let output = record(directory.path(), executor, flags);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    let logged_accounts = logged_accounts(&output);
    assert!(20 < logged_accounts.len(), "{message}");
    [logged_accounts, traced(directory.path())]
}

fn every_wake_is_counted_on(executor: &str) {
    for flags in MODES {
        let [logged_accounts, traced] = both(executor, flags);
        assert_eq!(logged_accounts, traced, "{flags:?}");
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
    accounts
        .iter()
        .map(|(name, (_, wakers))| (name.clone(), *wakers))
        .collect()
}

/// A waker of an earlier poll wakes its own target, and does not count as a wake of the coroutine.
#[test]
fn on_an_executor_with_a_new_waker_each_poll() {
    for flags in MODES {
        let [logged_accounts, traced] = both("fickle", flags);
        assert_eq!(alive(&logged_accounts), alive(&traced), "{flags:?}");
        let wakes =
            |accounts: &Accounts| -> u32 { accounts.values().map(|(wakes, _)| wakes).sum() };
        assert!(wakes(&traced) < wakes(&logged_accounts), "some came late");
    }
}

/// Its wakers wake nothing, and their absence proves nothing.
#[test]
fn on_an_executor_that_polls_everything() {
    for flags in MODES {
        let [logged_accounts, traced] = both("noop", flags);
        for (name, (wakes, wakers)) in traced {
            assert_eq!(wakers, None, "{name}");
            let most = logged_accounts[&name].0;
            assert!(wakes <= most, "{name}: some may come when it is over");
        }
    }
}
