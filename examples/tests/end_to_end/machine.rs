//! Firmware for a Cortex-M4: the example's programs, built for their target, and run by QEMU.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cortex-m");
const TARGET: &str = "thumbv7em-none-eabihf";

/// The RAM of the programs, as a file.
const RAM: &str = "memory-backend-file,id=ram,size=16M,mem-path=ram.bin,share=on";

/// The machine. Its RAM is a file.
const MACHINE: &str = "mps2-an386,memory-backend=ram";

/// The firmware prints on the terminal.
const SEMIHOSTING: &str = "enable=on,target=native";

/// What users type, too.
pub const TYPED: [&str; 4] = [MACHINE, RAM, SEMIHOSTING, SAME_TIME[1]];

/// Counts time in instructions, so that each run is the same.
pub const SAME_TIME: [&str; 2] = ["-icount", "shift=5,sleep=off"];

/// A running QEMU, which ends with the test.
pub struct Machine {
    qemu: Child,
    output: BufReader<ChildStdout>,
}

/// A program of the example. `None`, with a visible reason, without QEMU or a compiler for the target.
pub fn firmware(name: &str) -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| if has_qemu() { build() } else { None });
    built.as_ref().map(|directory| directory.join(name))
}

fn has_qemu() -> bool {
    let version = Command::new("qemu-system-arm").arg("--version").output();
    if version.is_err() {
        eprintln!("SKIPPED: qemu-system-arm is not installed");
    }
    version.is_ok()
}

/// Builds the programs, and returns their directory.
fn build() -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cortex-m");
    let output = Command::new(env!("CARGO"))
        .current_dir(EXAMPLE)
        .args(["build", "--release", "--locked", "--target", TARGET])
        .arg("--target-dir")
        .arg(&place)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo can be run");
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("target may not be installed") {
        eprintln!("SKIPPED: the target {TARGET} is not installed");
        return None;
    }
    assert!(output.status.success(), "{message}");
    Some(place.join(TARGET).join("release"))
}

/// A source file of the example.
pub fn source(name: &str) -> String {
    std::fs::read_to_string(Path::new(EXAMPLE).join("src").join(name)).expect("the source is there")
}

impl Machine {
    /// Starts QEMU in this directory, in which `ram.bin` is the memory of the firmware.
    pub fn start(firmware: &Path, directory: &Path, options: &[&str]) -> Self {
        let mut qemu = Command::new("qemu-system-arm")
            .args(["-machine", MACHINE, "-object", RAM])
            .args(["-display", "none", "-serial", "none"])
            .args(["-semihosting-config", SEMIHOSTING])
            .args(options)
            .arg("-kernel")
            .arg(firmware)
            .current_dir(directory)
            .stdout(Stdio::piped())
            .spawn()
            .expect("QEMU can be run");
        let output = qemu.stdout.take().map(BufReader::new);
        Machine {
            qemu,
            output: output.expect("it is piped"),
        }
    }

    /// What the firmware prints before the line `done`.
    pub fn lines_until_done(&mut self) -> Vec<String> {
        let lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.take_while(|line| line != "done").collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It has ended, or there is nothing more to do.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}
