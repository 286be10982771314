//! Builds and runs the program to inspect.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Builds the program with these arguments of `cargo build`.
pub fn build(args: &[&str], profile: &str) -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tokio/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("awaiting");
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["build", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target);
    let output = command.args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    target.join(profile).join("awaiting")
}

/// The program, and what it printed.
pub struct Program {
    pub process: Child,
    pub headers: HashMap<String, u64>,
    pub lines: HashMap<String, u32>,
}

impl Program {
    pub fn run(path: &Path) -> Self {
        let mut process = Command::new(path).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (mut headers, mut lines) = (HashMap::new(), HashMap::new());
        for line in output.lines() {
            let line = line.unwrap();
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["task", name, header] => {
                    headers.insert(name.to_owned(), header.parse().unwrap());
                }
                ["line", name, number] => {
                    lines.insert(name.to_owned(), number.parse().unwrap());
                }
                _ => break,
            }
        }
        Self {
            process,
            headers,
            lines,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
