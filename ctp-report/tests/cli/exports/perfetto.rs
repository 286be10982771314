//! `--export perfetto`, decoded by the descriptors in Perfetto's own Python package.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::facts::Sum;
use super::{export_all, python, read_by};
use crate::test_dir::TestDir;

/// What the script prints.
#[derive(Deserialize)]
struct Tracks {
    /// Tracks of coroutines in the order of the viewer.
    coroutines: Vec<u32>,
    stuck: BTreeSet<u32>,
    waits: BTreeMap<String, Sum>,
    runs: Sum,
    /// Thread, time, time of the run and coroutine of each arrow.
    arrows: Vec<(u64, u64, u64, u32)>,
    errors: Vec<String>,
}

// CT-20
#[test]
fn perfetto_tracks_agree_with_the_records() {
    let Some(python) = python("perfetto.protos.perfetto.trace.perfetto_trace_pb2") else {
        return;
    };
    let test_dir = TestDir::new();
    let facts = export_all(&test_dir, "perfetto");
    let traces: Vec<String> = facts.keys().cloned().collect();
    let read = read_by(&python, "read_perfetto.py", &test_dir, &traces);
    let read: BTreeMap<String, Tracks> = serde_json::from_value(read).unwrap();
    for (trace, tracks) in read {
        let facts = &facts[&trace];
        assert_eq!(tracks.errors, [""; 0], "{trace}");
        let shown: BTreeSet<u32> = tracks.coroutines.iter().copied().collect();
        assert_eq!(shown, facts.coroutines, "{trace}");
        assert_eq!(tracks.stuck, facts.stuck, "{trace}");
        assert!(are_first(&tracks.coroutines, &tracks.stuck), "{trace}");
        let calls = tracks.arrows.iter().map(|arrow| (arrow.0, arrow.1));
        assert!(
            calls.collect::<BTreeSet<_>>().is_subset(&facts.wakes),
            "{trace}"
        );
        if facts.is_complete {
            assert_eq!(tracks.waits, facts.waits, "{trace}");
            assert_eq!(tracks.runs, facts.runs, "{trace}");
        }
    }
}

/// Whether the coroutines that are stuck come before all others, apart from those that are busy.
fn are_first(order: &[u32], stuck: &BTreeSet<u32>) -> bool {
    let last = order.iter().rposition(|id| stuck.contains(id));
    last.is_none_or(|last| last < stuck.len() + 3)
}
