//! The recorder's side: a memory in a file, and programs that find it in the environment.
#![expect(unsafe_code, reason = "lays out and reads a copy of the memory")]

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use ctp_nostd::Region;
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::layout::Station;
use ctp_nostd::slot::Epoch;

use crate::program::ROLE;

pub const STATIONS: u32 = 4;

/// A temporary directory with the memory in a file.
pub struct Recorder {
    pub directory: PathBuf,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // A directory that cannot be removed stays in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[derive(Clone)]
#[repr(align(1024))]
struct Kib([u8; 1024]);

fn bytes_of(memory: &[Kib]) -> Vec<u8> {
    memory.iter().flat_map(|kib| kib.0).collect()
}

impl Recorder {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ctp-attach-{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir(&directory).expect("a directory for this test");
        let recorder = Recorder { directory };
        recorder.write(&Self::fresh(&|_| {}));
        recorder
    }

    /// A recorder that sleeps.
    pub fn asleep() -> Self {
        let recorder = Recorder::new();
        recorder.poke(0x14, 1);
        recorder
    }

    fn fresh(change: &dyn Fn(&Region<'_>)) -> Vec<u8> {
        let plan = Plan::without_lanes(STATIONS);
        let kibs = plan.bytes().div_ceil(1024) as usize;
        let mut memory = vec![Kib([0; 1024]); kibs];
        let base = memory.as_mut_ptr().cast();
        // SAFETY: zeroed, aligned, owned here, as long as the vector, and not accessed otherwise
        // while the region is in use.
        let region = unsafe { Region::create(base, kibs * 1024, plan, &Recording::default()) };
        change(&region.expect("the memory fits the plan"));
        bytes_of(&memory)
    }

    pub fn write(&self, bytes: &[u8]) {
        fs::write(self.shm(), bytes).expect("the memory is written");
    }

    /// Changes a word of the header.
    pub fn poke(&self, offset: u64, word: u32) {
        let file = File::options().write(true).open(self.shm());
        let written = file.and_then(|file| file.write_all_at(&word.to_le_bytes(), offset));
        written.expect("the memory is written");
    }

    pub fn shm(&self) -> PathBuf {
        self.directory.join("shm")
    }

    pub fn sock(&self) -> PathBuf {
        self.directory.join("sock")
    }

    /// A program with this role, under this recorder.
    pub fn program(&self, role: &str) -> Command {
        let mut program = alone(role);
        program.env("CTP_SHM_PATH", self.shm());
        program.env("CTP_SOCK_PATH", self.sock());
        program.env("CTP_MAX_STATIONS", STATIONS.to_string());
        program
    }

    /// A copy of the current memory.
    pub fn read(&self) -> Region<'static> {
        let bytes = fs::read(self.shm()).expect("the memory is there");
        let mut memory = vec![Kib([0; 1024]); bytes.len().div_ceil(1024)];
        for (kib, chunk) in memory.iter_mut().zip(bytes.chunks(1024)) {
            kib.0[..chunk.len()].copy_from_slice(chunk);
        }
        let memory = memory.leak();
        // SAFETY: aligned, leaked, and used through this region alone.
        let region =
            unsafe { Region::new(memory.as_mut_ptr().cast(), memory.len() * 1024, u32::MAX) };
        region.expect("a cTP memory")
    }
}

/// A program with this role, without a recorder.
pub fn alone(role: &str) -> Command {
    let mut program = Command::new(env::current_exe().expect("this program has a path"));
    program.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    for name in ["CTP_SHM_PATH", "CTP_SOCK_PATH", "CTP_MAX_STATIONS"] {
        program.env_remove(name);
    }
    program.env(ROLE, role);
    program
}

/// Runs the program to its end, which must be a success.
pub fn run(program: &mut Command) -> Output {
    let output = program.output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    output
}

pub fn stderr(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().map(str::to_owned).collect()
}

/// What the program printed after this word.
pub fn printed(output: &Output, word: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    line.unwrap_or_else(|| panic!("no {word} in {text}"))
        .to_owned()
}

/// Checks that the program ran untraced and reported the reason in a single line.
pub fn assert_refused(program: &mut Command, reason: &str) {
    let output = run(program);
    let lines = stderr(&output);
    assert!(lines.len() == 1, "one line: {lines:?}");
    assert!(
        lines[0].starts_with("ctp: not recording: ") && lines[0].contains(reason),
        "{lines:?}"
    );
    assert_eq!(printed(&output, "recorded="), "0");
}

/// Checks that the program ran with this many stations and printed no message.
pub fn assert_recorded(program: &mut Command, stations: u32) {
    let output = run(program);
    assert_eq!(stderr(&output), [] as [&str; 0]);
    assert_eq!(printed(&output, "recorded="), stations.to_string());
}

pub fn events(station: &Station) -> Vec<Epoch> {
    (0..station.event_head())
        .map(|n| match Dialect::PerSlot.fetch(station, n) {
            Fetched::Whole(epoch) => epoch,
            other => panic!("event {n}: {other:?}"),
        })
        .collect()
}

/// One letter for each event.
pub fn life(station: &Station) -> String {
    events(station)
        .into_iter()
        .map(|epoch| b"?BRSD"[epoch.tail.kind as usize] as char)
        .collect()
}
