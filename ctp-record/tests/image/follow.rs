//! `--follow`: the file stands for memory that a simulator maps. The test writes what firmware would.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ctp_trace::Reader;
use ctp_trace::record::{ExitReason, Record};

use super::{ALLOCATED, Recorder, Trace, target};

/// The bytes of the header's layout hash.
const LAYOUT_HASH: u64 = 0x30;

/// A recorder that follows a file, killed with the test.
struct Follower {
    recorder: Recorder,
    child: Child,
}

impl Follower {
    fn start(content: &[u8]) -> Self {
        let recorder = Recorder::given(content);
        let child = Command::new(env!("CARGO_BIN_EXE_ctp-record"))
            .current_dir(&recorder.dir)
            .args(["--image", "ram.bin", "--follow", "-o", "out", "--elf"])
            .arg(&target().elf)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Follower { recorder, child }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.recorder.dir.path().join(name)
    }

    fn memory(&self) -> File {
        let mut options = OpenOptions::new();
        options.write(true).open(self.path("ram.bin")).unwrap()
    }

    /// Waits until the recording has begun.
    fn wait_for_trace(&mut self) {
        let given_up = Instant::now() + Duration::from_secs(60);
        while !self.path("out").exists() {
            assert!(Instant::now() < given_up, "no recording has begun");
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end; the exit status and the messages.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut message = String::new();
        let errors = self.child.stderr.as_mut().unwrap();
        errors.read_to_string(&mut message).unwrap();
        (self.child.wait().unwrap().code(), message)
    }

    /// The trace of a recording that has ended.
    fn trace(&mut self) -> Trace {
        let (code, message) = self.end();
        assert_eq!(code, Some(0), "{message}");
        let bytes = fs::read(self.path("out")).unwrap();
        let records = Reader::new(&bytes).unwrap().map(Result::unwrap).collect();
        Trace { records, message }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // It has ended, or there is nothing more to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The events and births of a trace.
pub fn events_of(trace: &Trace) -> Vec<Record> {
    let is_event = |record: &&Record| matches!(record, Record::Event(_) | Record::Birth(_));
    trace.records.iter().filter(is_event).cloned().collect()
}

/// The events of a plain dump with the same content.
pub fn expected() -> Vec<Record> {
    events_of(&Recorder::given(&target().dump).trace())
}

#[test]
fn followed_file_has_the_events_of_a_dump() {
    let mut follower = Follower::start(&target().dump);
    follower.wait_for_trace();
    follower.interrupt();
    let trace = follower.trace();
    assert_eq!(events_of(&trace), expected());
    assert_eq!(trace.end().how, ExitReason::Stopped);
    assert!(
        trace.message.contains("recorded ram.bin for"),
        "{}",
        trace.message
    );
}

#[test]
fn followed_file_that_disappears_ends_the_recording() {
    let mut follower = Follower::start(&target().dump);
    follower.wait_for_trace();
    fs::remove_file(follower.path("ram.bin")).unwrap();
    let trace = follower.trace();
    assert_eq!(events_of(&trace), expected());
    let sentence = "ram.bin cannot be read any more: the file has disappeared";
    assert!(trace.message.contains(sentence), "{}", trace.message);
}

#[test]
fn followed_firmware_that_is_reset_ends_the_recording() {
    for (at, bytes) in [(0, vec![0; 8]), (ALLOCATED as u64, vec![0; 4])] {
        let mut follower = Follower::start(&target().dump);
        follower.wait_for_trace();
        follower.memory().write_all_at(&bytes, at).unwrap();
        let trace = follower.trace();
        assert_eq!(events_of(&trace), expected());
        assert!(
            trace.message.contains("ram.bin was reset"),
            "{}",
            trace.message
        );
    }
}

#[test]
fn firmware_that_starts_later_is_followed() {
    let dump = &target().dump;
    let mut follower = Follower::start(&vec![0; 4096 + dump.len()]);
    follower.memory().write_all_at(dump, 4096).unwrap();
    follower.wait_for_trace();
    follower.interrupt();
    assert_eq!(events_of(&follower.trace()), expected());
}

#[test]
fn memory_of_another_layout_is_not_followed() {
    let mut dump = target().dump.clone();
    dump[LAYOUT_HASH as usize] ^= 1;
    let (code, message) = Follower::start(&dump).end();
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("another layout"), "{message}");
}

#[test]
fn file_without_a_memory_is_followed_until_a_signal() {
    let mut follower = Follower::start(&[0; 4096]);
    // The recorder handles signals before it says that it records.
    let mut first = [0; 10];
    let errors = follower.child.stderr.as_mut().unwrap();
    errors.read_exact(&mut first).unwrap();
    follower.interrupt();
    let (code, message) = follower.end();
    assert_eq!(code, Some(1), "{message}");
    assert!(
        message.contains("no coroutine of a probe was born"),
        "{message}"
    );
    assert!(!follower.path("out").exists());
}
