//! A directory for each test, in which the recorder runs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::trace::Trace;

/// A test's own directory, the working directory of all its programs.
pub struct Lab(TempDir);

/// What a run left behind.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Nothing here takes so long, on however slow a machine: what does, hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

impl Lab {
    pub fn new() -> Self {
        Lab(TempDir::with_prefix("ctp-test-").expect("a directory can be made"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The lines of a truth file, each in words.
    pub fn truth(&self, name: &str) -> Vec<Vec<String>> {
        self.read(name)
            .lines()
            .map(|line| line.split(' ').map(str::to_owned).collect())
            .collect()
    }

    /// `ctp-record FLAGS -- PROGRAM`, in this directory; arguments of the program are added.
    pub fn recorder(&self, flags: &[&str], program: impl AsRef<OsStr>) -> Command {
        let mut command = self.bare_recorder();
        command.args(flags).arg("--").arg(program);
        command
    }

    /// `ctp-record`, in this directory, reading nothing and writing to `stdout` and `stderr`.
    pub fn bare_recorder(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_ctp-record"))
    }

    /// Any program, in this directory.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let create = |name| File::create(self.path(name)).expect("can be made");
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .env("TMPDIR", self.0.path())
            .stdin(Stdio::null())
            .stdout(create("stdout"))
            .stderr(create("stderr"));
        for name in ["CTP_SHM_PATH", "CTP_SOCK_PATH", "CTP_MAX_STATIONS"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, command: &mut Command) -> Outcome {
        let child = command.spawn().expect("can be started");
        self.outcome(child)
    }

    /// Waits for the end of what was started from a command of this directory.
    pub fn outcome(&self, mut child: Child) -> Outcome {
        let mut status = None;
        wait_until("the end of a run", || {
            status = child.try_wait().expect("can be waited for");
            status.is_some()
        });
        let text = |name| {
            let bytes = fs::read(self.path(name)).expect("was made");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Outcome {
            status: status.expect("it ended"),
            stdout: text("stdout"),
            stderr: text("stderr"),
        }
    }

    /// Records one of the programs in `examples/`, which must exit with 0.
    pub fn record(&self, flags: &[&str], example: &str, arguments: &[&str]) -> Outcome {
        let outcome = self.run(self.recorder(flags, fixture(example)).args(arguments));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        outcome
    }

    pub fn trace(&self) -> Trace {
        Trace::read(&self.path("ctp.data"))
    }

    /// Waits until a program has written this line to this file.
    pub fn wait_for_line(&self, name: &str, line: &str) {
        wait_until(&format!("line {line:?} in {name}"), || {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            text.lines().any(|found| found == line)
        });
    }

    /// Waits until a shell has written a number to this file. The shell makes the file before it writes the line.
    pub fn wait_for_number(&self, name: &str) -> u32 {
        let mut number = None;
        wait_until(&format!("a number in {name}"), || {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            number = text.strip_suffix('\n').and_then(|line| line.parse().ok());
            number.is_some()
        });
        number.expect("was just found")
    }

    pub fn wait_for_file(&self, name: &str) {
        wait_until(name, || self.path(name).exists());
    }
}

/// A program of `examples/`, which cargo puts beside the tests.
pub fn fixture(name: &str) -> PathBuf {
    let me = std::env::current_exe().expect("has a path");
    let profile = me.parent().and_then(Path::parent).expect("lies in deps/");
    profile.join("examples").join(name)
}

pub fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < TIMEOUT, "waited in vain for {what}");
        sleep(Duration::from_millis(2));
    }
}

pub fn send(signal: Signal, to: u32) {
    let pid = Pid::from_raw(to as i32).expect("is a process id");
    kill_process(pid, signal).expect("is there");
}

/// Waits for the only child of this process.
pub fn only_child(of: u32) -> u32 {
    let list = format!("/proc/{of}/task/{of}/children");
    let mut child = None;
    wait_until("a child", || {
        let text = fs::read_to_string(&list).unwrap_or_default();
        child = text
            .split_whitespace()
            .next()
            .and_then(|pid| pid.parse().ok());
        child.is_some()
    });
    child.expect("was just found")
}

/// Waits for the program of this recorder. Until its exec the child is a fork of the recorder
/// itself, which is not recorded.
pub fn program_of(recorder: u32) -> u32 {
    let program = only_child(recorder);
    wait_until("the program", || {
        let environment = fs::read(format!("/proc/{program}/environ")).unwrap_or_default();
        let mut entries = environment.split(|&byte| byte == 0);
        entries.any(|entry| entry.starts_with(b"CTP_SOCK_PATH="))
    });
    program
}

/// CLOCK_MONOTONIC now.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How often a test of chance tries its luck.
pub fn runs(default: usize) -> usize {
    match std::env::var("CTP_RUNS") {
        Ok(runs) => runs.parse().expect("CTP_RUNS is a number"),
        Err(_) => default,
    }
}
