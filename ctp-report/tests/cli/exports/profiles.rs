//! `--export pprof`, read by `go tool pprof`, and `--export speedscope`, compared with its definition and
//! opened by speedscope in a browser.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::Deserialize;

use super::facts::{Facts, Sum};
use super::{export, export_all, stderr};
use crate::test_dir::TestDir;

/// Waits by place, and runs.
type Totals = (BTreeMap<String, Sum>, Sum);

fn expected(facts: &Facts) -> Totals {
    (facts.all_waits(), facts.all_runs())
}

/// Whether `go tool pprof` is installed.
fn has_pprof() -> bool {
    let output = Command::new("go").args(["tool", "-n", "pprof"]).output();
    let is_there = output.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("SKIPPED: no go tool pprof");
    }
    is_there
}

fn pprof(test_dir: &TestDir, args: &[&str]) -> String {
    let mut command = Command::new("go");
    command.args(["tool", "pprof"]).args(args);
    let output = command.current_dir(test_dir.path("")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Reads the text of `pprof -raw`: samples with their locations, then the locations.
fn pprof_totals(raw: &str) -> Totals {
    let (samples, locations) = raw.split_once("\nLocations\n").unwrap();
    let (_, samples) = samples.split_once("[dflt]").unwrap();
    let places: BTreeMap<&str, String> = locations.lines().filter_map(location).collect();
    let (mut waits, mut runs) = (BTreeMap::new(), (0, 0));
    for line in samples.lines().skip(1) {
        let Some((values, stack)) = line.split_once(": ") else {
            continue;
        };
        let values: Vec<u64> = values
            .split_whitespace()
            .map_while(|value| value.parse().ok())
            .collect();
        let [count, ns, run_count, run_ns] = values[..] else {
            continue;
        };
        runs = (runs.0 + run_count, runs.1 + run_ns);
        if 0 < count {
            let mut stack = stack.split_whitespace();
            let place = stack.find_map(|id| places.get(id).filter(|place| !place.is_empty()));
            let sum: &mut Sum = waits.entry(place.cloned().unwrap_or_default()).or_default();
            *sum = (sum.0 + count, sum.1 + ns);
        }
    }
    (waits, runs)
}

/// The id of a location, and its place as `session.rs:17`.
fn location(line: &str) -> Option<(&str, String)> {
    let (id, rest) = line.split_once(": ")?;
    let (before_column, _) = rest.rsplit_once(" s=0")?;
    let at = before_column.rsplit(' ').next()?;
    let at = at.rsplit('/').next()?;
    let is_place = !at.starts_with(':') && !at.ends_with(":0");
    Some((
        id.trim(),
        if is_place {
            at.to_owned()
        } else {
            String::new()
        },
    ))
}

// CT-20
#[test]
fn pprof_values_agree_with_the_records() {
    if !has_pprof() {
        return;
    }
    let test_dir = TestDir::new();
    for (trace, facts) in export_all(&test_dir, "pprof") {
        let raw = pprof(&test_dir, &["-raw", &trace]);
        assert_eq!(pprof_totals(&raw), expected(&facts), "{trace}: {raw}");
    }
}

/// The frames of a stack, as indices, the outermost first.
type Numbers = Vec<usize>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Speedscope {
    #[serde(rename = "$schema")]
    schema: String,
    shared: Shared,
    profiles: Vec<Profile>,
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "activeProfileIndex")]
    _active: usize,
    #[serde(rename = "exporter")]
    _exporter: String,
}

#[derive(Deserialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Profile {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    unit: String,
    start_value: u64,
    end_value: u64,
    samples: Vec<Numbers>,
    weights: Vec<u64>,
}

/// Reads the fields that the definition of the format requires, and no others.
fn speedscope(bytes: &[u8]) -> Speedscope {
    let document: Speedscope = serde_json::from_slice(bytes).unwrap();
    assert_eq!(
        document.schema,
        "https://www.speedscope.app/file-format-schema.json"
    );
    for profile in &document.profiles {
        assert_eq!(
            (profile.kind.as_str(), profile.unit.as_str()),
            ("sampled", "nanoseconds")
        );
        assert_eq!(profile.start_value, 0);
        assert_eq!(profile.end_value, profile.weights.iter().sum::<u64>());
        assert_eq!(profile.samples.len(), profile.weights.len());
        let mut frames = profile.samples.iter().flatten();
        assert!(frames.all(|frame| *frame < document.shared.frames.len()));
    }
    document
}

/// The time of a profile by the place of its innermost function with a line.
fn ns_by_place(document: &Speedscope, name: &str) -> BTreeMap<String, u64> {
    let mut profiles = document.profiles.iter();
    let profile = profiles
        .find(|profile| profile.name.starts_with(name))
        .unwrap();
    let mut sums = BTreeMap::new();
    for (stack, ns) in profile.samples.iter().zip(&profile.weights) {
        let frames = stack
            .iter()
            .rev()
            .map(|frame| &document.shared.frames[*frame]);
        let place = frames.filter_map(|frame| {
            let file = frame.file.as_deref()?.rsplit('/').next()?;
            Some(format!("{file}:{}", frame.line?))
        });
        let place = { place }.next().unwrap_or_default();
        *sums.entry(place).or_default() += ns;
    }
    sums
}

// CT-20
#[test]
fn speedscope_weights_agree_with_the_records() {
    let test_dir = TestDir::new();
    for (trace, facts) in export_all(&test_dir, "speedscope") {
        let document = speedscope(&fs::read(test_dir.path(&trace)).unwrap());
        let (waits, runs) = expected(&facts);
        let waits: BTreeMap<String, u64> = waits
            .into_iter()
            .map(|(place, (_, ns))| (place, ns))
            .filter(|(_, ns)| 0 < *ns)
            .collect();
        assert_eq!(ns_by_place(&document, "waiting"), waits, "{trace}");
        let running = ns_by_place(&document, "running");
        assert_eq!(running.values().sum::<u64>(), runs.1, "{trace}");
    }
}

// CT-20
#[test]
fn speedscope_marks_stuck_waits() {
    let test_dir = TestDir::new();
    // In the second, the program drops the stuck coroutines in order to end.
    for trace in ["lost_wakeup", "shutdown"] {
        export(&test_dir, trace, "speedscope");
        let document = speedscope(&fs::read(test_dir.path(trace)).unwrap());
        let mut frames = document.shared.frames.iter();
        assert!(
            frames.any(|frame| frame.name.starts_with("(STUCK")),
            "{trace}"
        );
    }
}

// CT-20
#[test]
fn pprof_labels_name_coroutines_and_verdicts() {
    if !has_pprof() {
        return;
    }
    let test_dir = TestDir::new();
    for (trace, count, name) in [("lost_wakeup", 47, "session"), ("shutdown", 3, "reader")] {
        export(&test_dir, trace, "pprof");
        let focus = "-tagfocus=verdict=STUCK";
        let stuck = pprof(&test_dir, &["-raw", focus, trace]);
        let (waits, _) = pprof_totals(&stuck);
        assert_eq!(waits.values().map(|sum| sum.0).sum::<u64>(), count);
        assert!(stuck.contains(&format!("coroutine:[{name}]")), "{stuck}");
    }
}
