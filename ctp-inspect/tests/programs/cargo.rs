//! Builds the programs in this folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `tests/programs/PROGRAM` with these arguments of `cargo build`, in a folder of the test's own. Returns the
/// folder with the binaries of this profile.
pub fn build(program: &str, folder: &str, args: &[&str], profile: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["build", "--locked", "--manifest-path"])
        .arg(programs.join(program).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    let output = command.args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    target.join(profile)
}
