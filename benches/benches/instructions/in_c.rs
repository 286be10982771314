//! Builds `events.c`, a program that records the same events as the benchmark, in C with the library of `ctp-c`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the library and `events.c`, and returns the path of the program. Without a C compiler, prints a message and
/// returns `None`.
pub fn build_program() -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        println!("skipped: there is no C compiler, so no events in C are counted");
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ctp-c");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--locked"]);
    cargo
        .arg("--manifest-path")
        .arg(root.join("ctp-c/Cargo.toml"));
    run(cargo.arg("--target-dir").arg(&target));
    let program = target.join("events");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-O2", "-o"]).arg(&program);
    cc.arg("-I").arg(root.join("ctp-c/include"));
    cc.arg(root.join("benches/benches/instructions/events.c"));
    run(cc.arg(target.join("release/libctp.a")));
    Some(program)
}

fn run(command: &mut Command) {
    assert!(command.status().expect("can be run").success());
}
