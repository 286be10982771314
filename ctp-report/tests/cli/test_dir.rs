//! A directory with all traces, in which tests run the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

use crate::traces;

pub struct TestDir(TempDir);

/// Where the expected pages are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/view")
}

impl TestDir {
    /// All traces and the source file that they name.
    pub fn new() -> Self {
        let test_dir = tempfile::tempdir().unwrap();
        for (name, bytes) in traces::all() {
            fs::write(test_dir.path().join(format!("{name}.data")), bytes).unwrap();
        }
        fs::create_dir(test_dir.path().join("src")).unwrap();
        fs::copy(
            folder().join("src/session.rs"),
            test_dir.path().join("src/session.rs"),
        )
        .unwrap();
        let test_dir = TestDir(test_dir);
        test_dir.date("src/session.rs", 1_760_000_000);
        test_dir
    }

    /// Makes a file as old as that, in seconds since 1970: the traces are of 2026.
    pub fn date(&self, name: &str, unix_seconds: u64) {
        let file = fs::File::options()
            .append(true)
            .open(self.path(name))
            .unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(unix_seconds);
        file.set_modified(time).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program, to be run here.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctp-report"));
        command.current_dir(self.0.path()).args(args);
        command
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("CLICOLOR");
        command
    }

    pub fn report(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The output of a run that must succeed.
    pub fn text(&self, args: &[&str]) -> String {
        let output = self.report(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}
