//! `--export ctf`, read by babeltrace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::facts::{Sum, line_of};
use super::{export, export_all, stderr, viewers};
use crate::test_dir::TestDir;

/// An event record, as babeltrace prints it.
struct EventRecord {
    at_ns: u64,
    class: String,
    tid: u64,
    payload: String,
}

impl EventRecord {
    /// Parses a line such as `[123] (+9) host wake: { pid = 1, tid = 2 }, { coroutine = 3, .. }`. The time
    /// is that of the recording, since `--clock-cycles` is used.
    fn parse(line: &str) -> Self {
        let (time, rest) = line[1..].split_once("] ").unwrap();
        let (before, rest) = rest.split_once(": { pid = ").unwrap();
        let (context, payload) = rest.split_once(" }, { ").unwrap();
        EventRecord {
            at_ns: time.parse().unwrap(),
            class: before.rsplit(' ').next().unwrap().to_owned(),
            tid: context.rsplit(' ').next().unwrap().parse().unwrap(),
            payload: payload.to_owned(),
        }
    }

    /// The value of a number, in front of all texts of the program.
    fn number(&self, field: &str) -> Option<u32> {
        let (_, rest) = self.payload.split_once(&format!("{field} = "))?;
        rest.split([',', ' ']).next()?.parse().ok()
    }

    /// The text of a label.
    fn label(&self, field: &str) -> &str {
        let start = format!(", {field} = ( \"");
        let (_, rest) = self.payload.split_once(&start).unwrap();
        rest.split_once("\" : container").unwrap().0
    }

    fn is_stuck(&self) -> bool {
        let verdicts = ["STUCK", "STUCK\\?", "DEADLOCK"];
        self.class == "verdict" && verdicts.contains(&self.label("verdict"))
    }

    /// `session.rs:17`, or nothing for a place without a line.
    fn place(&self) -> String {
        let last = self.label("place").rsplit(' ').next().unwrap_or_default();
        line_of(last)
    }
}

/// The folder of babeltrace with its libraries, if installed.
fn installed() -> Option<PathBuf> {
    let root = viewers().join("babeltrace/root");
    if !cfg!(target_arch = "x86_64") || !root.join("usr/bin/babeltrace2").exists() {
        eprintln!("SKIPPED: no babeltrace");
        return None;
    }
    Some(root)
}

/// Reads all traces below a folder.
fn read(root: &Path, folder: &Path) -> Vec<EventRecord> {
    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    let mut command = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(&libraries);
    command.arg(root.join("usr/bin/babeltrace2"));
    let own = libraries.join("babeltrace2");
    command.env("BABELTRACE_PLUGIN_PATH", own.join("plugins"));
    command.env(
        "LIBBABELTRACE2_PLUGIN_PROVIDER_DIR",
        own.join("plugin-providers"),
    );
    let output = command.arg("--clock-cycles").arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(EventRecord::parse).collect()
}

/// The waits by place. A wait lasts until the next record of the coroutine, which is its verdict if the wait
/// did not end.
fn waits(records: &[EventRecord]) -> BTreeMap<String, Sum> {
    let mut open: BTreeMap<u32, &EventRecord> = BTreeMap::new();
    let mut waits: BTreeMap<String, Sum> = BTreeMap::new();
    let states = [
        "coroutine_run",
        "coroutine_suspend",
        "coroutine_death",
        "verdict",
    ];
    for record in { records.iter() }.filter(|record| states.contains(&&record.class[..])) {
        let id = record.number("coroutine").unwrap();
        if let Some(wait) = open.remove(&id) {
            let sum = waits.entry(wait.place()).or_default();
            *sum = (sum.0 + 1, sum.1 + (record.at_ns - wait.at_ns));
        }
        if record.class == "coroutine_suspend" {
            open.insert(id, record);
        }
    }
    assert!(open.is_empty());
    waits
}

fn ids(records: &[EventRecord], matches: impl Fn(&EventRecord) -> bool) -> BTreeSet<u32> {
    let matching = records.iter().filter(|record| matches(record));
    matching
        .map(|record| record.number("coroutine").unwrap())
        .collect()
}

// CT-20
#[test]
fn event_records_agree_with_the_records() {
    let Some(root) = installed() else {
        return;
    };
    let test_dir = TestDir::new();
    for (trace, facts) in export_all(&test_dir, "ctf") {
        let records = read(&root, &test_dir.path(&trace));
        let of_events = |record: &EventRecord| record.class.starts_with("coroutine_");
        assert_eq!(ids(&records, of_events), facts.coroutines, "{trace}");
        assert_eq!(ids(&records, EventRecord::is_stuck), facts.stuck, "{trace}");
        let wakes = records.iter().filter(|record| record.class == "wake");
        let wakes: BTreeSet<_> = wakes.map(|record| (record.tid, record.at_ns)).collect();
        assert_eq!(wakes, facts.wakes, "{trace}");
        if facts.is_complete {
            assert_eq!(waits(&records), facts.all_waits(), "{trace}");
        }
        let lost: u64 = losses(&records)
            .iter()
            .map(|(.., lost)| u64::from(*lost))
            .sum();
        assert!(
            facts.lost.is_none_or(|known| known == lost),
            "{trace} {lost}"
        );
    }
}

/// Coroutine, time and number of lost events, in the order of time.
fn losses(records: &[EventRecord]) -> Vec<(u32, u64, u32)> {
    let lost = records
        .iter()
        .filter(|record| record.class == "events_lost");
    let lost = lost.map(|record| {
        let [coroutine, lost] = ["coroutine", "lost"].map(|field| record.number(field));
        (coroutine.unwrap(), record.at_ns, lost.unwrap())
    });
    lost.collect()
}

// CT-20
#[test]
fn losses_before_and_after_known_events_are_counted() {
    let Some(root) = installed() else {
        return;
    };
    let test_dir = TestDir::new();
    export(&test_dir, "lossy_ends", "ctf");
    let records = read(&root, &test_dir.path("lossy_ends"));
    let end_ns = records.last().unwrap().at_ns;
    let second_ns = 1_000_000_000;
    let mut found = losses(&records);
    found.sort_unstable();
    let expected = [
        (1, 2 * second_ns, 3),
        (1, 3 * second_ns, 4),
        (1, end_ns, 6),
        (2, end_ns, 1),
    ];
    assert_eq!(found, expected);
    assert!(4 * second_ns < end_ns);
}

// CT-20
#[test]
fn events_that_totals_include_are_not_lost() {
    let Some(root) = installed() else {
        return;
    };
    let test_dir = TestDir::new();
    for (trace, expected) in [("summary", &[][..]), ("mixed", &[(2, 40)])] {
        export(&test_dir, trace, "ctf");
        let found = losses(&read(&root, &test_dir.path(trace)));
        let found: Vec<_> = { found.iter() }.map(|(id, _, lost)| (*id, *lost)).collect();
        assert_eq!(found, expected, "{trace}");
    }
}

// CT-20
#[test]
fn filtered_event_records_are_fewer() {
    let Some(root) = installed() else {
        return;
    };
    let test_dir = TestDir::new();
    let args = ["-i", "lost_wakeup.data", "--export", "ctf", "-o", "some"];
    let some = [&args[..], &["--id", "7", "--time", "100ms,500ms"]].concat();
    let output = test_dir.report(&some);
    assert!(output.status.success(), "{}", stderr(&output));
    let records = read(&root, &test_dir.path("some"));
    assert_eq!(ids(&records, |_| true), BTreeSet::from([7]));
    assert!(
        records
            .iter()
            .all(|record| record.label("name") == "session")
    );
    // The verdict is that at the end.
    let (verdicts, others): (Vec<_>, Vec<_>) =
        { records.iter() }.partition(|record| record.class == "verdict");
    assert_eq!(verdicts.len(), 1);
    assert!(10 < others.len());
    let in_time = |record: &&EventRecord| (100_000_000..=500_000_000).contains(&record.at_ns);
    assert!(others.iter().all(in_time));
}

// CT-20
#[test]
fn a_folder_is_required() {
    let output = TestDir::new().report(&["--export", "ctf"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("-o DIR"), "{}", stderr(&output));
}
