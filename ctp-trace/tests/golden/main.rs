//! Traces of every version of the format stay readable, and keep their meaning.
//!
//! Each `*.ctp` here has a `*.txt` with its content. If a change breaks these tests:
//!
//! - Never overwrite an existing file. Users have traces like it, and a reader that cannot read this
//!   file cannot read theirs. Fix the reader.
//! - A field that was added to a record does not appear in the text of old traces: give the field
//!   the value that old traces are to have, and leave [`dump`] alone.
//! - A change of the written bytes needs new files with a new prefix (`v1.3-`, `v2-`). Read "How this
//!   may change" in `FORMAT.md` first.
//!
//! `CTP_BLESS=1 cargo test -p ctp-trace --test golden` writes only files that do not exist yet.

mod dump;
#[path = "../roundtrip/frames.rs"]
mod frames;
mod make;

use std::fs;
use std::path::{Path, PathBuf};

use ctp_trace::record::{End, Record};
use ctp_trace::{Reader, format};
use dump::dump;

const FORMAT: &str = include_str!("../../FORMAT.md");

#[test]
fn old_traces_mean_what_they_meant() {
    bless();
    let traces = traces();
    assert!(traces.len() > make::ALL.len());
    for trace in traces {
        let bytes = fs::read(&trace).expect("a golden trace");
        let text = fs::read_to_string(trace.with_extension("txt")).expect("a golden text");
        assert_eq!(dump(&bytes), text, "{}", trace.display());
    }
}

#[test]
fn the_format_document_has_the_written_version() {
    let (major, minor) = (format::MAJOR, format::MINOR);
    let title = format!("# Format of a trace, version {major}.{minor}");
    assert_eq!(FORMAT.lines().next(), Some(title.as_str()));
}

#[test]
fn an_added_field_is_absent_from_old_traces() {
    bless();
    assert_eq!(end_of("v1-everything.ctp").faulting_tid, 0);
    assert_eq!(end_of("v1.1-everything.ctp").faulting_tid, 701);
    assert_eq!(end_of("v1.1-everything.ctp").unrecorded, 0);
    assert_eq!(end_of("v1.3-minimal.ctp").unrecorded, 0);
    assert_eq!(end_of("v1.3-unrecorded.ctp").unrecorded, 3);
    assert_eq!(end_of("v1.4-watermark.ctp").records, 0);
    let counted = end_of("v1.5-counted.ctp");
    assert_eq!((counted.unrecorded, counted.records), (0, 1));
    let is_precise = |name: &str| {
        let bytes = fs::read(directory().join(name)).expect("a golden trace");
        let reader = Reader::new(&bytes).expect("a start");
        reader.start().precise_chains
    };
    assert!(!is_precise("v1.1-everything.ctp") && !is_precise("v1.2-chains.ctp"));
    assert!(is_precise("v1.2-precise-chains.ctp"));
}

fn end_of(name: &str) -> End {
    let bytes = fs::read(directory().join(name)).expect("a golden trace");
    match Reader::new(&bytes).expect("a start").last() {
        Some(Ok(Record::End(end))) => end,
        other => panic!("no end: {other:?}"),
    }
}

/// Small chunks are not compressed, so these bytes depend on the format only.
#[test]
fn written_bytes_have_not_changed() {
    bless();
    let golden = fs::read(directory().join("v1.6-minimal.ctp")).expect("a golden trace");
    assert_eq!(make::minimal(), golden);
}

#[test]
fn the_example_in_the_format_document_is_a_trace() {
    bless();
    let golden = fs::read(directory().join("v1.6-minimal.ctp")).expect("a golden trace");
    let example = FORMAT.split("\n## Example\n").nth(1).expect("a section");
    let lines = example
        .split("```")
        .nth(1)
        .expect("a listing")
        .lines()
        .skip(1);
    let mut bytes = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let (offset, rest) = line.split_once("  ").expect("an offset");
        assert_eq!(usize::from_str_radix(offset, 16), Ok(bytes.len()), "{line}");
        let hex = rest.split("  ").next().expect("bytes");
        bytes.extend(
            hex.split(' ')
                .map(|digits| u8::from_str_radix(digits, 16).expect("two digits")),
        );
    }
    assert_eq!(bytes, golden);
}

fn bless() {
    if std::env::var_os("CTP_BLESS").is_none() {
        return;
    }
    for (name, make) in make::ALL {
        let trace = directory().join(name);
        if !trace.exists() {
            let version = format!("v{}.{}-", format::MAJOR, format::MINOR);
            assert!(name.starts_with(&version), "{name} cannot be made any more");
            let bytes = make();
            fs::write(trace.with_extension("txt"), dump(&bytes)).expect("a writable directory");
            fs::write(&trace, bytes).expect("a writable directory");
        }
    }
}

fn traces() -> Vec<PathBuf> {
    let entries = fs::read_dir(directory()).expect("the directory of this file");
    entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ctp"))
        .collect()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}
