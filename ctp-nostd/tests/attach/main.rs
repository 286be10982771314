//! Attaching on Linux, seen from both sides: a child process is the program, the test is the
//! recorder. The child is this test binary again; `program.rs` holds what it does.

mod bounds;
mod locked;
mod program;
mod recorder;
mod secure;
mod stdio;

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use ctp_nostd::intern::{self, EntryKind};
use ctp_nostd::layout::Station;
use ctp_nostd::site::SiteWord;
use ctp_nostd::{Region, WAIT_UNREGISTERED, WaitKind};

use recorder::{
    Recorder, STATIONS, alone, assert_recorded, assert_refused, events, life, printed, run, stderr,
};

/// Not a test: the entry point of the child.
#[test]
fn child() {
    program::play();
}

// CT-23
#[test]
fn without_a_recorder_the_probe_leaves_no_sign() {
    let [quiet, nothing] = ["quiet", "nothing"].map(|role| run(&mut alone(role)));
    let before_the_time = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.split("finished in").next().map(str::to_owned)
    };
    assert_eq!(before_the_time(&quiet), before_the_time(&nothing));
    assert_eq!(
        (stderr(&quiet), quiet.stderr),
        (stderr(&nothing), nothing.stderr)
    );
}

// CTP-02, CTP-03
#[test]
fn invalid_memory_is_refused() {
    let recorder = Recorder::new();
    let whole = fs::read(recorder.shm()).expect("just written");
    let many_tasks = || recorder.program("many-tasks");
    assert_recorded(&mut many_tasks(), STATIONS);

    recorder.write(&vec![0; whole.len()]);
    assert_refused(&mut many_tasks(), "magic is 0x0000000000000000");
    recorder.write(&whole);
    recorder.poke(0, 0xDEAD_BEEF);
    assert_refused(&mut many_tasks(), "magic");
    recorder.write(&whole);
    recorder.poke(8, 2);
    assert_refused(&mut many_tasks(), "version is 2");
    recorder.write(&whole);
    recorder.poke(12, 0);
    assert_refused(&mut many_tasks(), "room for 0 coroutines");
    recorder.write(&[]);
    assert_refused(&mut many_tasks(), "too short");
    recorder.write(&whole[..1500]);
    assert_refused(&mut many_tasks(), "too short");
    assert_refused(
        many_tasks().env("CTP_SHM_PATH", &recorder.directory),
        "opening CTP_SHM_PATH",
    );
    assert_refused(
        many_tasks().env("CTP_SHM_PATH", recorder.sock()),
        "opening CTP_SHM_PATH",
    );
}

// CTP-03
#[test]
fn smallest_of_three_station_limits_applies() {
    let recorder = Recorder::new();
    let with = |number: &str| {
        let mut program = recorder.program("many-tasks");
        program.env("CTP_MAX_STATIONS", number);
        program
    };
    let whole = fs::read(recorder.shm()).expect("just written");
    for (number, recorded) in [("3", 3), ("100", 4), ("4294967295", 4)] {
        recorder.write(&whole);
        assert_recorded(&mut with(number), recorded);
    }
    recorder.write(&whole[..1024 * 3]);
    assert_recorded(&mut with("100"), 2);
    let length = fs::metadata(recorder.shm()).expect("the file exists").len();
    assert_eq!(length, 1024 * 3, "the file is as long as before");

    recorder.write(&whole);
    recorder.poke(12, u32::MAX);
    let room = (whole.len() / 1024 - 1).min(10) as u32;
    assert_recorded(&mut with("4294967295"), room);
}

// CTP-03
#[test]
fn invalid_environment_is_refused() {
    let recorder = Recorder::new();
    let many_tasks = || recorder.program("many-tasks");
    for number in ["many", "", "-1", "4294967296", "4 "] {
        let mut program = many_tasks();
        assert_refused(program.env("CTP_MAX_STATIONS", number), "CTP_MAX_STATIONS");
    }
    assert_refused(many_tasks().env("CTP_MAX_STATIONS", "0"), "0 coroutines");
    assert_refused(
        many_tasks().env_remove("CTP_SHM_PATH"),
        "CTP_SHM_PATH is not set",
    );
    assert_refused(many_tasks().env("CTP_SHM_PATH", ""), "opening CTP_SHM_PATH");
    assert_eq!(
        recorder.read().allocated().len(),
        0,
        "no coroutine was recorded"
    );

    let mut partly = many_tasks();
    partly
        .env_remove("CTP_SOCK_PATH")
        .env_remove("CTP_MAX_STATIONS");
    assert_recorded(&mut partly, STATIONS);
}

// CTP-04, CTP-05
#[test]
fn coroutine_without_station_is_counted() {
    let recorder = Recorder::new();
    assert_recorded(&mut recorder.program("many-tasks"), STATIONS);
    assert_eq!(recorder.read().header.counters().refused, 10 - STATIONS);
    recorder.poke(0x10, u32::MAX);
    assert_eq!(
        printed(&run(&mut recorder.program("many-tasks")), "recorded="),
        "0"
    );
    assert_eq!(recorder.read().header.counters().refused, 20 - STATIONS);
}

// CTP-24
#[test]
fn two_processes_share_a_memory() {
    let recorder = Recorder::new();
    let mut ids = Vec::new();
    for _ in 0..2 {
        recorder.poke(0x10, ids.len() as u32);
        let mut program = recorder.program("traced");
        program.env("CTP_MAX_STATIONS", "8");
        run(&mut program);
        let region = recorder.read();
        let identities = region.allocated().iter().filter_map(Station::identity);
        ids = identities
            .map(|identity| (identity.owner, identity.probe_id))
            .collect();
    }
    let attached: Vec<u32> = recorder
        .read()
        .attaches
        .iter()
        .map_while(|row| row.pid())
        .collect();
    assert!(attached.len() == 2 && attached[0] != attached[1]);
    assert!(
        ids.iter()
            .all(|(owner, id)| [1, 2].contains(owner) && u64::from(*owner) == id >> 48)
    );
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), STATIONS as usize);
}

/// Starts the program, waits until it has attached, calls `meanwhile`, and lets the program ring.
fn ring_after(mut program: Command, rounds: u32, meanwhile: impl FnOnce()) {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdout = io::BufReader::new(child.stdout.take().expect("piped above"));
    let mut line = String::new();
    while line.trim() != "attached" {
        line.clear();
        let length = io::BufRead::read_line(&mut stdout, &mut line).expect("a pipe");
        assert!(length > 0, "the program attaches");
    }
    meanwhile();
    let mut stdin = child.stdin.take().expect("piped above");
    io::Write::write_all(&mut stdin, format!("{rounds}\n").as_bytes())
        .expect("the program reads stdin");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("a pipe");
    let status = wait(child);
    assert!(status, "{rest}");
}

fn wait(mut child: Child) -> bool {
    child.wait().expect("a child of this process").success()
}

// CTP-17
#[test]
fn unreachable_socket_is_counted() {
    let recorder = Recorder::asleep();
    let refused = recorder.directory.join("refused");
    drop(UnixListener::bind(&refused).expect("a socket"));
    let long = recorder.directory.join("x".repeat(120));
    for (path, failed) in [
        (recorder.sock(), 1),
        (refused, 2),
        (long, 3),
        (PathBuf::new(), 4),
    ] {
        let mut program = recorder.program("ringer");
        program.env("CTP_SOCK_PATH", path);
        ring_after(program, 1, || {});
        // The birth rang as well, because the recorder slept from the beginning.
        assert_eq!(recorder.read().header.counters().wakes_failed, failed + 1);
    }
    assert_eq!(recorder.read().header.counters().wakes_sent, 0);
}

// CTP-16, CTP-17
#[test]
fn sleep_ends_with_a_single_byte() {
    let recorder = Recorder::new();
    let listener = UnixListener::bind(recorder.sock()).expect("a socket");
    ring_after(recorder.program("ringer"), 3, || {});
    let (mut doorbell, _) = listener.accept().expect("the program had connected");
    let mut bytes = Vec::new();
    doorbell
        .read_to_end(&mut bytes)
        .expect("the program hung up");
    assert_eq!(bytes.len(), 3);
    assert_eq!(recorder.read().header.counters().wakes_sent, 3);
}

// CTP-17
#[test]
fn reused_descriptor_gets_no_doorbell_byte() {
    let recorder = Recorder::new();
    let _listener = UnixListener::bind(recorder.sock()).expect("a socket");
    let program = recorder
        .program("daemon")
        .spawn()
        .expect("the program starts");
    assert!(wait(program));
    assert_eq!(recorder.read().header.counters().wakes_failed, 1);
}

// CTP-17
#[test]
fn full_socket_does_not_block() {
    const ROUNDS: u32 = 2000;
    let recorder = Recorder::new();
    let _listener = UnixListener::bind(recorder.sock()).expect("a socket");
    ring_after(recorder.program("ringer"), ROUNDS, || {});
    let counters = recorder.read().header.counters();
    assert!(counters.wakes_would_block > 0 && counters.wakes_failed == 0);
    assert_eq!(counters.wakes_sent + counters.wakes_would_block, ROUNDS);
}

// CTP-17, CTP-18
#[test]
fn dead_recorder_does_not_kill_the_program() {
    let recorder = Recorder::new();
    let listener = UnixListener::bind(recorder.sock()).expect("a socket");
    ring_after(recorder.program("ringer"), 2, || drop(listener));
    let counters = recorder.read().header.counters();
    assert_eq!((counters.wakes_sent, counters.wakes_failed), (0, 2));
}

// CTP-32
#[test]
fn fork_is_untraced_and_changes_nothing() {
    let recorder = Recorder::new();
    run(&mut recorder.program("fork"));
    let region = recorder.read();
    assert_eq!(region.allocated().len(), 1);
    assert_eq!(life(&region.stations[0]), "BRSD");
    assert_eq!(region.stations[0].wakes().count, 0);
    assert_eq!(region.header.counters().refused, 0);
    assert_eq!(
        region.attaches.iter().filter_map(|row| row.pid()).count(),
        1
    );
}

// CTP-25, CTP-26
#[test]
fn event_carries_the_thread_id() {
    let recorder = Recorder::new();
    let output = run(&mut recorder.program("traveller"));
    let events = events(&recorder.read().stations[0]);
    let mut tids: Vec<u64> = events.iter().map(|event| event.tid).collect();
    assert_eq!(
        tids.pop(),
        tids.first().copied(),
        "death and birth are on the same thread"
    );
    tids.dedup();
    assert_eq!(format!("{tids:?}"), printed(&output, "tids="));
    assert!(events.is_sorted_by_key(|event| event.timestamp));
}

fn name_of(region: &Region<'_>, station: &Station) -> String {
    let meta = station.identity().expect("no coroutine is moving in").meta;
    let name = intern::lookup(region.names, meta).expect("a name");
    name.text.as_str().to_owned()
}

/// The code of a wait at the end of a poll that took no waker; wakers are counted with the feature only.
fn of_a_silent_poll() -> u8 {
    if cfg!(feature = "alloc") {
        WAIT_UNREGISTERED
    } else {
        WaitKind::Unknown as u8
    }
}

// CT-12, CTP-20
#[test]
fn traced_future_is_recorded_from_birth_to_death() {
    let recorder = Recorder::new();
    run(&mut recorder.program("traced"));
    let region = recorder.read();
    let lives: Vec<String> = region.allocated().iter().map(life).collect();
    assert_eq!(lives, ["BRSRSRD", "BRD", "BRSD", "BRSD"]);
    assert!(
        region
            .stations
            .iter()
            .filter_map(Station::identity)
            .all(|identity| identity.is_dead)
    );
    let names = region
        .stations
        .iter()
        .map(|station| name_of(&region, station));
    let names: Vec<String> = names.collect();
    assert!(names[0].ends_with("::TwoWaits"));
    assert_eq!(names[1..], ["panics", "inner", "outer"]);

    let whole = events(&region.stations[0]);
    let (timer, unknown) = (whole[2], whole[4]);
    assert_eq!(timer.tail.wait_kind, WaitKind::Timer as u8);
    let in_nine_seconds = timer.timestamp + 8_000_000_000..=timer.timestamp + 9_000_100_000;
    assert!(in_nine_seconds.contains(&timer.arg));
    assert_eq!(
        (unknown.tail.wait_kind, unknown.arg),
        (of_a_silent_poll(), 0)
    );
    let site = intern::lookup(region.sites, SiteWord(unknown.site).interned());
    let site = site.expect("its own poll function");
    assert_eq!(
        (site.kind, site.text.as_str()),
        (EntryKind::Function as u32, &*names[0])
    );

    let death = |index: usize| {
        events(&region.stations[index])
            .last()
            .map(|last| last.timestamp)
    };
    assert!(death(2) <= death(3), "the inner future ends first");
    let inner = events(&region.stations[2])[0].timestamp;
    assert!(
        death(1) <= Some(inner),
        "a panic is the end, not the later drop"
    );
}
