//! How many events a trace has of each coroutine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ctp_trace::Reader;
use ctp_trace::record::{EventCounts, Record};

/// The counts of each coroutine of the trace in this directory, by name.
pub fn event_counts(directory: &Path) -> BTreeMap<String, EventCounts> {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut names = BTreeMap::new();
    let mut found = BTreeMap::new();
    for record in Reader::new(&bytes).expect("a trace").flatten() {
        match record {
            Record::Birth(birth) => {
                names.insert(birth.coroutine, birth.name);
            }
            Record::EventCounts(counts) => {
                found.insert(names[&counts.coroutine].clone(), counts);
            }
            _ => {}
        }
    }
    found
}
