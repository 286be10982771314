//! `ctp-record --core` and `ctp-report` on core files of a tokio program that links no probe.

use std::path::Path;
use std::process::Command;

use tempfile::{TempDir, tempdir};

use crate::support::{report, report_json};
use crate::unprobed::{Program, built, finding, findings, inspect};

/// Starts the program so that the kernel may write a core file into this directory.
fn start_with_cores(mode: &str, directory: &Path) -> Program {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited; exec \"$0\" \"$@\""]);
    shell.arg(built()).current_dir(directory);
    Program::start_by(shell, mode)
}

/// A core file by gdb. Returns `None` and prints the reason if there is no gdb.
fn core_by_gdb(mode: &str) -> Option<(TempDir, String)> {
    core_of(&Program::start(mode))
}

fn core_of(program: &Program) -> Option<(TempDir, String)> {
    let directory = tempdir().expect("room");
    let pid = program.0.id().to_string();
    let mut gcore = Command::new("gcore");
    let gcore = gcore.args(["-o", "core", &pid]);
    let output = gcore.current_dir(directory.path()).output();
    let name = format!("core.{pid}");
    if directory.path().join(&name).exists() {
        return Some((directory, name));
    }
    eprintln!("SKIPPED: gcore: {output:?}");
    None
}

/// A core file by the kernel, which writes one if it is configured to do that.
fn core_by_kernel() -> Option<(TempDir, String)> {
    let directory = tempdir().expect("room");
    let mut program = start_with_cores("all", directory.path());
    let pid = program.0.id();
    let status = Command::new("kill")
        .args(["-ABRT", &pid.to_string()])
        .status();
    assert!(status.expect("kill runs").success());
    program.0.wait().expect("it ends");
    let names = ["core".to_owned(), format!("core.{pid}")];
    let Some(name) = names
        .into_iter()
        .find(|name| directory.path().join(name).exists())
    else {
        eprintln!("SKIPPED: the kernel writes no core file into the directory of the process");
        return None;
    };
    Some((directory, name))
}

// CT-18
#[test]
fn faults_are_named_from_core_files() {
    for (directory, name) in [core_by_gdb("all"), core_by_kernel()].into_iter().flatten() {
        let printed = inspect(&directory, &["--core", &name]);
        assert!(
            printed.contains("7 tasks look stuck, 1 thread is blocked"),
            "{printed}"
        );
        let json = report_json(directory.path(), &["--stuck"]);
        let expected = [
            finding("DEADLOCK", "deadlock", 2),
            finding("STUCK?", "no-waker", 5),
            finding("BUSY", "in-call", 1),
        ];
        assert_eq!(findings(&json), expected, "{json}");
        let tasks = json["tasks"].as_array().expect("tasks").iter();
        let mut busy = tasks.filter(|task| task["verdict"] == "BUSY");
        assert!(
            busy.all(|task| task["confidence"] == "LIKELY"),
            "one moment does not show that a call lasts: {json}"
        );
        let page = report(directory.path(), &["--stuck"]).stdout;
        let page = String::from_utf8(page).expect("text");
        assert!(page.starts_with("# core file: core"), "{page}");
    }
}

/// The program has moved since, and its new path is relative.
#[test]
fn a_moved_program_is_found_by_a_relative_path() {
    let moved = tempdir().expect("room");
    let program = moved.path().join("program");
    std::fs::copy(built(), &program).expect("room");
    let running = Program::start_by(Command::new(&program), "deadlock");
    let Some((directory, name)) = core_of(&running) else {
        return;
    };
    drop(running);
    std::fs::rename(program, directory.path().join("moved")).expect("the same file system");
    inspect(&directory, &["--core", &name, "--elf", "moved"]);
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(findings(&json), [finding("DEADLOCK", "deadlock", 2)]);
    let page = report(directory.path(), &["--stacks"]).stdout;
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("unprobed::main "), "{page}");
}

#[test]
fn healthy_tasks_in_a_core_file_wait() {
    let Some((directory, name)) = core_by_gdb("waits") else {
        return;
    };
    let printed = inspect(&directory, &["--core", &name]);
    assert!(printed.contains("nothing looks stuck"), "{printed}");
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(findings(&json), [], "{json}");
}

#[test]
fn a_cut_core_file_gives_less_and_says_so() {
    let Some((directory, name)) = core_by_gdb("all") else {
        return;
    };
    let path = directory.path().join(&name);
    let file = std::fs::File::options().write(true).open(path);
    let file = file.expect("can be written");
    let bytes = file.metadata().expect("it exists").len();
    file.set_len(bytes / 2).expect("can be cut");
    let printed = inspect(&directory, &["--core", &name]);
    assert!(printed.contains("The core file is cut: "), "{printed}");
    let status = report(directory.path(), &["--stuck", "--fail"]).status;
    assert_ne!(status.code(), Some(0), "what is missing may be stuck");
}
