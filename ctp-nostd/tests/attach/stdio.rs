//! The three standard descriptors belong to the program. The probe neither takes their numbers, nor
//! writes where messages are not read, nor waits for a reader.

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::recorder::{Recorder, run};

/// A program that cannot attach, and has a message to print.
fn refused(recorder: &Recorder, role: &str) -> Command {
    let mut program = recorder.program(role);
    program.env("CTP_MAX_STATIONS", "many");
    program
}

fn as_stderr(stream: UnixStream) -> Stdio {
    Stdio::from(OwnedFd::from(stream))
}

// CTP-03
#[test]
fn message_to_a_closed_stderr_kills_no_program() {
    let recorder = Recorder::new();
    let (stderr, reader) = UnixStream::pair().expect("two descriptors");
    drop(reader);
    let mut program = refused(&recorder, "fragile");
    let status = program
        .stderr(as_stderr(stderr))
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("the program starts").success());
}

// CTP-03
#[test]
fn message_to_a_full_stderr_blocks_no_program() {
    let recorder = Recorder::new();
    let (stderr, _reader) = UnixStream::pair().expect("two descriptors");
    stderr.set_nonblocking(true).expect("a socket");
    while (&stderr).write(&[0; 4096]).is_ok() {}
    while (&stderr).write(&[0]).is_ok() {}
    stderr.set_nonblocking(false).expect("a socket");
    let mut program = refused(&recorder, "fragile");
    let program = program.stderr(as_stderr(stderr)).stdout(Stdio::null());
    let mut child = program.spawn().expect("the program starts");
    for _ in 0..30_000 {
        if let Some(status) = child.try_wait().expect("a child of this process") {
            return assert!(status.success());
        }
        sleep(Duration::from_millis(2));
    }
    child.kill().expect("a child of this process");
    panic!("the program waits for a reader");
}

// CTP-03
#[test]
fn no_message_is_written_to_a_file_of_the_program() {
    let recorder = Recorder::new();
    let file = recorder.directory.join("file");
    let mut program = refused(&recorder, "own-file");
    run(program.env("CTP_TEST_FILE", &file));
    assert_eq!(fs::read_to_string(file).expect("the file was created"), "");
}

// CTP-17
#[test]
fn socket_takes_no_number_of_stdio() {
    let recorder = Recorder::new();
    let _listener = UnixListener::bind(recorder.sock()).expect("a socket");
    run(&mut recorder.program("closed"));
}
