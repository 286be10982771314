//! `ctp-record -p` on a program in a container: another root directory and other process ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::{TempDir, tempdir};

use crate::support::report_json;
use crate::unprobed::{Program, built, finding, findings, inspect};

/// A root directory with the program as `/app/program`, and its libraries.
fn root() -> TempDir {
    let root = tempdir().expect("room");
    copy(built(), &root.path().join("app/program"));
    let output = Command::new("ldd").arg(built()).output().expect("ldd runs");
    let printed = String::from_utf8(output.stdout).expect("text");
    for library in printed
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('/'))
    {
        copy(&Path::new("/").join(library), &root.path().join(library));
    }
    root
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a directory")).expect("room");
    fs::copy(from, to).expect("room");
}

/// The command that becomes a program in a container. `None` if this user may not make one.
fn container(root: &Path, program: &str) -> Option<Command> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "chroot"]);
    command.arg(root).arg(program);
    let mut probe = Command::new("unshare");
    let probe = probe
        .args(["--mount", "--pid", "--fork", "true"])
        .stderr(Stdio::null());
    probe
        .status()
        .is_ok_and(|status| status.success())
        .then_some(command)
}

/// The only child of a process.
fn child_of(process: u32) -> String {
    let path = PathBuf::from(format!("/proc/{process}/task/{process}/children"));
    let children = fs::read_to_string(path).expect("the kernel lists children");
    children.trim().to_owned()
}

// CT-14, STB-22
#[test]
fn deadlock_in_a_container_is_found() {
    let root = root();
    let Some(command) = container(root.path(), "/app/program") else {
        return eprintln!("SKIPPED: no permission to make namespaces");
    };
    let program = Program::start_by(command, "deadlock");
    let directory = tempdir().expect("room");
    inspect(&directory, &["-p", &child_of(program.0.id())]);
    drop((program, root));
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(findings(&json), [finding("DEADLOCK", "deadlock", 2)]);
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    let stuck: Vec<_> = tasks.filter(|task| task["reason"] == "deadlock").collect();
    for task in &stuck {
        let frames = task["frames"].as_array().expect("frames").iter();
        let mut own = frames.filter(|frame| frame["file"] == "src/faults.rs");
        assert!(own.any(|frame| frame["line"].is_u64()), "{task}");
    }
}
