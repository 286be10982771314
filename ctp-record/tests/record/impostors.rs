//! CT-07: `ctp-record control` with listeners that are no recorder, and a recorder with malformed
//! callers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::lab::{Lab, Outcome, fixture, program_of, send};

const MALLORY: u32 = 54_321;

/// `examples/impostor.rs`, in a directory where every user may make files.
struct Impostor {
    lab: Lab,
    process: Child,
}

/// Copies a program in another process. A child that this process starts at the same time would
/// inherit the descriptor open for writing, and the copy could not be executed while it is open.
fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(copied.expect("there is such a program").success());
}

impl Impostor {
    /// Runs as this user.
    fn start(manner: &str, user: u32) -> Self {
        let lab = Lab::new();
        fs::set_permissions(lab.path(""), fs::Permissions::from_mode(0o1777)).expect("is ours");
        // Other users may have no access to the build directory.
        let program = lab.path("impostor");
        copy_program(&fixture("impostor"), &program);
        let mut command = lab.command(&program);
        if user != rustix::process::geteuid().as_raw() {
            command.uid(user);
        }
        let process = command.arg(lab.path("")).arg(manner).spawn();
        let process = process.expect("can be started");
        let pid = process.id().to_string();
        lab.wait_for_line("stdout", &pid);
        Impostor { lab, process }
    }

    /// The output of `control` for it, with a tenth of the memory that an endless answer would
    /// need.
    fn control(&self, words: &str) -> Outcome {
        let script = format!(
            "ulimit -v 400000; exec \"$0\" control {} {words}",
            self.process.id()
        );
        let mut command = self.lab.command("sh");
        let create = |name| fs::File::create(self.lab.path(name)).expect("can be made");
        command.stdout(create("said")).stderr(create("complained"));
        command.args(["-c", &script, env!("CARGO_BIN_EXE_ctp-record")]);
        let status = command.status().expect("can be run");
        Outcome {
            status,
            stdout: self.lab.read("said"),
            stderr: self.lab.read("complained"),
        }
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

// CT-07
#[test]
fn another_users_listener_is_not_contacted() {
    if us() != 0 {
        eprintln!("skipped: only root can run a program as another user");
        return;
    }
    for manner in ["lying", "endless", "busy"] {
        let impostor = Impostor::start(manner, MALLORY);
        let outcome = impostor.control("status");
        assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
        if manner != "busy" {
            assert!(
                outcome.stderr.contains("belongs to user 54321"),
                "{}",
                outcome.stderr
            );
        }
    }
}

// CT-07
#[test]
fn root_asks_another_users_recorder_of_the_same_build() {
    if us() != 0 {
        eprintln!("skipped: only root can run a program as another user");
        return;
    }
    let lab = Lab::new();
    fs::set_permissions(lab.path(""), fs::Permissions::from_mode(0o1777)).expect("is ours");
    let copy = lab.path("ctp-record");
    copy_program(Path::new(env!("CARGO_BIN_EXE_ctp-record")), &copy);
    let mut command = lab.command(&copy);
    let recorder = command.args(["--", "sleep", "600"]).uid(MALLORY).spawn();
    let recorder = recorder.expect("can be started");
    let program = program_of(recorder.id());
    let requested = |client: &Path, pid: u32| {
        let mut command = lab.command(client);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = command
            .args(["control", &pid.to_string(), "status"])
            .status();
        status.expect("can be run").code()
    };
    for pid in [recorder.id(), program] {
        assert_eq!(requested(&copy, pid), Some(0));
        assert_eq!(
            requested(Path::new(env!("CARGO_BIN_EXE_ctp-record")), pid),
            Some(1)
        );
    }
    send(Signal::KILL, program);
    lab.outcome(recorder);
}

// CT-07
#[test]
fn directory_open_to_others_is_not_trusted() {
    let impostor = Impostor::start("lying", us());
    let requested = |impostor: &Impostor| impostor.control("status").status.code();
    assert_eq!(
        requested(&impostor),
        Some(0),
        "it is private, and the user's own"
    );
    let directory = impostor
        .lab
        .path(&format!("ctp-{}-0", impostor.process.id()));
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("is ours");
    assert_eq!(requested(&impostor), Some(1));
    if us() == 0 {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("is ours");
        chown(&directory, Some(MALLORY), None).expect("is root");
        assert_eq!(requested(&impostor), Some(1));
    }
}

// CT-07
#[test]
fn an_endless_answer_ends_with_an_error() {
    let impostor = Impostor::start("endless", us());
    for words in ["status", "snapshot"] {
        let outcome = impostor.control(words);
        assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
        let message = "the answer is longer than any answer of a recorder";
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    }
}

// CT-07
#[test]
fn wait_for_an_answer_is_limited() {
    let waits = ["silent", "busy"]
        .map(|manner| thread::spawn(move || Impostor::start(manner, us()).control("status")));
    for wait in waits {
        let outcome = wait.join().expect("an exit status");
        assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
        let message = "does not answer: no complete answer after 10 s; is it stopped?";
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    }
}

/// A recording of a program that waits for a file `go`, and its sockets' directory.
fn recording(lab: &Lab, limit: &str) -> (Child, PathBuf) {
    let script = "until [ -e go ]; do sleep 0.01; done; exec \"$@\"";
    let recorder = lab.recorder(&[], "sh");
    let mut command = lab.command("sh");
    command
        .args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"])
        .arg(recorder.get_program())
        .args(recorder.get_args())
        .args(["-c", script, "sh"])
        .arg(fixture("paced"));
    let recorder = command.args(["truth", "2", "3", "0"]).spawn();
    let recorder = recorder.expect("can be started");
    program_of(recorder.id());
    let directory = lab.path(&format!("ctp-{}-0", recorder.id()));
    (recorder, directory)
}

fn ends_well(lab: &Lab, recorder: Child) {
    fs::write(lab.path("go"), "").expect("can be written");
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let trace = lab.trace();
    trace.is_complete();
    assert_eq!(trace.coroutines.len(), 2);
}

// CT-07, CTP-28
#[test]
fn malformed_callers_do_not_affect_the_recording() {
    let lab = Lab::new();
    let (recorder, directory) = recording(&lab, "1024");
    let connect = || UnixStream::connect(directory.join("control")).expect("listening");
    let silent: Vec<UnixStream> = (0..50).map(|_| connect()).collect();
    let mut loud = connect();
    while loud.write_all(&[b'x'; 4096]).is_ok() {}
    let mut command = lab.bare_recorder();
    let create = |name| fs::File::create(lab.path(name)).expect("can be made");
    command.stdout(create("said")).stderr(create("complained"));
    command.args(["control", &recorder.id().to_string(), "status"]);
    assert!(command.status().expect("can be run").success());
    assert!(lab.read("said").contains("recording      on\n"));
    ends_well(&lab, recorder);
    drop(silent);
}

// CT-07, CTP-28
#[test]
fn without_free_descriptors_callers_are_disconnected() {
    let lab = Lab::new();
    let (recorder, directory) = recording(&lab, "40");
    let doorbells: Vec<UnixStream> = (0..40)
        .map(|_| UnixStream::connect(directory.join("sock")).expect("listening"))
        .collect();
    // Connections are accepted in order, so all descriptors are in use by the time the last of them is closed.
    let mut last = doorbells.last().expect("40 of them");
    assert_eq!(last.read(&mut [0]).ok(), Some(0), "it is closed");
    let mut caller = UnixStream::connect(directory.join("control")).expect("listening");
    caller
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("can be set");
    let mut answer = Vec::new();
    assert_eq!(caller.read_to_end(&mut answer).ok(), Some(0), "it hangs up");
    drop(doorbells);
    ends_well(&lab, recorder);
}

// CT-07
#[test]
fn a_stopped_recorder_reports_the_state() {
    let lab = Lab::new();
    let (recorder, _) = recording(&lab, "1024");
    send(Signal::STOP, recorder.id());
    let mut command = lab.bare_recorder();
    let create = |name| fs::File::create(lab.path(name)).expect("can be made");
    command.stdout(create("said")).stderr(create("complained"));
    command.args(["control", &recorder.id().to_string(), "status"]);
    assert_eq!(command.status().expect("can be run").code(), Some(1));
    assert!(lab.read("complained").contains("is it stopped?"));
    send(Signal::CONT, recorder.id());
    ends_well(&lab, recorder);
}
