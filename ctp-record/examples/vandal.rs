//! A target that attacks its recorder: `vandal TRUTH ATTACK [NUMBER]`.
//!
//! Before the attack it records a coroutine, `before`, and afterwards `after`, each with 10 events.
//! Exits with 7. TRUTH receives the kernel's errors for the attacks that must fail.
//!
//! | ATTACK | |
//! | --- | --- |
//! | `scribble` | overwrites all of the memory with random bytes, NUMBER times, and restores the contents |
//! | `spite` | the same with values at which sums and bounds break, except in words that identify the memory |
//! | `cut` | shrinks, grows and seals the memory, and punches holes into it |
//! | `babble` | writes NUMBER KiB of garbage to the socket, without a pause |
//! | `knock` | connects NUMBER times, and hangs up at once |
//! | `crowd` | connects NUMBER times, and stays connected |
//! | `beg` | asks for memory on NUMBER connections |
//! | `slam` | closes every descriptor except its standard ones |
#![allow(
    unsafe_code,
    reason = "writes over shared memory and closes descriptors of others"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::slice;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ctp_nostd::request::REQUEST;
use ctp_nostd::{self as ctp, Task, Wait};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate};
use rustix::io::Errno;

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = arguments
        .get(2)
        .map_or(0, |word| word.parse().expect("a number"));
    behave("before");
    let message = misbehave(&arguments[1], number);
    behave("after");
    fs::write(&arguments[0], message).expect("truth can be written");
    std::process::exit(7);
}

/// Ten events, birth and death included.
fn behave(name: &str) {
    let task = Task::born(name);
    for event in 0..4 {
        task.run();
        task.suspend(Wait::user(event));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn misbehave(thread_event: &str, number: u64) -> String {
    match thread_event {
        "scribble" => overwrite(number, 0, random),
        "spite" => overwrite(number, CREDENTIALS, spiteful),
        "cut" => return cut(),
        "babble" => babble(number),
        "knock" => (0..number).for_each(|_| drop(connect())),
        "crowd" => drop((0..number).map_while(|_| connect()).collect::<Vec<_>>()),
        "beg" => beg(number),
        "slam" => slam(),
        other => panic!("no such attack: {other}"),
    }
    String::new()
}

/// Header words that a recorder checks for damage, and the count of stations, which it corrects.
const CREDENTIALS: usize = 7;

fn overwrite(rounds: u64, from: usize, word: fn(u64) -> u64) {
    let memory = Shared::open();
    let sane: Vec<u64> = memory
        .words()
        .iter()
        .map(|word| word.load(Relaxed))
        .collect();
    let mut doorbell = connect().expect("the recorder listens");
    let mut seed = 1;
    for _ in 0..rounds {
        // Makes the recorder read. Earlier bytes in the socket are enough.
        let _ = doorbell.write(&[0]);
        memory.count().store(u32::MAX, Relaxed);
        for place in &memory.words()[from..] {
            seed = random(seed);
            place.store(word(seed), Relaxed);
        }
    }
    for (place, word) in memory.words().iter().zip(sane) {
        place.store(word, Relaxed);
    }
}

/// xorshift64 (Marsaglia).
fn random(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}

/// Near 0, near 2^32, near 2^63, near 2^64, and pairs of such halves.
fn spiteful(random: u64) -> u64 {
    let half = |choice: u64| {
        [
            0,
            1,
            2,
            7,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFE,
            0xFFFF_FFFF,
        ][choice as usize % 8]
    };
    half(random) << 32 | half(random >> 3)
}

fn cut() -> String {
    let memory = Shared::open();
    let file = memory.file.as_fd();
    let length = memory.map.len() as u64;
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let thread_events = [
        ("empty", ftruncate(file, 0)),
        ("shrink", ftruncate(file, length - 1)),
        ("grow", ftruncate(file, 1 << 40)),
        ("seal", fcntl_add_seals(file, SealFlags::WRITE)),
        ("punch", fallocate(file, hole, 1024, length - 1024)),
    ];
    thread_events
        .map(|(thread_event, message)| match message {
            Ok(()) => format!("{thread_event} done\n"),
            Err(Errno::PERM) => format!("{thread_event} EPERM\n"),
            Err(error) => format!("{thread_event} {error}\n"),
        })
        .concat()
}

fn babble(kib: u64) {
    let mut socket = connect().expect("the recorder listens");
    for line in 0..kib * 16 {
        // A closed connection has no recorder to disturb.
        let _ = socket.write_all(&[random(line + 1) as u8; 64]);
    }
}

fn beg(number: u64) {
    drop(
        (0..number)
            .map_while(|_| {
                connect().map(|mut socket| {
                    socket.write_all(&REQUEST).expect("the recorder listens");
                    socket
                })
            })
            .collect::<Vec<_>>(),
    );
}

fn connect() -> Option<UnixStream> {
    UnixStream::connect(std::env::var("CTP_SOCK_PATH").expect("is set by the recorder")).ok()
}

fn slam() {
    // SAFETY: what used them will find them gone, which is the purpose.
    unsafe { libc::close_range(3, u32::MAX, 0) };
}

struct Shared {
    file: File,
    map: MmapRaw,
}

impl Shared {
    fn open() -> Self {
        let path = std::env::var("CTP_SHM_PATH").expect("is set by the recorder");
        let file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .expect("can be opened");
        let map = MmapOptions::new().map_raw(&file).expect("can be mapped");
        Shared { file, map }
    }

    fn count(&self) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned; all processes use atomics.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(0x10).cast()) }
    }

    fn words(&self) -> &[AtomicU64] {
        let words = self.map.as_mut_ptr().cast();
        // SAFETY: within the length of the mapping, and aligned; all processes use atomics.
        unsafe { slice::from_raw_parts(words, self.map.len() / size_of::<AtomicU64>()) }
    }
}
