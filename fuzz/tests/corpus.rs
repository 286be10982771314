//! What the fuzzers found worth keeping is survived, on any toolchain. A file that was survived
//! once and is not any more fails here by its name.

use std::fs;
use std::path::{Path, PathBuf};

// CTP-28
#[test]
fn every_memory_of_the_corpus_is_survived() {
    replay("region", ctp_fuzz::region);
}

#[test]
fn every_trace_of_the_corpus_is_survived() {
    replay("read_trace", ctp_fuzz::read_trace);
}

#[test]
fn every_text_of_maps_of_the_corpus_is_survived() {
    replay("parse_mappings", ctp_fuzz::parse_mappings);
}

#[test]
fn every_elf_file_of_the_corpus_is_survived() {
    replay("elf_lookup", ctp_fuzz::elf_lookup);
}

/// The test names the file before it is read: a panic says which one it was.
fn replay(target: &str, survive: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let files = files(&corpus);
    assert!(files.len() > 3, "{} is there", corpus.display());
    for file in files {
        println!("{}", file.display());
        survive(&fs::read(&file).expect("can be read"));
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("there is a corpus");
    let paths = entries.map(|entry| entry.expect("can be listed").path());
    let mut files: Vec<_> = paths.collect();
    files.sort();
    files
}
