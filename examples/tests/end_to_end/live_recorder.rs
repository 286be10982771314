//! The recorder of firmware that runs meanwhile.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::{Board, Machine};
use crate::support::program;

/// A running recorder.
pub struct LiveRecorder(Child);

impl LiveRecorder {
    /// Starts the recorder with these options, in this directory.
    pub fn start(directory: &Path, options: &[&str], firmware: &Path) -> Self {
        let recorder = Command::new(program("ctp-record"))
            .args(options)
            .arg("--elf")
            .arg(firmware)
            .current_dir(directory)
            .stderr(Stdio::piped())
            .spawn();
        LiveRecorder(recorder.expect("the recorder starts"))
    }

    /// Waits until the recording has begun.
    pub fn wait_for_trace(&mut self, directory: &Path) {
        let given_up = Instant::now() + Duration::from_secs(60);
        while !directory.join("ctp.data").exists() {
            assert!(Instant::now() < given_up, "no recording has begun");
            assert!(self.0.try_wait().expect("a child").is_none());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the recording by a signal.
    pub fn end(self) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.expect("kill can be run").success());
        let output = self.0.wait_with_output().expect("the recorder ends");
        assert!(output.status.success(), "{output:?}");
    }
}

/// Runs firmware in real time, and follows its mapped memory. Returns what the firmware prints.
pub fn record_followed(board: &Board, firmware: &Path, directory: &Path) -> Vec<String> {
    program("ctp-record"); // built before the firmware runs
    let mut machine = Machine::start(board, firmware, directory, &[]);
    while !directory.join("ram.bin").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let options = ["--image", "ram.bin", "--follow"];
    let mut recorder = LiveRecorder::start(directory, &options, firmware);
    let lines = machine.lines_until_done();
    recorder.wait_for_trace(directory);
    recorder.end();
    lines
}
