//! `--gdb`: targets behind servers that serve, lie, stall and close.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ctp_trace::Reader;
use tempfile::TempDir;

use super::follow::{events_of, expected};
use super::gdb_server::{Manners, Server};
use super::{Trace, target};

/// A recorder with a server, killed with the test.
struct Recorder {
    dir: TempDir,
    child: Child,
}

impl Recorder {
    fn start(address: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_ctp-record"))
            .current_dir(&dir)
            .args(["--gdb", address, "-o", "out", "--elf"])
            .arg(&target().elf)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Recorder { dir, child }
    }

    /// The same, when the recording has begun.
    fn started(server: &Server) -> Self {
        let mut recorder = Recorder::start(&server.address);
        let given_up = Instant::now() + Duration::from_secs(60);
        while !recorder.dir.path().join("out").exists() {
            assert!(Instant::now() < given_up, "no recording has begun");
            let ended = recorder.child.try_wait().unwrap();
            assert!(ended.is_none(), "{}", recorder.message());
            thread::sleep(Duration::from_millis(5));
        }
        recorder
    }

    fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.unwrap().success());
    }

    fn message(&mut self) -> String {
        let mut message = String::new();
        let errors = self.child.stderr.as_mut().unwrap();
        errors.read_to_string(&mut message).unwrap();
        message
    }

    /// Waits for the end with this exit status. All events of the dump are in the trace.
    fn complete(&mut self, code: i32) -> String {
        let message = self.message();
        assert_eq!(self.child.wait().unwrap().code(), Some(code), "{message}");
        let bytes = fs::read(self.dir.path().join("out")).unwrap();
        let records = Reader::new(&bytes).unwrap().map(Result::unwrap).collect();
        let trace = Trace { records, message };
        assert_eq!(events_of(&trace), expected(), "{}", trace.message);
        trace.message
    }

    /// Waits for the end without a trace. Returns the last message.
    fn refused(&mut self) -> String {
        let message = self.message();
        assert_eq!(self.child.wait().unwrap().code(), Some(1), "{message}");
        assert!(!self.dir.path().join("out").exists());
        message.lines().last().unwrap().to_owned()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // It has ended, or there is nothing more to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn server(manners: Manners) -> Server {
    Server::start(manners, target().dump.clone())
}

const STOPS: &str = "each reading stops the target for a moment";

#[test]
fn target_is_not_stopped_by_a_server_that_reads_meanwhile() {
    let server = server(Manners::Background);
    let mut recorder = Recorder::started(&server);
    recorder.interrupt();
    let message = recorder.complete(0);
    assert!(!message.contains(STOPS), "{message}");
    assert_eq!(server.with(|shared| shared.stops), 0);
    assert!(server.with(|shared| shared.is_detached && shared.is_running));
}

#[test]
fn target_that_is_stopped_for_readings_runs_afterwards() {
    let server = server(Manners::Stopping);
    let mut recorder = Recorder::started(&server);
    recorder.interrupt();
    let message = recorder.complete(0);
    assert!(message.contains(STOPS), "{message}");
    assert!(server.with(|shared| 0 < shared.stops));
    assert!(server.with(|shared| shared.is_detached && shared.is_running));
}

#[test]
fn target_that_is_reset_ends_the_recording() {
    for manners in [Manners::Background, Manners::Stopping] {
        let server = server(manners);
        let mut recorder = Recorder::started(&server);
        server.with(|shared| shared.memory.fill(0));
        let message = recorder.complete(0);
        assert!(message.contains("was reset"), "{message}");
        assert!(server.with(|shared| shared.is_detached && shared.is_running));
    }
}

/// What servers do, and what the recorder says.
const FAILURES: [(Manners, &str); 6] = [
    (Manners::Silent, "the GDB server did not answer to"),
    (Manners::Closing, "the GDB server closed the connection"),
    (Manners::Garbage, "does not speak the protocol of GDB"),
    (Manners::WrongSum, "does not speak the protocol of GDB"),
    (Manners::TooShort, "the GDB server answered"),
    (
        Manners::Unreadable,
        "the GDB server cannot read the memory at",
    ),
];

#[test]
fn failure_of_the_server_loses_nothing_that_was_recorded() {
    for (manners, sentence) in FAILURES {
        let server = server(Manners::Background);
        let mut recorder = Recorder::started(&server);
        server.with(|shared| shared.manners = manners);
        let message = recorder.complete(1);
        assert!(message.contains(sentence), "{manners:?}: {message}");
    }
}

#[test]
fn failure_of_the_server_at_first_is_named() {
    for (manners, sentence) in FAILURES {
        let message = Recorder::start(&server(manners).address).refused();
        assert!(message.contains(sentence), "{manners:?}: {message}");
    }
}

#[test]
fn missing_server_is_named() {
    // Nothing listens on port 1, or the test could not have this port.
    let message = Recorder::start("127.0.0.1:1").refused();
    assert!(
        message.contains("no connection to 127.0.0.1:1"),
        "{message}"
    );
    let message = Recorder::start("nonsense").refused();
    assert!(message.contains("no connection to nonsense"), "{message}");
}

#[test]
fn target_with_another_build_is_named() {
    let server = Server::start(Manners::Background, vec![0; target().dump.len()]);
    let message = Recorder::start(&server.address).refused();
    assert!(message.contains("it runs another build"), "{message}");
}

#[test]
fn other_code_in_the_target_is_noticed() {
    for (elsewhere, is_noticed) in [(Some(0xA5), true), (None, false)] {
        let server = server(Manners::Background);
        server.with(|shared| shared.elsewhere = elsewhere);
        let mut recorder = Recorder::started(&server);
        recorder.interrupt();
        let message = recorder.complete(0);
        let sentence = "the code in the target is not that of";
        assert_eq!(message.contains(sentence), is_noticed, "{message}");
    }
}

#[test]
fn memory_of_another_layout_behind_a_server_is_named() {
    let mut memory = target().dump.clone();
    memory[0x30] ^= 1;
    let server = Server::start(Manners::Background, memory);
    let message = Recorder::start(&server.address).refused();
    assert!(message.contains("another layout"), "{message}");
}
