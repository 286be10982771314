//! Our probe under a foreign recorder: memory with a plain cTP v1 header only, read back by the
//! offsets of the published protocol.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::lab::fixture;

const STATIONS: u64 = 4;
const STATION_BYTES: u64 = 1024;

/// What a v1 reader takes from a slot.
#[derive(Debug, PartialEq, Eq)]
struct Slot {
    timestamp: u64,
    tid: u64,
    addr: u64,
    seq: u64,
    is_active: u8,
}

fn word(file: &File, offset: u64) -> u64 {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, offset)
        .expect("within the file");
    u64::from_le_bytes(bytes)
}

fn slots(file: &File, station: u64) -> Vec<Slot> {
    let first = STATION_BYTES * (1 + station) + 0x40;
    (0..8)
        .map(|index| first + 64 * index)
        .map(|at| Slot {
            timestamp: word(file, at),
            tid: word(file, at + 0x08),
            addr: word(file, at + 0x10),
            seq: word(file, at + 0x18),
            is_active: word(file, at + 0x38).to_le_bytes()[7],
        })
        .collect()
}

fn v1_memory(path: &std::path::Path) -> File {
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .expect("new");
    file.set_len(STATION_BYTES * (1 + STATIONS)).expect("room");
    file.write_all_at(&0x434F_524F_5452_4352_u64.to_le_bytes(), 0)
        .expect("magic");
    file.write_all_at(&1_u32.to_le_bytes(), 8).expect("version");
    file.write_all_at(&(STATIONS as u32).to_le_bytes(), 12)
        .expect("stations");
    file
}

// CTP-14
#[test]
fn a_v1_recorder_reads_every_event_of_our_probe() {
    let directory = tempfile::tempdir().expect("room");
    let memory = v1_memory(&directory.path().join("memory"));
    let _socket = UnixListener::bind(directory.path().join("socket")).expect("a socket");
    let mut program = Command::new(fixture("paced"))
        .arg(directory.path().join("truth"))
        .args(["2", "3", "0"])
        .env("CTP_SHM_PATH", directory.path().join("memory"))
        .env("CTP_SOCK_PATH", directory.path().join("socket"))
        .env("CTP_MAX_STATIONS", STATIONS.to_string())
        .spawn()
        .expect("the program runs");
    let tid = u64::from(program.id());
    assert!(program.wait().expect("an exit status").success());
    let truth = fs::read_to_string(directory.path().join("truth")).expect("its account");
    assert_eq!(truth, "paced-0 8\npaced-1 7\n");

    // Born and running, then run and suspended three times; the first coroutine runs once more.
    let first = slots(&memory, 0);
    let active: Vec<u8> = first.iter().map(|slot| slot.is_active).collect();
    assert_eq!(active, [1, 1, 0, 1, 0, 1, 0, 1]);
    assert!(
        first.iter().all(|slot| slot.seq == 2 && slot.tid == tid),
        "{first:?}"
    );
    assert!(
        first
            .iter()
            .all(|slot| (slot.addr == 0) == (slot.is_active == 1)),
        "{first:?}"
    );
    assert!(first.is_sorted_by_key(|slot| slot.timestamp), "{first:?}");
    let second = slots(&memory, 1);
    assert_eq!(second[6].is_active, 0);
    assert_eq!(second[7].seq, 0, "its eighth slot was never written");
    assert_ne!(
        word(&memory, STATION_BYTES),
        word(&memory, 2 * STATION_BYTES),
        "ids differ"
    );
    assert_eq!(
        word(&memory, 0x10) as u32,
        2,
        "two stations were handed out"
    );
    assert_eq!(word(&memory, 0x18), 0, "the rest of the header is not ours");
}

// CTP-23
#[test]
fn under_a_v1_recorder_no_station_is_reused() {
    let directory = tempfile::tempdir().expect("room");
    let memory = v1_memory(&directory.path().join("memory"));
    let truth = directory.path().join("truth");
    let mut program = Command::new(fixture("churn"))
        .arg(&truth)
        .arg("20")
        .env("CTP_SHM_PATH", directory.path().join("memory"))
        .env("CTP_MAX_STATIONS", STATIONS.to_string())
        .spawn()
        .expect("the program runs");
    assert!(program.wait().expect("an exit status").success());
    let truth = fs::read_to_string(truth).expect("its account");
    let given: Vec<u64> = truth
        .lines()
        .filter_map(|line| line.split(' ').nth(1)?.parse().ok())
        .filter(|id| *id != 0)
        .collect();
    let found: Vec<u64> = (1..=STATIONS)
        .map(|station| word(&memory, STATION_BYTES * station))
        .collect();
    assert_eq!(found, given, "the first four only");
}
