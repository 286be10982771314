//! A program with rights that its user lacks ignores `CTP_*`. Otherwise, a user could make it write
//! into any file that it may open.
//!
//! The programs are copies of this test binary, run by another user. That takes root.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::recorder::{Recorder, STATIONS, assert_recorded, printed, run, stderr};

/// Owner of the program's file.
const OWNER: u32 = 61_001;
/// User that runs the program.
const USER: u32 = 61_002;

/// The file of a program which any user may run, and a memory into which any user may write.
fn public_copy(recorder: &Recorder) -> PathBuf {
    let copy = recorder.directory.join("program");
    let original = std::env::current_exe().expect("this program has a path");
    // Copied by another process. A process that a parallel test starts during the copy would
    // inherit the copy's descriptor, open for writing, and the copy could not be executed.
    let copied = Command::new("cp").arg(original).arg(&copy).status();
    assert!(copied.expect("there is such a program").success());
    allow(&recorder.directory, 0o755);
    allow(&recorder.shm(), 0o666);
    allow(&copy, 0o755);
    copy
}

fn allow(path: &Path, mode: u32) {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).expect("our own file");
}

/// The program at this path, started by the other user.
fn as_user(recorder: &Recorder, path: &Path, role: &str) -> Command {
    let template = recorder.program(role);
    let mut program = Command::new(path);
    program.args(template.get_args()).uid(USER).gid(USER);
    for (name, value) in template.get_envs() {
        match value {
            Some(value) => program.env(name, value),
            None => program.env_remove(name),
        };
    }
    program
}

/// The reason why no program here can have more rights than its user.
fn reason_to_skip(recorder: &Recorder) -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root");
    }
    let mount =
        rustix::fs::statvfs(recorder.directory.as_os_str().as_bytes()).expect("the file exists");
    let is_nosuid = mount.f_flag.contains(rustix::fs::StatVfsMountFlags::NOSUID);
    is_nosuid.then_some("set-user-id has no effect in the directory for temporary files")
}

/// Checks that the program ran as without a recorder: silently, and with the memory unchanged.
fn assert_ignored(recorder: &Recorder, path: &Path) {
    let before = fs::read(recorder.shm()).expect("the file exists");
    let output = run(&mut as_user(recorder, path, "many-tasks"));
    assert_eq!(stderr(&output), [] as [&str; 0]);
    assert_eq!(printed(&output, "recorded="), "0");
    let after = fs::read(recorder.shm()).expect("the file exists");
    assert!(before == after, "the memory was changed");
}

// CTP-03
#[test]
fn set_user_id_and_set_group_id_programs_ignore_ctp() {
    let recorder = Recorder::new();
    if let Some(reason) = reason_to_skip(&recorder) {
        return eprintln!("SKIPPED: {reason}");
    }
    let copy = public_copy(&recorder);
    for mode in [0o4755, 0o2755, 0o6755] {
        chown(&copy, Some(OWNER), Some(OWNER)).expect("root may");
        allow(&copy, mode);
        assert_ignored(&recorder, &copy);
    }
    allow(&copy, 0o755);
    assert_recorded(&mut as_user(&recorder, &copy, "many-tasks"), STATIONS);
}

// CTP-03
#[test]
fn programs_with_file_capabilities_ignore_ctp() {
    let recorder = Recorder::new();
    if let Some(reason) = reason_to_skip(&recorder) {
        return eprintln!("SKIPPED: {reason}");
    }
    let copy = public_copy(&recorder);
    let mut setcap = Command::new("setcap");
    let set = setcap.arg("cap_net_bind_service=ep").arg(&copy).output();
    if !set.is_ok_and(|output| output.status.success()) {
        return eprintln!("SKIPPED: no setcap, or a file system without capabilities");
    }
    assert_ignored(&recorder, &copy);
}

// CTP-03
#[test]
fn program_that_is_not_dumpable_is_recorded() {
    let recorder = Recorder::new();
    if let Some(reason) = reason_to_skip(&recorder) {
        return eprintln!("SKIPPED: {reason}");
    }
    let copy = public_copy(&recorder);
    assert_recorded(&mut as_user(&recorder, &copy, "undumpable"), STATIONS);
}
