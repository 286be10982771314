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
fn every_flight_of_the_corpus_is_survived() {
    replay("flight", ctp_fuzz::flight);
}

#[test]
fn every_trace_of_the_corpus_is_survived() {
    replay("read_trace", ctp_fuzz::read_trace);
}

#[test]
fn every_trace_of_the_corpus_is_reported() {
    replay("read_trace", ctp_fuzz::report);
}

#[test]
fn every_text_of_maps_of_the_corpus_is_survived() {
    replay("parse_mappings", ctp_fuzz::parse_mappings);
}

#[test]
fn every_elf_file_of_the_corpus_is_survived() {
    replay("elf_lookup", ctp_fuzz::elf_lookup);
}

#[test]
fn every_set_of_files_of_the_corpus_is_survived() {
    replay("separate_debug", ctp_fuzz::separate_debug);
}

/// A fuzzer starts from them: it would not find two files that belong together.
#[test]
fn the_debug_info_apart_is_found_in_every_set_that_a_compiler_wrote() {
    let mut seeds = files("separate_debug");
    seeds.retain(|path| path.to_string_lossy().contains("/seed-by-"));
    assert!(!seeds.is_empty(), "there are such sets");
    for seed in seeds {
        let functions = ctp_fuzz::functions_of(&fs::read(&seed).expect("can be read"));
        // It was inlined: no symbol has its name.
        assert!(functions.contains("twice"), "{}", seed.display());
    }
}

/// The test names the file before it is read: a panic says which one it was.
fn replay(target: &str, survive: fn(&[u8])) {
    for file in files(target) {
        println!("{}", file.display());
        survive(&fs::read(&file).expect("can be read"));
    }
}

fn files(target: &str) -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let entries = fs::read_dir(&corpus).expect("there is a corpus");
    let paths = entries.map(|entry| entry.expect("can be listed").path());
    let mut files: Vec<_> = paths.collect();
    assert!(files.len() > 3, "{} is there", corpus.display());
    files.sort();
    files
}
