//! Builds and runs the program to inspect.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cargo;

/// Builds the program with these arguments of `cargo build`.
pub fn build(args: &[&str], profile: &str) -> PathBuf {
    cargo::build("tokio", "awaiting", args, profile).join("awaiting")
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
