//! Shared by tests: compiled test programs, and their processes.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Compiles `tests/programs/<source>` into a directory. Returns `None` and prints the reason if the
/// compiler is absent or fails.
pub fn compile(directory: &Path, compiler: &str, source: &str, args: &[&str]) -> Option<PathBuf> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let program = directory.join("program");
    let mut command = Command::new(compiler);
    command.args(args).arg(programs.join(source));
    match command.arg("-o").arg(&program).output() {
        Err(error) => eprintln!("SKIPPED: {compiler}: {error}"),
        Ok(output) if !output.status.success() => {
            eprintln!(
                "SKIPPED: {compiler}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(_) => return Some(program),
    }
    None
}

/// A process that is killed at the end.
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that the program prints.
    pub fn line(&mut self) -> String {
        self.lines.next().expect("the program prints more").unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
