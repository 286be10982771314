//! CT-07: a trace is not redirected by another user, and no other user can read it.
//!
//! Only root can make files of another user, so most of these tests need root.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

use crate::lab::{Lab, Outcome, fixture};

/// The user that plants something. No account needs to have this number.
const MALLORY: u32 = 54_321;
const OTHER: u32 = 54_322;
const KEPT: &str = "what the victim has";

/// Each way in which the recorder makes its file.
const MODES: [&[&str]; 3] = [&[], &["--summary"], &["--flight-recorder"]];

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can make files of another user");
    }
    is_root
}

/// A directory `tmp` where every user may make files, of this owner, and a file of a victim.
fn shared_directory(owner: u32) -> Lab {
    let lab = Lab::new();
    fs::create_dir(lab.path("tmp")).expect("can be made");
    set_mode(&lab.path("tmp"), 0o1777);
    chown(lab.path("tmp"), Some(owner), Some(owner)).expect("is root");
    fs::write(lab.path("victim"), KEPT).expect("can be written");
    lab
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("can be set");
}

fn mode_of(path: PathBuf) -> u32 {
    fs::metadata(path).expect("present").mode() & 0o7777
}

fn link(lab: &Lab, target: &str, name: &str, owner: u32) {
    symlink(target, lab.path(name)).expect("can be made");
    lchown(lab.path(name), Some(owner), Some(owner)).expect("is root");
}

/// Records to `output`, a program with one coroutine that makes the file `started`.
fn record(lab: &Lab, mode: &[&str], output: &str) -> Outcome {
    let flags = [&["-o", output], mode].concat();
    let mut command = lab.recorder(&flags, fixture("paced"));
    lab.run(command.args(["started", "1", "2", "0"]))
}

fn is_refused(lab: &Lab, mode: &[&str], output: &str) {
    let outcome = record(lab, mode, output);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let message = &outcome.stderr;
    let sentence = format!("ctp-record: cannot create {output}: ");
    assert!(message.starts_with(&sentence), "{message}");
    assert!(message.contains("of another user (uid 54321)"), "{message}");
    assert!(
        message.contains("choose another place with -o FILE"),
        "{message}"
    );
    assert!(!lab.path("started").exists(), "nothing is started");
    assert_eq!(lab.read("victim"), KEPT);
    assert!(!lab.path("victim.old").exists());
}

// CT-07
#[test]
fn a_link_that_another_user_planted_is_refused() {
    if !is_root() {
        return;
    }
    for mode in MODES {
        let lab = shared_directory(0);
        link(&lab, "../victim", "tmp/ctp.data", MALLORY);
        is_refused(&lab, mode, "tmp/ctp.data");
        link(&lab, "../nowhere", "tmp/new.data", MALLORY);
        is_refused(&lab, mode, "tmp/new.data");
        assert!(!lab.path("nowhere").exists());
        link(&lab, "/dev/null", "tmp/null", MALLORY);
        is_refused(&lab, mode, "tmp/null");
        set_mode(&lab.path("tmp"), 0o777);
        is_refused(&lab, mode, "tmp/ctp.data");
    }
}

// CT-07
#[test]
fn a_planted_link_in_the_middle_of_a_path_is_refused() {
    if !is_root() {
        return;
    }
    let lab = shared_directory(0);
    fs::create_dir(lab.path("home")).expect("can be made");
    link(&lab, "../home", "tmp/dir", MALLORY);
    is_refused(&lab, &[], "tmp/dir/ctp.data");
    is_refused(&lab, &["--flight-recorder"], "tmp/dir/../victim");
    assert_eq!(fs::read_dir(lab.path("home")).expect("is there").count(), 0);
}

// CT-07
#[test]
fn planted_link_behind_an_own_link_is_refused() {
    if !is_root() {
        return;
    }
    let lab = shared_directory(0);
    link(&lab, "../victim", "tmp/ctp.data", MALLORY);
    symlink("tmp/ctp.data", lab.path("mine")).expect("can be made");
    is_refused(&lab, &[], "mine");
}

// CT-07
#[test]
fn unknown_directory_owner_is_not_trusted() {
    if !is_root() {
        return;
    }
    // In a user namespace all users without a mapping have this id.
    const UNKNOWN: u32 = 65_534;
    let lab = shared_directory(UNKNOWN);
    link(&lab, "../victim", "tmp/ctp.data", UNKNOWN);
    let outcome = record(&lab, &[], "tmp/ctp.data");
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    assert_eq!(lab.read("victim"), KEPT);
}

// CT-07
#[test]
fn links_of_the_user_or_of_the_directorys_owner_work() {
    if !is_root() {
        return;
    }
    for (directory, owner) in [(MALLORY, 0), (MALLORY, MALLORY), (0, 0)] {
        let lab = shared_directory(directory);
        link(&lab, "../trace", "tmp/ctp.data", owner);
        link(&lab, "..", "tmp/up", owner);
        for output in ["tmp/ctp.data", "tmp/up/trace"] {
            let outcome = record(&lab, &[], output);
            assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        }
        assert!(lab.path("trace").exists() && lab.path("trace.old").exists());
    }
    // Where only its owner and root make files, links of others are the owner's business.
    let lab = shared_directory(0);
    set_mode(&lab.path("tmp"), 0o1755);
    link(&lab, "../trace", "tmp/ctp.data", MALLORY);
    let outcome = record(&lab, &[], "tmp/ctp.data");
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
}

// CT-07
#[test]
fn a_pipe_that_another_user_planted_is_refused() {
    if !is_root() {
        return;
    }
    for mode in MODES {
        let lab = shared_directory(0);
        let pipe = lab.path("tmp/ctp.data");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("can be made");
        chown(&pipe, Some(MALLORY), Some(MALLORY)).expect("is root");
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let reader = open(&pipe, flags, Mode::empty()).expect("can be opened");
        is_refused(&lab, mode, "tmp/ctp.data");
        let mut byte = [0];
        assert!(rustix::io::read(&reader, &mut byte).is_err(), "it is empty");
    }
}

// CT-07
#[test]
fn planted_files_beside_the_trace_are_not_followed() {
    if !is_root() {
        return;
    }
    let lab = shared_directory(0);
    fs::hard_link(lab.path("victim"), lab.path("tmp/ctp.data")).expect("can be made");
    link(&lab, "../victim", "tmp/ctp.data.old", MALLORY);
    let script = "i=0; while [ $i -lt 20 ]; do ln -s ../victim tmp/ctp.data.new-$$-$i; \
                  chown -h 54321 tmp/ctp.data.new-$$-$i; i=$((i+1)); done; exec \"$@\"";
    let recorder = lab.recorder(&["-o", "tmp/ctp.data"], fixture("args_echo"));
    let mut command = lab.command("sh");
    command
        .args(["-c", script, "sh"])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    let outcome = lab.run(command.arg("started"));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(lab.read("victim"), KEPT);
    assert_eq!(
        lab.read("tmp/ctp.data.old"),
        KEPT,
        "it is kept, not changed"
    );
    assert!(lab.path("tmp/ctp.data").is_file() && !lab.path("tmp/ctp.data").is_symlink());
}

// CT-07
#[test]
fn changing_link_is_not_followed() {
    if !is_root() {
        return;
    }
    let lab = shared_directory(0);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // What the recorder has put there meanwhile goes away too.
                let _ = symlink("../victim", lab.path("tmp/planted"));
                let _ = lchown(lab.path("tmp/planted"), Some(MALLORY), Some(MALLORY));
                let _ = fs::rename(lab.path("tmp/planted"), lab.path("tmp/ctp.data"));
                let _ = fs::remove_file(lab.path("tmp/ctp.data"));
            }
        });
        for _ in 0..50 {
            record(&lab, &["-q"], "tmp/ctp.data");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(lab.read("victim"), KEPT);
    assert!(!lab.path("victim.old").exists());
}

/// `recorder` with its flags, under a shell that sets this umask.
fn under_umask(lab: &Lab, umask: &str, flags: &[&str], program: &[&str]) -> Outcome {
    let recorder = lab.recorder(flags, fixture(program[0]));
    let mut command = lab.command("sh");
    command
        .args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    lab.run(command.args(&program[1..]))
}

// CT-07
#[test]
fn trace_is_private_whatever_the_umask() {
    for mode in MODES {
        for umask in ["0000", "0022", "0777"] {
            let lab = Lab::new();
            let program = ["paced", "truth", "1", "2", "0"];
            let outcome = under_umask(&lab, umask, mode, &program);
            assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
            assert_eq!(mode_of(lab.path("ctp.data")), 0o600, "{mode:?} {umask}");
        }
    }
}

// CT-07
#[test]
fn an_earlier_trace_keeps_the_mode() {
    for earlier in [0o600, 0o640, 0o400] {
        let lab = Lab::new();
        fs::write(lab.path("ctp.data"), "earlier").expect("can be written");
        set_mode(&lab.path("ctp.data"), earlier);
        let outcome = under_umask(&lab, "0000", &[], &["paced", "started", "1", "2", "0"]);
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        assert_eq!(mode_of(lab.path("ctp.data.old")), earlier);
        assert_eq!(mode_of(lab.path("ctp.data")), 0o600);
    }
}

// CT-07
#[test]
fn another_users_file_is_not_written_into() {
    if !is_root() {
        return;
    }
    let lab = shared_directory(0);
    fs::write(lab.path("tmp/ctp.data"), KEPT).expect("can be written");
    chown(lab.path("tmp/ctp.data"), Some(OTHER), Some(OTHER)).expect("is root");
    let held = fs::File::open(lab.path("tmp/ctp.data")).expect("present");
    let outcome = record(&lab, &[], "tmp/ctp.data");
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(lab.read("tmp/ctp.data.old"), KEPT);
    let ours = fs::metadata(lab.path("tmp/ctp.data")).expect("present");
    assert_eq!((ours.uid(), ours.mode() & 0o777), (0, 0o600));
    assert_ne!(ours.ino(), held.metadata().expect("is open").ino());
}

/// A directory `tmp/out` of another user, in a directory where every user may make files.
fn planted_directory(mode: u32) -> Lab {
    let lab = shared_directory(0);
    fs::create_dir(lab.path("tmp/out")).expect("can be made");
    set_mode(&lab.path("tmp/out"), mode);
    chown(lab.path("tmp/out"), Some(MALLORY), Some(MALLORY)).expect("is root");
    lab
}

// CT-07
#[test]
fn links_in_a_planted_directory_are_refused() {
    if !is_root() {
        return;
    }
    for directory in [0o755, 0o777] {
        for mode in MODES {
            let lab = planted_directory(directory);
            link(&lab, "../../victim", "tmp/out/ctp.data", MALLORY);
            is_refused(&lab, mode, "tmp/out/ctp.data");
            link(&lab, "../..", "tmp/out/up", MALLORY);
            is_refused(&lab, mode, "tmp/out/up/victim");
            symlink("tmp/out", lab.path("mine")).expect("can be made");
            is_refused(&lab, mode, "mine/ctp.data");
        }
    }
}

// CT-07
#[test]
fn files_and_pipes_in_a_planted_directory_are_refused() {
    if !is_root() {
        return;
    }
    let lab = planted_directory(0o755);
    fs::create_dir(lab.path("tmp/out/deep")).expect("can be made");
    chown(lab.path("tmp/out/deep"), Some(MALLORY), Some(MALLORY)).expect("is root");
    for name in ["tmp/out/file", "tmp/out/deep/file"] {
        fs::write(lab.path(name), KEPT).expect("can be written");
        chown(lab.path(name), Some(MALLORY), Some(MALLORY)).expect("is root");
        is_refused(&lab, &[], name);
        assert_eq!(lab.read(name), KEPT);
    }
    let pipe = lab.path("tmp/out/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("can be made");
    chown(&pipe, Some(MALLORY), Some(MALLORY)).expect("is root");
    is_refused(&lab, &[], "tmp/out/pipe");
}

// CT-07
#[test]
fn a_planted_working_directory_is_known_as_such() {
    if !is_root() {
        return;
    }
    let lab = planted_directory(0o777);
    link(&lab, "../../victim", "tmp/out/ctp.data", MALLORY);
    let mut command = lab.recorder(&["-o", "ctp.data"], fixture("args_echo"));
    command.current_dir(lab.path("tmp/out"));
    let outcome = lab.run(command.arg("started"));
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let why = "in a directory that another user (uid 54321) made where every user may make one";
    assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    assert_eq!(lab.read("victim"), KEPT);
}

// CT-07
#[test]
fn own_entries_of_a_planted_directory_are_used() {
    if !is_root() {
        return;
    }
    let lab = planted_directory(0o777);
    link(&lab, "../../trace", "tmp/out/link", 0);
    fs::write(lab.path("tmp/out/old"), "earlier").expect("can be written");
    fs::create_dir(lab.path("tmp/out/own")).expect("can be made");
    link(&lab, "new", "tmp/out/own/ours", 0);
    for output in ["link", "old", "new", "own/ours", "own/../../../other"] {
        let outcome = record(&lab, &[], &format!("tmp/out/{output}"));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    }
    for made in ["trace", "tmp/out/old.old", "tmp/out/own/new", "other"] {
        assert!(lab.path(made).is_file(), "{made}");
    }
}
