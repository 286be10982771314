//! Shared by tests: compiled test programs, and their processes.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ctp_inspect::threads::{ThreadSample, ThreadState, procfs};

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

/// A core file by gdb, which does not end the process. Returns `None` and prints the reason if that
/// fails.
pub fn core_by_gdb(directory: &Path, pid: u32) -> Option<PathBuf> {
    let mut command = Command::new("gcore");
    command
        .arg("-o")
        .arg(directory.join("core"))
        .arg(pid.to_string());
    let output = command.output();
    let core = directory.join(format!("core.{pid}"));
    if core.exists() {
        return Some(core);
    }
    eprintln!("SKIPPED: gcore: {output:?}");
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

    /// The program's input, if it is a pipe.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The next line that the program prints.
    pub fn line(&mut self) -> String {
        self.lines.next().expect("the program prints more").unwrap()
    }
}

impl Running {
    /// Waits until the process has ended.
    pub fn wait(mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A thread of `blocked.rs`: its id, how it blocks, and the return addresses outside of `block`.
pub struct Truth {
    pub tid: u32,
    pub way: String,
    pub addresses: Vec<u64>,
}

impl Truth {
    pub fn parse(line: &str) -> Self {
        let mut words = line.strip_prefix("thread ").unwrap().split(' ');
        Truth {
            tid: words.next().unwrap().parse().unwrap(),
            way: words.next().unwrap().to_owned(),
            addresses: words
                .map(|word| u64::from_str_radix(word, 16).unwrap())
                .collect(),
        }
    }
}

/// The sample of a thread once it is blocked in its call rather than on its way there.
pub fn blocked(pid: u32, tid: u32) -> ThreadSample {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut before = None;
    loop {
        let sample = procfs::sample(pid, tid);
        let is_blocked =
            |sample: &ThreadSample| matches!(sample.state, ThreadState::Blocked { .. });
        if sample == before && sample.as_ref().is_some_and(is_blocked) {
            return sample.unwrap();
        }
        assert!(Instant::now() < deadline, "{sample:?}");
        before = sample;
        std::thread::sleep(Duration::from_millis(50));
    }
}
