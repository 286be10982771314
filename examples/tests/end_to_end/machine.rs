//! Firmware of the examples, built for its target, and run by QEMU.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// The RAM of the firmware, as a file.
const RAM: &str = "memory-backend-file,id=ram,size=16M,mem-path=ram.bin,share=on";

/// The firmware prints on the terminal.
const SEMIHOSTING: &str = "enable=on,target=native";

/// Counts time in instructions, so that each run is the same.
pub const SAME_TIME: [&str; 2] = ["-icount", "shift=5,sleep=off"];

/// A machine that QEMU emulates, and the example with firmware for it.
pub struct Board {
    /// The example's directory.
    example: &'static str,
    target: &'static str,
    qemu: &'static str,
    /// The machine. Its RAM is a file.
    machine: &'static str,
    /// The option before the path of the firmware.
    load: &'static str,
    /// The features of the example's package.
    features: &'static str,
    /// The directory of the built programs. `None` if they cannot be built or run here.
    built: OnceLock<Option<PathBuf>>,
}

/// A Cortex-M4.
pub static CORTEX_M: Board = Board {
    example: "cortex-m",
    target: "thumbv7em-none-eabihf",
    qemu: "qemu-system-arm",
    machine: "mps2-an386,memory-backend=ram",
    load: "-kernel",
    features: "",
    built: OnceLock::new(),
};

/// A RISC-V of 32 bits.
pub static RISCV: Board = riscv("");

/// A RISC-V of 32 bits, and firmware with a ring.
pub static RISCV_WITH_RING: Board = riscv("ring");

const fn riscv(features: &'static str) -> Board {
    Board {
        example: "riscv",
        target: "riscv32imac-unknown-none-elf",
        qemu: "qemu-system-riscv32",
        machine: "virt,memory-backend=ram",
        load: "-bios",
        features,
        built: OnceLock::new(),
    }
}

impl Board {
    /// A program of the example. `None`, with a visible reason, without QEMU or a compiler for the target.
    pub fn firmware(&self, name: &str) -> Option<PathBuf> {
        let built = self
            .built
            .get_or_init(|| if self.has_qemu() { self.build() } else { None });
        built.as_ref().map(|directory| directory.join(name))
    }

    /// A source file of the example.
    pub fn source(&self, name: &str) -> String {
        let path = self.directory().join("src").join(name);
        fs::read_to_string(path).expect("the source is there")
    }

    fn directory(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.example)
    }

    fn has_qemu(&self) -> bool {
        let version = Command::new(self.qemu).arg("--version").output();
        if version.is_err() {
            eprintln!("SKIPPED: {} is not installed", self.qemu);
        }
        version.is_ok()
    }

    /// Builds the programs, and returns their directory.
    fn build(&self) -> Option<PathBuf> {
        let place = [self.example, self.features].join("");
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(place);
        let output = Command::new(env!("CARGO"))
            .current_dir(self.directory())
            .args(["build", "--release", "--locked", "--target", self.target])
            .args(["--features", self.features])
            .arg("--target-dir")
            .arg(&place)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .expect("cargo can be run");
        let message = String::from_utf8_lossy(&output.stderr);
        if message.contains("target may not be installed") {
            eprintln!("SKIPPED: the target {} is not installed", self.target);
            return None;
        }
        assert!(output.status.success(), "{message}");
        Some(place.join(self.target).join("release"))
    }
}

/// A running QEMU, which ends with the test.
pub struct Machine {
    qemu: Child,
    output: BufReader<ChildStdout>,
}

impl Machine {
    /// Starts QEMU in this directory, in which `ram.bin` is the memory of the firmware.
    pub fn start(board: &Board, firmware: &Path, directory: &Path, options: &[&str]) -> Self {
        let mut qemu = Command::new(board.qemu)
            .args(["-machine", board.machine, "-object", RAM])
            .args(["-display", "none", "-serial", "none"])
            .args(["-semihosting-config", SEMIHOSTING])
            .args(options)
            .arg(board.load)
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

#[test]
fn page_on_bare_metal_has_the_options_of_the_tests() {
    let page = include_str!("../../../docs/bare-metal.md");
    let boards = [&CORTEX_M, &RISCV].map(|board| [board.qemu, board.machine, board.load]);
    let options = [RAM, SEMIHOSTING, SAME_TIME[1]];
    for option in boards.as_flattened().iter().chain(&options) {
        assert!(page.contains(option), "{option}");
    }
}
