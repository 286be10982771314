//! A dump of the freestanding example, read back and compared with the program's own account.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod compact;
mod follow;
mod gdb;
mod gdb_server;
mod refused;
mod ring;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use ctp_trace::Reader;
use ctp_trace::record::{
    Birth, CoroutineId, CoroutineKind, End, Event, EventCounts, EventKind, ExitReason, Module,
    Place, Record, Site, SiteId, Start, WaitKind, Wake,
};
use tempfile::TempDir;

/// Slots of a station: what a dump has of each coroutine.
const KEPT: u64 = 8;

/// Where the count of stations is that were handed out, and what stands before the first.
const ALLOCATED: usize = 0x10;
const HEADER_BYTES: usize = 1024;

/// A station: its size, and where its times and slots are.
const STATION_BYTES: usize = 1024;
const BIRTH_TS: usize = 0x08;
const WAKE_TS: usize = 0x20;
const SLOTS: std::ops::Range<usize> = 0x40..0x240;
const SLOT_BYTES: usize = 64;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/freestanding");

/// The program, the memory that it dumped, and its own output.
struct Target {
    elf: PathBuf,
    dump: Vec<u8>,
    tasks: BTreeMap<String, Reported>,
    code: (u64, Vec<u8>),
}

/// The program's own account of a task.
#[derive(Clone, Copy, Debug)]
struct Reported {
    runs: u64,
    suspends: u64,
    wakes: u64,
    answered: u64,
    last_ns: u64,
}

impl Reported {
    fn events(self) -> u64 {
        1 + self.runs + self.suspends
    }

    /// The task was woken after its last run began.
    fn is_stuck(self) -> bool {
        self.answered < self.wakes
    }
}

/// Built and run once for all tests.
fn target() -> &'static Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let elf = build();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ram.bin");
        let output = Command::new(&elf).arg(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let reported = String::from_utf8(output.stderr).unwrap();
        let mut tasks = BTreeMap::new();
        let mut code = (0, Vec::new());
        for line in reported.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words[at].parse::<u64>().unwrap();
            match words[0] {
                "task" => {
                    assert_eq!(words.len(), 12, "{line}");
                    let reported = Reported {
                        runs: number(3),
                        suspends: number(5),
                        wakes: number(7),
                        answered: number(9),
                        last_ns: number(11),
                    };
                    tasks.insert(words[1].to_owned(), reported);
                }
                "code" => {
                    let bytes = words[4..].iter().map(|byte| byte.parse().unwrap());
                    code = (number(2), bytes.collect());
                }
                _ => panic!("unexpected line: {line}"),
            }
        }
        Target {
            elf,
            dump: fs::read(path).unwrap(),
            tasks,
            code,
        }
    })
}

fn build() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("freestanding");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(Path::new(EXAMPLE).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&place)
        // Options for one build are not for the other.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    place.join("release/freestanding")
}

/// A directory with a dump, in which the recorder is run.
struct Recorder {
    dir: TempDir,
}

impl Recorder {
    fn given(dump: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ram.bin"), dump).unwrap();
        Recorder { dir }
    }

    fn run(&self, dump: &str, elf: &Path) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ctp-record"))
            .current_dir(&self.dir)
            .args(["--image", dump, "-o", "out", "--elf"])
            .arg(elf)
            .output()
            .unwrap()
    }

    fn trace(&self) -> Trace {
        let output = self.run("ram.bin", &target().elf);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(output.stdout, b"");
        let bytes = fs::read(self.dir.path().join("out")).unwrap();
        let records = Reader::new(&bytes).unwrap().map(Result::unwrap).collect();
        Trace {
            records,
            message: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Exit status 1, one line, no trace.
    fn refuses(&self, dump: &str, elf: &Path) -> String {
        let output = self.run(dump, elf);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(output.stdout, b"");
        assert!(!self.dir.path().join("out").exists());
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("ctp-record: "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        message
    }
}

struct Trace {
    records: Vec<Record>,
    message: String,
}

impl Trace {
    fn all<T: Clone>(&self, pick: impl Fn(&Record) -> Option<&T>) -> Vec<T> {
        self.records.iter().filter_map(pick).cloned().collect()
    }

    fn start(&self) -> Start {
        self.all(|r| {
            if let Record::Start(start) = r {
                Some(start)
            } else {
                None
            }
        })
        .remove(0)
    }

    fn end(&self) -> End {
        self.all(|r| {
            if let Record::End(end) = r {
                Some(end)
            } else {
                None
            }
        })[0]
    }

    fn modules(&self) -> Vec<Module> {
        self.all(|r| {
            if let Record::Module(module) = r {
                Some(module)
            } else {
                None
            }
        })
    }

    fn births(&self) -> Vec<Birth> {
        self.all(|r| {
            if let Record::Birth(birth) = r {
                Some(birth)
            } else {
                None
            }
        })
    }

    fn events(&self, of: CoroutineId) -> Vec<Event> {
        let mut events: Vec<Event> = self.all(|r| {
            if let Record::Event(event) = r {
                Some(event)
            } else {
                None
            }
        });
        events.retain(|event| event.coroutine == of);
        events
    }

    fn event_counts(&self, of: CoroutineId) -> EventCounts {
        let tallies = self.all(|r| {
            if let Record::EventCounts(event_counts) = r {
                Some(event_counts)
            } else {
                None
            }
        });
        tallies
            .into_iter()
            .find(|event_counts| event_counts.coroutine == of)
            .unwrap()
    }

    fn wake(&self, of: CoroutineId) -> Wake {
        let wakes = self.all(|r| {
            if let Record::Wake(wake) = r {
                Some(wake)
            } else {
                None
            }
        });
        wakes
            .into_iter()
            .rfind(|wake| wake.coroutine == of)
            .unwrap()
    }

    fn place(&self, of: SiteId) -> (String, u32) {
        let sites: Vec<Site> = self.all(|r| {
            if let Record::Site(site) = r {
                Some(site)
            } else {
                None
            }
        });
        match sites.into_iter().find(|site| site.id == of).unwrap().place {
            Place::Source { file, line, .. } => (file, line),
            other => panic!("not a line of the program: {other:?}"),
        }
    }

    /// All but what differs between two recordings of the same dump.
    fn facts(&self) -> &[Record] {
        &self.records[1..]
    }
}

/// The line in the example's source where this function announces its wait.
fn line_of_wait(function: &str) -> u32 {
    let source = fs::read_to_string(Path::new(EXAMPLE).join("src/tasks.rs")).unwrap();
    let start = format!("fn {function}(");
    let lines = source.lines().enumerate();
    let mut body = lines.skip_while(|(_, line)| !line.starts_with(&start));
    let (index, _) = body
        .find(|(_, line)| line.trim_start().starts_with("Wait::"))
        .unwrap();
    index as u32 + 1
}

// CT-07
#[test]
fn trace_of_a_dump_is_private_to_the_user() {
    use std::os::unix::fs::PermissionsExt as _;
    let recorder = Recorder::given(&target().dump);
    let output = Command::new("sh")
        .current_dir(&recorder.dir)
        .args(["-c", "umask 0; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_ctp-record"))
        .args(["--image", "ram.bin", "-o", "out"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let metadata = fs::metadata(recorder.dir.path().join("out")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[test]
fn every_event_is_recorded_or_counted_as_lost() {
    let trace = Recorder::given(&target().dump).trace();
    let births = trace.births();
    let names: Vec<&str> = births.iter().map(|birth| birth.name.as_str()).collect();
    assert_eq!(names, ["sensor", "display", "radio", "logger", "watchdog"]);
    let (mut recorded, mut lost) = (0, 0);
    for birth in &births {
        let reported = target().tasks[&birth.name];
        let events = trace.events(birth.coroutine);
        let first = reported.events().saturating_sub(KEPT);
        assert!(
            events
                .iter()
                .map(|event| event.n)
                .eq(first..reported.events()),
            "{birth:?}"
        );
        let expected = EventCounts {
            coroutine: birth.coroutine,
            attempted: reported.events(),
            recorded: reported.events() - first,
            ..EventCounts::default()
        };
        assert_eq!(trace.event_counts(birth.coroutine), expected);
        assert_eq!(birth.kind, CoroutineKind::Bare);
        assert!(events.iter().all(|event| event.tid == 0));
        recorded += expected.recorded;
        lost += first;
    }
    let end = trace.end();
    assert_eq!((end.events, end.lost, end.coroutines), (recorded, lost, 5));
    assert_eq!((end.refused, end.unnamed, end.quarantined), (0, 0, 0));
    assert_eq!(end.how, ExitReason::Image);
    assert_eq!(trace.start().capacity, 16);
}

#[test]
fn each_task_has_the_expected_line_and_wait_start() {
    let trace = Recorder::given(&target().dump).trace();
    let zero_ns = trace.start().started_monotonic_ns;
    for birth in trace.births() {
        let reported = target().tasks[&birth.name];
        let last = *trace.events(birth.coroutine).last().unwrap();
        assert_eq!(last.kind, EventKind::Suspend);
        assert_eq!(zero_ns + last.at.0, reported.last_ns);
        let line = line_of_wait(&birth.name);
        assert_eq!(trace.place(last.site), ("src/tasks.rs".to_owned(), line));
        assert_eq!(trace.place(birth.spawn_site).0, "src/tasks.rs");
        let wait = match birth.name.as_str() {
            "sensor" | "radio" => WaitKind::User,
            "logger" => WaitKind::Coroutine,
            _ => WaitKind::Timer,
        };
        assert_eq!(last.wait, wait, "{birth:?}");
    }
}

#[test]
fn woken_task_that_did_not_run_is_stuck() {
    let stuck: Vec<&String> = target()
        .tasks
        .iter()
        .filter(|(_, reported)| reported.is_stuck())
        .map(|(name, _)| name)
        .collect();
    assert_eq!(stuck, ["radio"]);
    assert!(20 <= target().tasks["radio"].runs);
    let trace = Recorder::given(&target().dump).trace();
    for birth in trace.births() {
        let reported = target().tasks[&birth.name];
        let last = *trace.events(birth.coroutine).last().unwrap();
        let wake = trace.wake(birth.coroutine);
        assert_eq!(u64::from(wake.count), reported.wakes);
        assert_eq!(u64::from(last.wake_seen), reported.answered);
    }
    assert!(
        trace
            .message
            .contains("1 coroutine looks stuck; next: ctp-report --stuck -i out")
    );
}

#[test]
fn an_address_in_a_module_leads_to_the_same_bytes_of_the_file() {
    let trace = Recorder::given(&target().dump).trace();
    let (address, code) = &target().code;
    let modules = trace.modules();
    let module = modules
        .iter()
        .find(|m| (m.start..m.end).contains(address))
        .unwrap();
    let at = (address - module.start + module.file_offset) as usize;
    let elf = fs::read(&target().elf).unwrap();
    assert_eq!(&elf[at..at + code.len()], code);
    assert_eq!(
        module.path,
        fs::canonicalize(&target().elf)
            .unwrap()
            .as_os_str()
            .as_encoded_bytes()
    );
    assert!(!module.build_id.is_empty());
}

#[test]
fn the_memory_is_found_between_other_bytes() {
    let dump = &target().dump;
    let clean = Recorder::given(dump).trace();
    // Neither aligned, nor the first match.
    let magic = &dump[..8];
    let junk = [&[0xA5; 333], magic, &[0xFF; 4096]].concat();
    let found = Recorder::given(&[&junk[..], dump, &junk].concat()).trace();
    assert_eq!(found.facts(), clean.facts());
}

#[test]
fn initial_memory_is_not_mistaken_for_the_running_program() {
    let dump = &target().dump;
    let mut initial = dump.clone();
    initial[ALLOCATED..ALLOCATED + 4].fill(0);
    initial[HEADER_BYTES..].fill(0);
    let clean = Recorder::given(dump).trace();
    let found = Recorder::given(&[&initial[..], dump].concat()).trace();
    assert_eq!(found.facts(), clean.facts());
    let which = format!(
        "2 memories of a probe are in it: read is the first in which a coroutine was born, else the \
         first; it is at {:#x}",
        dump.len()
    );
    assert!(found.message.contains(&which), "{}", found.message);
    let end = "the image ends with its last record, ";
    assert!(found.message.contains(end), "{}", found.message);
    assert!(!clean.message.contains("memories"), "{}", clean.message);
}

#[test]
fn clock_that_does_not_run_is_reported() {
    let mut dump = target().dump.clone();
    let count = u32::from_le_bytes(dump[ALLOCATED..ALLOCATED + 4].try_into().unwrap());
    let stations = dump[HEADER_BYTES..].chunks_exact_mut(STATION_BYTES);
    for station in stations.take(count as usize) {
        station[BIRTH_TS..BIRTH_TS + 8].fill(0);
        station[WAKE_TS..WAKE_TS + 8].fill(0);
        for slot in station[SLOTS].chunks_exact_mut(SLOT_BYTES) {
            slot[..8].fill(0);
        }
    }
    let message = Recorder::given(&dump).trace().message;
    assert!(message.contains("now_ns() reads did not run"), "{message}");
    let clean = Recorder::given(&target().dump).trace().message;
    assert!(!clean.contains("now_ns"), "{clean}");
}
