//! What the reporter says of the extended probe in `docs/write-a-probe.md`, which is in C.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{line_of, program, report_json};
use serde_json::{Value, json};
use tempfile::tempdir;

const PAGE: &str = include_str!("../../../docs/write-a-probe.md");

/// The page's blocks of C, without the second, which is the `main` of the plain probe.
fn source() -> String {
    let blocks = PAGE.split("```c\n").skip(1);
    let code = blocks.filter_map(|block| block.split("```").next());
    let of_extension = code.enumerate().filter(|(index, _)| *index != 1);
    of_extension.map(|(_, code)| code).collect()
}

/// Compiles and records the probe, unless this machine has no C compiler.
fn is_recorded(directory: &Path) -> bool {
    fs::write(directory.join("probe.c"), source()).expect("room");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-pthread", "-o", "probe", "probe.c"]);
    match cc.current_dir(directory).status() {
        Ok(status) => assert!(status.success(), "the probe compiles"),
        Err(error) => {
            eprintln!("SKIPPED: no C compiler: {error}");
            return false;
        }
    }
    let mut recorder = Command::new(program("ctp-record"));
    let recorder = recorder.current_dir(directory).args(["--", "./probe"]);
    assert!(recorder.status().expect("the recorder runs").success());
    true
}

/// Of the only group: its line, its state, and what it waits for.
fn facts(group: &Value) -> Value {
    json!([group["line"], group["state"], group["waits_for"]])
}

fn fact(line: &str, kind: &str, resources: &[u64]) -> Value {
    let waits_for = json!([{"kind": kind, "resources": resources}]);
    json!([line_of(&source(), line), "NOT_WOKEN", waits_for])
}

#[test]
fn c_probe_with_a_lost_wake_is_reported_with_line_and_wait() {
    let directory = tempdir().expect("room");
    if !is_recorded(directory.path()) {
        return;
    }
    let json = report_json(directory.path(), &["--stuck"]);
    let list = |what: &str| -> Vec<Value> {
        let groups = json[what].as_array().expect("a list");
        groups.iter().map(facts).collect()
    };
    let reader = fact("suspend(t, (Wait){HERE, descriptor", "readable", &[13]);
    assert_eq!(list("stuck"), [reader], "{json}");
    let ticker = fact("suspend(&ticker", "timer", &[]);
    let sender = fact("suspend(&sender", "channel", &[7]);
    assert_eq!(list("waiting"), [ticker, sender], "{json}");
    assert_eq!(json["stuck"][0]["count"], 1);
    // 6 named ones and 600 brief ones, in a few reused stations.
    assert_eq!(json["trace"]["coroutines"], 606);
}
