//! The examples in C and C++ close three pipes without resuming their readers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Output;

use ctp_trace::Reader;
use ctp_trace::record::Record;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::build::{C_COMPILERS, CPP_COMPILERS, Compiler, Linked, lines_of_recorded, package};
use crate::support::{line_of, record_built, report_json};

/// What an example has, by the text of its lines.
struct Example {
    file: &'static str,
    /// The line where the coroutine is born.
    birth: &'static str,
    /// The line that waits.
    wait: &'static str,
    /// The line that records the close.
    close: &'static str,
    /// The line of the wake.
    wake: &'static str,
}

const IN_C: Example = Example {
    file: "sessions.c",
    birth: "ctp_born(",
    wait: "ctp_suspend(&session->trace",
    close: "ctp_closed(",
    wake: "ctp_wake(",
};

const IN_CPP: Example = Example {
    file: "scheduler.cpp",
    birth: "static task session(",
    wait: "co_await scheduler.until_readable",
    close: "ctp::closed(",
    wake: "waker.wake()",
};

/// The descriptors after this word in the program's own account.
fn descriptors(account: &[String], word: &str) -> BTreeSet<u64> {
    let numbers = account.iter().filter_map(|line| line.strip_prefix(word));
    numbers
        .map(|number| number.trim().parse().expect("a number"))
        .collect()
}

/// The descriptors that these groups wait for.
fn waited_for(groups: &Value) -> BTreeSet<u64> {
    let groups = groups.as_array().expect("a list");
    let waits = groups.iter().flat_map(|group| {
        let waits = group["waits_for"].as_array().expect("a list");
        waits.iter().flat_map(move |wait| {
            assert_eq!(wait["kind"], "readable", "{group}");
            wait["resources"].as_array().expect("a list")
        })
    });
    waits.map(|fd| fd.as_u64().expect("a number")).collect()
}

impl Example {
    fn check(&self, compilers: &[Compiler], linked: Linked) {
        for compiler in compilers {
            let directory = tempdir().expect("room");
            let source = package().join("examples").join(self.file);
            if let Some(program) = compiler.compile(directory.path(), &source, linked) {
                let account = lines_of_recorded(directory.path(), &program, &[]);
                self.is_reported(directory.path(), &account);
            }
        }
    }

    /// Compares the report with the program's own account.
    fn is_reported(&self, directory: &Path, account: &[String]) {
        let source = fs::read_to_string(package().join("examples").join(self.file)).expect("text");
        let json = report_json(directory, &["--stuck"]);
        assert_eq!(
            waited_for(&json["stuck"]),
            descriptors(account, "forgotten")
        );
        assert_eq!(
            waited_for(&json["waiting"]),
            descriptors(account, "waiting")
        );
        let [stuck] = &json["stuck"].as_array().expect("a list")[..] else {
            panic!("{json}");
        };
        assert_eq!(stuck["confidence"], "CERTAIN", "{json}");
        assert_eq!(stuck["state"], "NOT_WOKEN", "{json}");
        assert_eq!(stuck["line"], line_of(&source, self.wait), "{json}");
        assert!(
            stuck["file"]
                .as_str()
                .is_some_and(|file| file.ends_with(self.file))
        );
        let text = stuck.to_string();
        for line in [self.birth, self.close, self.wake] {
            let place = format!("{}:{}", self.file, line_of(&source, line));
            assert!(text.contains(&place), "{place} in {text}");
        }
    }
}

// CT-13, CT-14
#[test]
fn sessions_in_c_that_are_not_resumed_are_stuck() {
    IN_C.check(&C_COMPILERS, Linked::Static);
}

#[test]
fn shared_library_records_the_same() {
    IN_C.check(&C_COMPILERS[..1], Linked::Shared);
}

// CT-13, CT-14
#[test]
fn coroutines_of_cpp_that_are_not_resumed_are_stuck() {
    IN_CPP.check(&CPP_COMPILERS, Linked::Static);
}

/// A recording of the example in C with this flag, in a directory that is kept. `None` without a compiler.
fn recorded_with(flag: &str) -> Option<(TempDir, Output)> {
    let directory = tempdir().expect("room");
    let source = package().join("examples").join(IN_C.file);
    let program = C_COMPILERS[0].compile(directory.path(), &source, Linked::Static)?;
    let recorded = record_built(&[flag], directory.path(), &program, &[]);
    assert!(recorded.status.success(), "{recorded:?}");
    Some((directory, recorded))
}

#[test]
fn flight_recorder_has_sessions_in_c() {
    let Some((directory, recorded)) = recorded_with("--flight-recorder") else {
        return;
    };
    let printed = String::from_utf8_lossy(&recorded.stdout).into_owned();
    let account: Vec<String> = printed.lines().map(str::to_owned).collect();
    let forgotten = descriptors(&account, "forgotten");
    assert_eq!(forgotten.len(), 3, "{printed}");
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(waited_for(&json["stuck"]), forgotten, "{json}");
}

/// Six sessions run until they wait. Two of them run again.
#[test]
fn summary_has_totals_of_sessions_in_c() {
    let Some((directory, _)) = recorded_with("--summary") else {
        return;
    };
    let bytes = fs::read(directory.path().join("ctp.data")).expect("there is a trace");
    let mut totals = BTreeMap::new();
    for record in Reader::new(&bytes).expect("a trace").flatten() {
        if let Record::Aggregate(total) = record {
            totals.insert(total.coroutine, (total.running.count, total.waiting.count));
        }
    }
    let runs_and_waits: Vec<_> = totals.into_values().collect();
    assert_eq!(
        runs_and_waits,
        [(2, 1), (2, 1), (1, 0), (1, 0), (1, 0), (1, 0)]
    );
}

/// `--check-probe` finds no broken rule, and sees what the program does.
#[test]
fn library_keeps_the_rules_of_a_probe() {
    let Some((_, checked)) = recorded_with("--check-probe") else {
        return;
    };
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(!text.contains("FAIL"), "{text}");
    for rule in ["attached", "extension", "event head", "sites", "names"] {
        assert!(
            text.contains(&format!("PASS      {rule}\n")),
            "{rule} in {text}"
        );
    }
}

/// A scheduler of a hundred lines needs eight.
#[test]
fn eight_lines_record_a_scheduler() {
    let source = fs::read_to_string(package().join("examples/scheduler.cpp")).expect("text");
    let marked = source.lines().filter(|line| line.ends_with(" // ctp"));
    assert_eq!(marked.count(), 8);
}
