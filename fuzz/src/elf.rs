//! Interprets the input as the file of a module.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use symbolize::{Avma, FileOffset, Lookup, Mapping, SearchPaths, SourceLine, Symbolizer};

const BASE: u64 = 0x7f00_0000_0000;
/// The number of addresses that are looked up in a file.
const LOOKUPS: usize = 256;

/// Checks that every lookup returns frames or a miss.
pub fn elf_lookup(bytes: &[u8]) {
    let path = own_path();
    fs::write(&path, bytes).expect("there is room in the temporary directory");
    let mapping = Mapping {
        path: path.as_os_str().as_encoded_bytes().to_vec(),
        ..mapping(bytes.len())
    };
    look_up(mapping, SearchPaths::recorded());
    fs::remove_file(path).expect("the file is still there");
}

/// The mapping of a whole file, without a path.
pub(crate) fn mapping(length: usize) -> Mapping {
    Mapping {
        start: Avma(BASE),
        end: Avma(BASE + length as u64),
        file_offset: FileOffset(0),
        path: Vec::new(),
        build_id: Vec::new(),
    }
}

/// Looks up addresses throughout the mapping, and lines. Returns the names of all functions found.
pub(crate) fn look_up(mapping: Mapping, search_paths: SearchPaths) -> BTreeSet<String> {
    let Avma(end) = mapping.end;
    let length = (end - BASE) as usize;
    let mut named = BTreeSet::new();
    let mut symbolizer = Symbolizer::with_search_paths(vec![mapping], search_paths);
    for offset in (0..length).step_by(length / LOOKUPS + 1) {
        let address = Avma(BASE + offset as u64);
        symbolizer.keeps_frame_pointer(address);
        for how in [Lookup::ReturnAddress, Lookup::Exact] {
            symbolizer.can_follow_frame_pointer(address, how);
            if let Ok(resolved) = symbolizer.resolve(address, how) {
                assert!(!resolved.frames.is_empty());
                let functions = resolved
                    .frames
                    .iter()
                    .filter_map(|symbol| symbol.function.as_deref());
                named.extend(functions.map(str::to_owned));
            }
        }
    }
    let lines: Vec<_> = (0..8).map(line).collect();
    assert_eq!(symbolizer.functions_at(&lines).len(), lines.len());
    named
}

fn line(line: u32) -> SourceLine {
    SourceLine {
        file: "a.c".to_owned(),
        line,
        column: 0,
    }
}

/// A path for a file or a directory that only this thread uses.
pub(crate) fn own_path() -> PathBuf {
    let thread = std::thread::current().id();
    directory().join(format!("ctp-fuzz-{}-{thread:?}", std::process::id()))
}

/// A directory in memory if possible, since every input is written to a file.
fn directory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    }
}
