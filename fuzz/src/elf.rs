//! Bytes as the file of a module.

use std::fs;
use std::path::PathBuf;

use symbolize::{Avma, FileOffset, Lookup, Mapping, SourceLine, Symbolizer};

const BASE: u64 = 0x7f00_0000_0000;
/// Addresses that are looked up in a file.
const LOOKUPS: usize = 64;

/// There is an answer to every question: frames, or a named miss.
pub fn elf_lookup(bytes: &[u8]) {
    let path = path();
    fs::write(&path, bytes).expect("there is room in the temporary directory");
    let mapping = Mapping {
        start: Avma(BASE),
        end: Avma(BASE + bytes.len() as u64),
        file_offset: FileOffset(0),
        path: path.into_os_string().into_encoded_bytes(),
        build_id: Vec::new(),
    };
    let mut symbolizer = Symbolizer::new(vec![mapping]);
    for offset in (0..bytes.len()).step_by(bytes.len() / LOOKUPS + 1) {
        let address = Avma(BASE + offset as u64);
        for how in [Lookup::ReturnAddress, Lookup::Exact] {
            if let Ok(resolved) = symbolizer.resolve(address, how) {
                assert!(!resolved.frames.is_empty());
            }
        }
    }
    let lines: Vec<_> = (0..8).map(line).collect();
    assert_eq!(symbolizer.functions_at(&lines).len(), lines.len());
}

fn line(line: u32) -> SourceLine {
    SourceLine {
        file: "a.c".to_owned(),
        line,
        column: 0,
    }
}

/// In memory where there is such a place: a file is written for every input.
fn path() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let directory = match memory.is_dir() {
        true => memory,
        false => std::env::temp_dir(),
    };
    directory.join(format!("ctp-fuzz-{}", std::process::id()))
}
