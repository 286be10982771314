//! Firmware on embassy that is recorded while QEMU runs it in real time, compared with the firmware's own
//! account. However late the recorder reads, each event is recorded or counted as lost.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::tempdir;

use crate::embassy::{Printed, attempted};
use crate::machine::{self, Machine};
use crate::support::program;

/// Starts the recorder with these options, in this directory.
fn record(directory: &Path, options: &[&str], firmware: &Path) -> Child {
    Command::new(program("ctp-record"))
        .args(options)
        .arg("--elf")
        .arg(firmware)
        .current_dir(directory)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the recorder starts")
}

/// Ends the recording by a signal.
fn end(recorder: Child) {
    let pid = recorder.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.expect("kill can be run").success());
    let output = recorder.wait_with_output().expect("the recorder ends");
    assert!(output.status.success(), "{output:?}");
}

/// Waits until the recording has begun.
fn wait_for_trace(directory: &Path, recorder: &mut Child) {
    let given_up = Instant::now() + Duration::from_secs(60);
    while !directory.join("ctp.data").exists() {
        assert!(Instant::now() < given_up, "no recording has begun");
        assert!(recorder.try_wait().expect("a child").is_none());
        thread::sleep(Duration::from_millis(5));
    }
}

/// All events of the tasks that live to the end are recorded or counted as lost.
fn assert_complete(directory: &Path, printed: &Printed) {
    let attempted = attempted(directory);
    for (name, account) in &printed.tasks {
        let found = attempted.get(name).expect("the task is recorded");
        if account.is_spawned_once() {
            assert_eq!(*found, account.events(), "{name}");
        }
    }
}

// CTP-11
#[test]
fn followed_firmware_is_recorded_completely() {
    let Some(firmware) = machine::firmware("embassy-tasks") else {
        return;
    };
    let directory = tempdir().expect("room");
    program("ctp-record"); // built before the firmware runs
    let mut machine = Machine::start(&firmware, directory.path(), &[]);
    while !directory.path().join("ram.bin").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let options = ["--image", "ram.bin", "--follow"];
    let mut recorder = record(directory.path(), &options, &firmware);
    let printed = Printed::parse(&machine.lines_until_done());
    wait_for_trace(directory.path(), &mut recorder);
    end(recorder);
    assert_complete(directory.path(), &printed);
}

/// A port of this machine that no program uses.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    listener.local_addr().expect("it is bound").port()
}

/// Starts the firmware behind QEMU's GDB server, and a recorder. The recorder lets the firmware start.
fn record_by_gdb(directory: &Path) -> Option<(Machine, Child)> {
    let firmware = machine::firmware("embassy-tasks")?;
    program("ctp-record"); // built before the firmware runs
    let address = format!("127.0.0.1:{}", free_port());
    let server = format!("tcp:{address}");
    let machine = Machine::start(&firmware, directory, &["-S", "-gdb", &server]);
    while TcpStream::connect(&address).is_err() {
        thread::sleep(Duration::from_millis(5));
    }
    let mut recorder = record(directory, &["--gdb", &address], &firmware);
    wait_for_trace(directory, &mut recorder);
    Some((machine, recorder))
}

// CTP-11
#[test]
fn firmware_behind_a_gdb_server_is_recorded_completely() {
    let directory = tempdir().expect("room");
    let Some((mut machine, recorder)) = record_by_gdb(directory.path()) else {
        return;
    };
    let printed = Printed::parse(&machine.lines_until_done());
    end(recorder);
    assert_complete(directory.path(), &printed);
}

#[test]
fn firmware_runs_on_after_a_recording_by_gdb() {
    let directory = tempdir().expect("room");
    let Some((mut machine, recorder)) = record_by_gdb(directory.path()) else {
        return;
    };
    end(recorder);
    let printed = Printed::parse(&machine.lines_until_done());
    assert!(!printed.tasks.is_empty(), "the firmware has ended its work");
}
