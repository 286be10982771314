//! Interprets the input as the files of a program with separate debug info.
//!
//! The input is a list of files: for each the word `FILE`, a digit that selects one of [`FILES`], and
//! the content.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use symbolize::{Mapping, SearchPaths};

use crate::elf::{look_up, mapping, own_path};

/// Paths below the directory that stands for `/`. The committed programs have this build id.
const FILES: [&str; 6] = [
    "app",
    "app.debug",
    "usr/lib/debug/.build-id/ab/cd0102.debug",
    "common.dwz",
    "a.dwo",
    "app.dwp",
];
const PROGRAM: usize = 0;
const LINKED: usize = 1;

const SEPARATOR: &[u8] = b"FILE";
/// The name of the linked file as `.gnu_debuglink` pads it; the checksum of that file follows.
const LINK: &[u8] = b"app.debug\0\0\0";

/// Checks that every lookup returns an answer, however the files refer to each other.
pub fn separate_debug(bytes: &[u8]) {
    functions_of(bytes);
}

/// Returns the names of all functions found.
pub fn functions_of(bytes: &[u8]) -> BTreeSet<String> {
    let mut files = split(bytes);
    seal(&mut files);
    let root = own_path();
    fs::create_dir_all(&root).expect("the temporary directory can be written");
    write(&root, &files);
    let mapping = Mapping {
        path: b"/app".to_vec(),
        ..mapping(files[PROGRAM].len())
    };
    let functions = look_up(mapping, SearchPaths::below(root.clone()));
    fs::remove_dir_all(root).expect("the directory is still there");
    functions
}

/// The content of each file; empty if the input does not have the file.
fn split(bytes: &[u8]) -> [Vec<u8>; FILES.len()] {
    let mut files = [const { Vec::new() }; FILES.len()];
    let mut rest = bytes;
    while let Some(start) = find(rest, SEPARATOR) {
        rest = &rest[start + SEPARATOR.len()..];
        let end = find(rest, SEPARATOR).unwrap_or(rest.len());
        if let Some((digit, content)) = rest[..end].split_first() {
            let which = usize::from(digit.wrapping_sub(b'0'));
            files[which % FILES.len()] = content.to_vec();
        }
    }
    files
}

/// Writes the checksum of the linked file into the program, since a fuzzer would not find the checksum.
fn seal(files: &mut [Vec<u8>; FILES.len()]) {
    let checksum = crc32fast::hash(&files[LINKED]).to_le_bytes();
    let program = &mut files[PROGRAM];
    let Some(at) = find(program, LINK).map(|at| at + LINK.len()) else {
        return;
    };
    if let Some(room) = program.get_mut(at..at + checksum.len()) {
        room.copy_from_slice(&checksum);
    }
}

fn find(bytes: &[u8], requested: &[u8]) -> Option<usize> {
    bytes
        .windows(requested.len())
        .position(|window| window == requested)
}

fn write(root: &Path, files: &[Vec<u8>; FILES.len()]) {
    for (name, content) in FILES.iter().zip(files) {
        if content.is_empty() {
            continue;
        }
        let path = root.join(name);
        let directory = path.parent().expect("all lie below the root");
        fs::create_dir_all(directory).expect("the temporary directory can be written");
        fs::write(&path, content).expect("there is room in the temporary directory");
    }
}
