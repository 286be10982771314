//! Firmware on embassy that is recorded while QEMU runs it in real time, compared with the firmware's own
//! account. However late the recorder reads, each event is recorded or counted as lost.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use tempfile::tempdir;

use crate::embassy::Printed;
use crate::event_counts::event_counts;
use crate::live_recorder::{LiveRecorder, record_followed};
use crate::machine::{CORTEX_M, Machine};
use crate::support::program;

/// All events of the tasks that live to the end are recorded or counted as lost.
fn assert_complete(directory: &Path, printed: &Printed) {
    let counts = event_counts(directory);
    for (name, account) in &printed.tasks {
        let found = counts.get(name).expect("the task is recorded");
        if account.is_spawned_once() {
            assert_eq!(found.attempted, account.events(), "{name}");
        }
    }
}

// CTP-11
#[test]
fn followed_firmware_is_recorded_completely() {
    let Some(firmware) = CORTEX_M.firmware("embassy-tasks") else {
        return;
    };
    let directory = tempdir().expect("room");
    let lines = record_followed(&CORTEX_M, &firmware, directory.path());
    assert_complete(directory.path(), &Printed::parse(&lines));
}

/// A port of this machine that no program uses.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    listener.local_addr().expect("it is bound").port()
}

/// Starts the firmware behind QEMU's GDB server, and a recorder. The recorder lets the firmware start.
fn record_by_gdb(directory: &Path) -> Option<(Machine, LiveRecorder)> {
    let firmware = CORTEX_M.firmware("embassy-tasks")?;
    program("ctp-record"); // built before the firmware runs
    let address = format!("127.0.0.1:{}", free_port());
    let server = format!("tcp:{address}");
    let machine = Machine::start(&CORTEX_M, &firmware, directory, &["-S", "-gdb", &server]);
    while TcpStream::connect(&address).is_err() {
        thread::sleep(Duration::from_millis(5));
    }
    let mut recorder = LiveRecorder::start(directory, &["--gdb", &address], &firmware);
    recorder.wait_for_trace(directory);
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
    recorder.end();
    assert_complete(directory.path(), &printed);
}

#[test]
fn firmware_runs_on_after_a_recording_by_gdb() {
    let directory = tempdir().expect("room");
    let Some((mut machine, recorder)) = record_by_gdb(directory.path()) else {
        return;
    };
    recorder.end();
    let printed = Printed::parse(&machine.lines_until_done());
    assert!(!printed.tasks.is_empty(), "the firmware has ended its work");
}
