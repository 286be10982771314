//! The probes in `docs/write-a-probe.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Lab;

/// The page's blocks of C: the plain probe, its `main`, and then, piece by piece, the extension
/// with its own `main`.
fn blocks() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/write-a-probe.md");
    let page = fs::read_to_string(path).expect("the page");
    let blocks = page.split("```c\n").skip(1);
    blocks
        .filter_map(|block| block.split("```").next().map(str::to_owned))
        .collect()
}

/// The plain probe without a `main`.
pub fn library() -> String {
    blocks().swap_remove(0)
}

/// The plain probe.
pub fn plain() -> String {
    blocks()[..2].concat()
}

/// The extension, without a `main`.
pub fn extension() -> String {
    let mut blocks = blocks();
    blocks.pop();
    blocks.split_off(2).concat()
}

/// The plain probe with the extension. The test does not wait for the lost wake.
pub fn extended() -> String {
    let source = [&blocks()[..1], &blocks()[2..]].concat().concat();
    source.replace("i < 600", "i < 300")
}

/// Compiles a program, unless this machine has no C compiler.
pub fn compile(lab: &Lab, source: &str) -> Option<PathBuf> {
    fs::write(lab.path("probe.c"), source).expect("can be written");
    let program = lab.path("probe");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-pthread", "-Wall", "-Wextra"]);
    cc.args(["-Wno-unused", "-o"]);
    match cc.arg(&program).arg(lab.path("probe.c")).status() {
        Ok(status) => assert!(status.success(), "the probe compiles"),
        Err(error) => {
            eprintln!("SKIPPED: no C compiler: {error}");
            return None;
        }
    }
    Some(program)
}
