//! `--export firefox`, read by Mozilla's own command line tool for such profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::Value;

use super::facts::{Sum, line_of};
use super::{export_all, stderr, viewers};
use crate::test_dir::TestDir;

/// Some of the traces, since each starts a process that loads the profile.
const LOADED: [&str; 5] = ["closed", "deadlock", "family", "torn", "hostile"];

/// How often the tool may find that its server has not started within the half second that it waits.
const ATTEMPTS: u32 = 60;

/// A marker as the tool prints it. Times are in milliseconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    name: String,
    category: String,
    start: f64,
    duration: Option<f64>,
    data: BTreeMap<String, Value>,
    thread_name: String,
}

impl Marker {
    fn text(&self, field: &str) -> &str {
        self.data[field].as_str().unwrap()
    }

    /// The number of the coroutine, if this is its row.
    fn id(&self) -> Option<u32> {
        let id = self.name.strip_prefix("id ")?.split(' ').next()?;
        id.parse().ok()
    }

    fn is_wait(&self) -> bool {
        self.id().is_some() && self.text("details").contains("waits_for ")
    }

    fn is_stuck(&self) -> bool {
        self.category == "stuck" && !self.text("details").contains("verdict BUSY")
    }

    /// `session.rs:17`, or nothing for a place without a line.
    fn place(&self) -> String {
        let last = self.text("what").rsplit(' ').next().unwrap_or_default();
        line_of(last)
    }

    fn thread_and_start(&self) -> (&str, u64) {
        (&self.thread_name, (self.start * 1e6).round() as u64)
    }

    fn length_ns(&self) -> u64 {
        (self.duration.unwrap_or_default() * 1e6).round() as u64
    }
}

/// The tool, if installed.
struct Profiler {
    script: PathBuf,
}

impl Profiler {
    fn installed() -> Option<Self> {
        let modules = viewers().join("node_modules");
        let script = modules.join("@firefox-devtools/profiler-cli/dist/profiler-cli.js");
        if !script.exists() {
            eprintln!("SKIPPED: no profiler-cli of Firefox");
            return None;
        }
        Some(Profiler { script })
    }

    fn output(&self, test_dir: &TestDir, args: &[&str]) -> Output {
        let mut command = Command::new(viewers().join("node_modules/node/bin/node"));
        command.arg(&self.script).args(args);
        command.env("HOME", test_dir.path(""));
        command.env("PROFILER_CLI_LOAD_TIMEOUT_MS", "300000");
        command.current_dir(test_dir.path("")).output().unwrap()
    }

    /// The output of a command, repeated while the server of the tool is still starting.
    fn run(&self, test_dir: &TestDir, args: &[&str]) -> Vec<u8> {
        for _ in 0..ATTEMPTS {
            let output = self.output(test_dir, args);
            let errors = stderr(&output);
            if output.status.success() || errors.contains("is already running") {
                return output.stdout;
            }
            let is_starting = ["did not become ready", "not yet", "loading"];
            assert!(
                is_starting.iter().any(|text| errors.contains(text)),
                "{args:?}: {errors}"
            );
        }
        panic!("{args:?}: the server does not start");
    }

    fn markers(&self, test_dir: &TestDir, trace: &str) -> Vec<Marker> {
        #[derive(Deserialize)]
        struct Found {
            markers: Vec<Marker>,
        }
        self.run(test_dir, &["load", trace, "--session", trace]);
        let list = [
            "profile",
            "markers",
            "--limit",
            "1000000",
            "--json",
            "--session",
            trace,
        ];
        let found = self.run(test_dir, &list);
        self.run(test_dir, &["stop", trace]);
        serde_json::from_slice::<Found>(&found).unwrap().markers
    }
}

// CT-20
#[test]
fn markers_agree_with_the_records() {
    let Some(profiler) = Profiler::installed() else {
        return;
    };
    let test_dir = TestDir::new();
    let facts = export_all(&test_dir, "firefox");
    let mut threads = BTreeSet::new();
    for trace in LOADED {
        let (facts, markers) = (&facts[trace], profiler.markers(&test_dir, trace));
        let coroutines: BTreeSet<u32> = markers.iter().filter_map(Marker::id).collect();
        assert!(coroutines.is_subset(&facts.coroutines), "{trace}");
        let stuck = markers.iter().filter(|marker| marker.is_stuck());
        let stuck: BTreeSet<u32> = stuck.filter_map(Marker::id).collect();
        assert_eq!(stuck, facts.stuck, "{trace}");
        let mut waits: BTreeMap<String, Sum> = BTreeMap::new();
        for wait in markers.iter().filter(|marker| marker.is_wait()) {
            let sum = waits.entry(wait.place()).or_default();
            *sum = (sum.0 + 1, sum.1 + wait.length_ns());
        }
        let wakes = { markers.iter() }.filter(|marker| marker.text("what").starts_with("wakes "));
        let wakes: BTreeSet<_> = wakes.map(Marker::thread_and_start).collect();
        assert!(wakes.len() <= facts.wakes.len(), "{trace}");
        if facts.is_complete {
            assert_eq!(waits, facts.all_waits(), "{trace}");
            assert_eq!(coroutines, facts.coroutines, "{trace}");
        }
        let own = markers.iter().map(|marker| marker.thread_name.clone());
        threads.extend(own);
    }
    assert!(2 < threads.len(), "{threads:?}");
}
