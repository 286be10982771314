//! Replays the committed corpus of each fuzz target, on any toolchain. The output names the file that
//! fails.

use std::fs;
use std::path::{Path, PathBuf};

// CTP-28
#[test]
fn every_memory_in_the_corpus_is_handled() {
    replay("region", ctp_fuzz::region);
}

#[test]
fn every_flight_in_the_corpus_is_handled() {
    replay("flight", ctp_fuzz::flight);
}

#[test]
fn every_trace_in_the_corpus_is_handled() {
    replay("read_trace", ctp_fuzz::read_trace);
}

#[test]
fn every_trace_in_the_corpus_is_reported() {
    replay("read_trace", ctp_fuzz::report);
}

#[test]
fn every_maps_text_in_the_corpus_is_handled() {
    replay("parse_mappings", ctp_fuzz::parse_mappings);
}

#[test]
fn every_elf_file_in_the_corpus_is_handled() {
    replay("elf_lookup", ctp_fuzz::elf_lookup);
}

#[test]
fn every_set_of_files_in_the_corpus_is_handled() {
    replay("separate_debug", ctp_fuzz::separate_debug);
}

/// A fuzzer starts from these seeds, because a fuzzer would not find two files that belong together.
#[test]
fn compiler_made_seeds_have_separate_debug_info() {
    let mut seeds = files("separate_debug");
    seeds.retain(|path| path.to_string_lossy().contains("/seed-by-"));
    assert!(!seeds.is_empty(), "no seeds");
    for seed in seeds {
        let functions = ctp_fuzz::functions_of(&fs::read(&seed).expect("can be read"));
        // The function was inlined, so only debug info has the name.
        assert!(functions.contains("twice"), "{}", seed.display());
    }
}

/// Prints the name of each file first, so that the output of a panic has the name.
fn replay(target: &str, run: fn(&[u8])) {
    for file in files(target) {
        println!("{}", file.display());
        run(&fs::read(&file).expect("can be read"));
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
