//! A directory of its own for each test, and the program to run there.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ctp_trace::Writer;
use ctp_trace::record::*;
use tempfile::TempDir;

pub const MIB: u64 = 1 << 20;

pub struct Room(TempDir);

/// How a run went.
#[derive(Debug)]
pub struct Run {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The most memory that the process had.
    pub peak_bytes: u64,
}

impl Room {
    pub fn new() -> Self {
        Room(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The same with a hole behind it, up to this size.
    pub fn write_sparse(&self, name: &str, bytes: &[u8], size: u64) -> PathBuf {
        let path = self.write(name, bytes);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(size).unwrap();
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctp-report"));
        command.current_dir(self.0.path()).args(args);
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        watch(&mut self.command(args))
    }
}

pub fn watch(command: &mut Command) -> Run {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let stdout = std::thread::spawn(move || text(&mut stdout));
    let stderr = std::thread::spawn(move || text(&mut stderr));
    let mut peak_bytes = 0;
    let status = loop {
        peak_bytes = peak_bytes.max(high_water_mark(&child));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Run {
        status: status.code(),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
        peak_bytes,
    }
}

fn text(pipe: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The kernel keeps the maximum, so that a peak between two looks is seen by the next.
fn high_water_mark(child: &Child) -> u64 {
    let mut status = String::new();
    let file = fs::File::open(format!("/proc/{}/status", child.id()));
    if file
        .and_then(|mut file| file.read_to_string(&mut status))
        .is_err()
    {
        return 0;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// A trace of one coroutine that waits at a line of a program with these modules.
pub fn trace_of(modules: Vec<Module>) -> Vec<u8> {
    let place = Place::Source {
        file: "src/main.rs".to_owned(),
        line: 7,
        column: 9,
    };
    trace(
        modules.into_iter().map(Record::Module).collect(),
        "task",
        place,
    )
}

pub fn trace(before: Vec<Record>, name: &str, place: Place) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    let site = Site {
        id: SiteId(1),
        process: ProcessId(1),
        place,
    };
    let birth = Birth {
        coroutine: CoroutineId(1),
        process: ProcessId(1),
        name: name.to_owned(),
        dialect: Dialect::V1PerSlot,
        ..Birth::default()
    };
    let event = Event {
        coroutine: CoroutineId(1),
        kind: EventKind::Suspend,
        site: SiteId(1),
        ..Event::default()
    };
    let after = [
        Record::Site(site),
        Record::Birth(birth),
        Record::Event(event),
    ];
    for record in before.iter().chain(&after) {
        writer.write(record).unwrap();
    }
    let end = End {
        at: Nanos(5_000_000_000),
        ..End::default()
    };
    writer.finish(&end).unwrap()
}
