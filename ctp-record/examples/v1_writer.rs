//! A plain cTP v1 peer, written from the protocol alone, without code of our probe:
//! `v1_writer TRUTH DIALECT COROUTINES EVENTS BURST PAUSE_US [silent] [dead] [patient] [END]`.
//!
//! DIALECT is `d1` (a sequence for each station, a single store at the end) or `d2` (a sequence for
//! each slot, odd during a write). Each coroutine has a thread, suspends and runs in turn, and
//! pauses after each BURST events. `silent`: does not connect, so it never rings. `dead`: marks its
//! stations dead at the end. `patient`: after every third event, waits until the recorder has begun
//! to read it. END is `exit`, `abort` or `kill`: the program ends in this way (status 7 for `exit`)
//! as soon as the last coroutine is done, and writes no TRUTH. Otherwise TRUTH receives a line for
//! each event (probe id, index, time, thread, running or not, address), then the number of free
//! bytes that were changed.
#![allow(
    unsafe_code,
    reason = "a v1 peer is a raw pointer into shared memory and nothing else"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, fence};
use std::thread;
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};
use rustix::time::{ClockId, clock_gettime};

const MAGIC: u64 = 0x434F_524F_5452_4352;
const MAX_STATIONS: usize = 0x0C;
const ALLOCATED: usize = 0x10;
const SLEEPING: usize = 0x14;
const IS_DEAD: usize = 0x10;
/// Events that a patient coroutine has between two visits of the recorder. In D1, of eight slots seven can
/// be read, so as many again may come before a visit that has begun is over.
const BETWEEN_VISITS: u64 = 3;
/// No address of any program's code.
const ADDR: u64 = 0x0BAD_0000_0000_0000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    let has = |word: &str| arguments[6..].iter().any(|argument| argument == word);
    let variable = |name: &str| std::env::var(name).expect("is set by the recorder");
    let memory = Shared::open(&variable("CTP_SHM_PATH"));
    let socket = (!has("silent"))
        .then(|| UnixStream::connect(variable("CTP_SOCK_PATH")).expect("the recorder listens"));
    let writer = Writer {
        memory: &memory,
        socket: socket.as_ref(),
        is_d1: arguments[1] == "d1",
        events: number(3),
        burst: number(4),
        pause: Duration::from_micros(number(5)),
        dies: has("dead"),
        is_patient: has("patient"),
    };
    let mut truth = String::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..number(2))
            .map(|_| scope.spawn(|| writer.live()))
            .collect();
        for thread in threads {
            truth += &thread.join().expect("does not panic");
        }
        end_at_once(&has);
    });
    writeln!(truth, "touched {}", memory.touched()).expect("a string");
    std::fs::write(&arguments[0], truth).expect("truth can be written");
}

/// Ends the program without any cleanup, if `has` knows a word for that.
fn end_at_once(has: &impl Fn(&str) -> bool) {
    if has("exit") {
        // SAFETY: ends the process; nothing in it is needed any more.
        unsafe { libc::_exit(7) };
    }
    if has("abort") {
        std::process::abort();
    }
    if has("kill") {
        let me = rustix::process::getpid();
        // The program is dead when this returns.
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    }
}

struct Writer<'m> {
    memory: &'m Shared,
    socket: Option<&'m UnixStream>,
    is_d1: bool,
    events: u64,
    burst: u64,
    pause: Duration,
    dies: bool,
    is_patient: bool,
}

struct Event {
    n: u64,
    at: u64,
    tid: u64,
    addr: u64,
    is_active: bool,
}

impl Writer<'_> {
    /// A coroutine's life. Returns the events that it wrote.
    fn live(&self) -> String {
        let index = self.memory.u32(ALLOCATED).fetch_add(1, Relaxed) as usize;
        if index >= self.memory.u32(MAX_STATIONS).load(Relaxed) as usize {
            return String::new();
        }
        let station = 1024 * (1 + index);
        let probe_id = 0x7F00_0000_0000 + station as u64;
        self.memory.u64(station).store(probe_id, Relaxed);
        self.memory.u64(station + 8).store(now_ns(), Relaxed);
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u64;
        let mut truth = String::new();
        for n in 0..self.events {
            let is_active = n % 2 == 1;
            let event = Event {
                n,
                at: now_ns(),
                tid,
                addr: if is_active { 0 } else { ADDR + hash(n) },
                is_active,
            };
            self.publish(station, &event);
            let Event { at, addr, .. } = event;
            writeln!(truth, "{probe_id} {n} {at} {tid} {is_active} {addr}").expect("a string");
            if (n + 1) % self.burst == 0 {
                thread::sleep(self.pause);
            }
            if self.is_patient && (n + 1) % BETWEEN_VISITS == 0 {
                self.await_look();
            }
        }
        if self.dies {
            self.memory.u8(station + IS_DEAD).store(1, Release);
        }
        truth
    }

    fn publish(&self, station: usize, event: &Event) {
        let number = if self.is_d1 { event.n + 1 } else { event.n };
        let slot = station + 0x40 + 64 * (number % 8) as usize;
        let seq = self.memory.u64(slot + 0x18);
        if self.is_d1 {
            self.write(slot, event);
            seq.store(number, Release);
        } else {
            let before = seq.load(Relaxed);
            seq.store(before + 1, Relaxed);
            fence(Release);
            self.write(slot, event);
            seq.store(before + 2, Release);
        }
        self.ring();
    }

    fn write(&self, slot: usize, event: &Event) {
        self.memory.u64(slot).store(event.at, Relaxed);
        self.memory.u64(slot + 0x08).store(event.tid, Relaxed);
        self.memory.u64(slot + 0x10).store(event.addr, Relaxed);
        self.memory
            .u8(slot + 0x3F)
            .store(event.is_active.into(), Relaxed);
    }

    fn ring(&self) {
        let sleeping = self.memory.u32(SLEEPING);
        fence(SeqCst);
        let Some(mut socket) = self.socket else {
            return;
        };
        if sleeping.load(Acquire) == 1 && sleeping.compare_exchange(1, 0, SeqCst, SeqCst).is_ok() {
            socket.write_all(&[1]).expect("the recorder reads");
        }
    }
}

impl Writer<'_> {
    /// The recorder reads whenever it has announced its sleep. An earlier announcement was taken
    /// back by the ring of the latest event, or is taken back here if this writer does not ring.
    fn await_look(&self) {
        let sleeping = self.memory.u32(SLEEPING);
        if self.socket.is_none() {
            sleeping.store(0, SeqCst);
        }
        while sleeping.load(Acquire) == 0 {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// The memory, found and checked as the protocol says.
struct Shared {
    map: MmapRaw,
}

impl Shared {
    fn open(path: &str) -> Self {
        let file = std::fs::File::options().read(true).write(true).open(path);
        let map = MmapOptions::new().map_raw(&file.expect("can be opened"));
        let memory = Shared {
            map: map.expect("can be mapped"),
        };
        assert_eq!(memory.u64(0).load(Acquire), MAGIC);
        assert_eq!(memory.u32(8).load(Relaxed), 1);
        memory
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.map.len());
        self.map.as_mut_ptr().wrapping_add(offset).cast()
    }

    fn u64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `at` has checked the bounds; every offset of a u64 is a multiple of 8; all
        // accesses are atomic.
        unsafe { AtomicU64::from_ptr(self.at(offset)) }
    }

    fn u32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as above, and every offset of a u32 is a multiple of 4.
        unsafe { AtomicU32::from_ptr(self.at(offset)) }
    }

    fn u8(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: as above; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(self.at(offset)) }
    }

    /// Bytes of the allocated stations that no v1 peer writes and that are not zero.
    fn touched(&self) -> usize {
        let allocated = self.u32(ALLOCATED).load(Relaxed);
        let stations = 1..=allocated.min(self.u32(MAX_STATIONS).load(Relaxed)) as usize;
        let is_free = |offset: usize| match offset {
            0x11..0x40 | 0x240.. => true,
            0x40..0x240 => matches!((offset - 0x40) % 64, 0x20..0x3F),
            _ => false,
        };
        stations
            .flat_map(|index| (0..1024).map(move |offset| (index, offset)))
            .filter(|(_, offset)| is_free(*offset))
            .filter(|(index, offset)| self.u8(1024 * index + offset).load(Relaxed) != 0)
            .count()
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Twelve random-looking bits that identify the event.
fn hash(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52
}
