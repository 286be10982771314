//! `--export otlp`, decoded by the descriptors in OpenTelemetry's own Python package.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::facts::Sum;
use super::{export_all, python, read_by};
use crate::test_dir::TestDir;

/// What the script prints.
#[derive(Deserialize)]
struct Spans {
    coroutines: Vec<u32>,
    stuck: BTreeSet<u32>,
    waits: BTreeMap<String, Sum>,
    /// The coroutines that a link names.
    links: BTreeSet<u32>,
    errors: Vec<String>,
}

// CT-20
#[test]
fn spans_agree_with_the_records() {
    let packages = "opentelemetry.proto.trace.v1.trace_pb2, google.protobuf.json_format";
    let Some(python) = python(packages) else {
        return;
    };
    let test_dir = TestDir::new();
    let facts = export_all(&test_dir, "otlp");
    let traces: Vec<String> = facts.keys().cloned().collect();
    let read = read_by(&python, "read_otlp.py", &test_dir, &traces);
    let read: BTreeMap<String, Spans> = serde_json::from_value(read).unwrap();
    for (trace, spans) in &read {
        let facts = &facts[trace];
        assert_eq!(spans.errors, [""; 0], "{trace}");
        let shown: BTreeSet<u32> = spans.coroutines.iter().copied().collect();
        assert_eq!(shown.len(), spans.coroutines.len(), "{trace}");
        assert_eq!(shown, facts.coroutines, "{trace}");
        assert_eq!(spans.stuck, facts.stuck, "{trace}");
        assert!(spans.links.is_subset(&facts.wakers), "{trace}");
        if facts.is_complete {
            assert_eq!(spans.waits, facts.all_waits(), "{trace}");
        }
    }
    assert!(read.values().any(|spans| !spans.links.is_empty()));
}
