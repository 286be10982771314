//! The number of instructions that a program executes, counted by valgrind's callgrind.

use std::path::Path;
use std::process::Command;

/// Whether valgrind is installed. Prints a message if it is not.
pub fn is_installed() -> bool {
    let is_installed = Command::new("valgrind").arg("--version").output().is_ok();
    if !is_installed {
        println!("skipped: valgrind is not installed, so no instructions are counted");
    }
    is_installed
}

/// A command that runs a program in callgrind. Arguments of the program can be added.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(program);
    command
}

/// Runs the command, and returns the count that callgrind prints at the end.
pub fn instructions(command: &mut Command) -> u64 {
    let output = command.output().expect("valgrind can be run");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let count = message
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.expect("callgrind prints a count");
    count.trim().parse().expect("a number")
}
