//! One attached process: what stays for the life of it, and what a fork of it does.
//!
//! ```text
//!            attach()                     fork
//!   NOBODY ───────────> ATTACHED ──────────────────> FORKED
//!                        │    ^                        │
//!                        │    └────────────────────────┘ first born() or attach(): memory of its own
//!                        └──> exec: the new image is NOBODY
//! ```
//! A fork is noticed by a page that the kernel empties ([`Wiped`]): whatever was made before it
//! compares its attachment with that page's and is mute in the fork.
#![allow(unsafe_code, reason = "keeps things for the life of the process")]

use core::ptr;
use core::sync::atomic::AtomicPtr;

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::thread::{MembarrierCommand, membarrier};

use super::Linux;
use super::clock;
use super::memory::{self, Mapping, PAGE_BYTES, Wiped};
use super::socket::{Missing, Path, Rung, Socket};
use crate::memory::Region;
use crate::memory::layout::{Attach, Header};
use crate::memory::request::{self, Asked};
use crate::platform::Probe;
use crate::sync::{AtomicU32, Ordering};

/// What stays for the life of the process once it has attached.
#[derive(Debug)]
pub(super) struct Session {
    pub probe: Probe<Linux>,
    mapping: Mapping,
    socket: Option<Socket>,
    /// Where a fork asks.
    path: Path,
    limit: u32,
    /// The recorder wants no system calls. Asked once: a program may overwrite the header.
    pub forbids_calls: bool,
}

/// Where things lie of which each event asks. In cache lines of their own: a linker puts next to each
/// other what has nothing to do with each other, and a program may well write its own statics all the time.
#[repr(align(128))]
struct Whereabouts {
    /// Null until this process (or the one it was forked from) attached.
    session: AtomicPtr<Session>,
    /// Words that read 0 after a fork: a page of them, or [`NOBODY`] until this process attached.
    wiped: AtomicPtr<Wiped>,
    /// The header whose calibration is used; null without one of our recorder's.
    clock: AtomicPtr<Header>,
}

static AT: Whereabouts = Whereabouts {
    session: AtomicPtr::new(ptr::null_mut()),
    wiped: AtomicPtr::new(ptr::from_ref(&NOBODY).cast_mut()),
    clock: AtomicPtr::new(ptr::null_mut()),
};
static NOBODY: Wiped = Wiped::new();
/// Attachments of this process and its forebears; inherited by a fork, never restarted.
static ATTACHMENTS: AtomicU32 = AtomicU32::new(0);

/// Whether this process, or one that it was forked from, has attached.
pub(super) fn has_attached() -> bool {
    !AT.session.load(Ordering::Acquire).is_null()
}

/// Counts an attempt to attach. True if that is the first one.
pub(super) fn is_first_attempt() -> bool {
    ATTACHMENTS.fetch_add(1, Ordering::Relaxed) == 0
}

/// From now on the words of this page tell whether this process attached.
pub(super) fn use_page(page: &'static Wiped) {
    AT.wiped
        .store(ptr::from_ref(page).cast_mut(), Ordering::Release);
}

/// The session, unless there is none. A fork of the process that attached tries, once, to attach
/// by itself.
#[inline]
pub(super) fn current() -> Option<&'static Session> {
    let page = wiped();
    match page.attachment.load(Ordering::Acquire) {
        0 if ptr::eq(page, &NOBODY) => None,
        0 => follow(page),
        // The attachment comes after its session, so this is not that of the forebear.
        _ => session(),
    }
}

#[inline]
fn session() -> Option<&'static Session> {
    // SAFETY: null, or stored by `keep` after it wrote a whole session into memory that is
    // never unmapped and never written again.
    unsafe { AT.session.load(Ordering::Acquire).as_ref() }
}

/// The number of this attachment, 0 while not attached and in a fork. In a page of its own for good, once
/// this process (or one it was forked from) has attached.
#[inline]
pub(super) fn attachment_word() -> &'static AtomicU32 {
    &wiped().attachment
}

#[inline]
fn wiped() -> &'static Wiped {
    // SAFETY: a static, or a page of our own that is never unmapped. The kernel zeroes it in a fork,
    // which for an atomic is a write like any other.
    unsafe { &*AT.wiped.load(Ordering::Acquire) }
}

/// The header in which our recorder keeps a calibration of the processor's counter.
#[inline]
pub(super) fn clock_header() -> Option<&'static Header> {
    let header = AT.clock.load(Ordering::Acquire);
    // SAFETY: null, or the header of a region that is mapped for the life of the process.
    unsafe { header.as_ref() }
}

impl Session {
    /// One byte to the recorder; its outcome is told only in the header's counters.
    pub fn ring(&self) {
        let header = self.probe.region.header;
        let rung = self.socket.as_ref().map(Socket::ring);
        let counter = match rung.unwrap_or(Rung::Failed) {
            Rung::Sent => &header.wakes_sent,
            Rung::WouldBlock => &header.wakes_would_block,
            Rung::Failed => &header.wakes_failed,
        };
        if self.probe.region.extended {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Memory of this process's own, from the recorder.
pub(super) fn own(
    asked: Asked,
    socket: Option<&Socket>,
    limit: u32,
) -> Result<(Mapping, u16), Missing> {
    let file = socket.ok_or(Missing::Unreached)?.ask(asked)?;
    let mapping = Mapping::new(&file, limit).map_err(|_| Missing::Denied)?;
    let (header, rows) = (mapping.region.header, mapping.region.attaches);
    take_row(rows.first(), header); // else the recorder takes it that this process has ended first
    let number = header.memory_number.load(Ordering::Relaxed);
    Ok((mapping, request::attach_id(number)))
}

/// In a fork: attaches with memory of its own, or never. Nothing of it allocates, or asks libc for
/// anything. The first thread that needs it asks the recorder; the others would lose coroutines if
/// they did not wait until it has its answer.
#[cold]
fn follow(page: &Wiped) -> Option<&'static Session> {
    let parent = session()?;
    if !parent.probe.region.extended || page.follower.load(Ordering::Relaxed) == Wiped::NEVER {
        return None;
    }
    if parent.forbids_calls {
        // A fork would have to ask.
        if page.follower.swap(Wiped::NEVER, Ordering::Relaxed) != Wiped::NEVER {
            parent.probe.region.header.count_unreached();
        }
        return None;
    }
    let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let taken = page
        .follower
        .compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
    match taken {
        Ok(_) => {
            let session = attach_anew(page, parent);
            if session.is_none() {
                page.follower.store(Wiped::NEVER, Ordering::Relaxed);
            }
            session
        }
        // A signal handler that interrupted it: it cannot wait for what it keeps from going on.
        Err(other) if other == me => None,
        Err(_) => wait_for_follower(page),
    }
}

fn attach_anew(page: &Wiped, parent: &Session) -> Option<&'static Session> {
    let of_parent = &parent.probe.region;
    join_barrier(of_parent);
    let socket = Socket::dial(&parent.path);
    let (mapping, attach_id) = own(Asked::Own, socket.as_ref(), parent.limit)
        .inspect_err(|missing| {
            // This fork still shares its parent's memory.
            if *missing == Missing::Unreached {
                of_parent.header.count_unreached();
            }
        })
        .ok()?;
    ATTACHMENTS.fetch_add(1, Ordering::Relaxed);
    let (path, limit) = (parent.path.clone(), parent.limit);
    if begin(page, mapping, attach_id, socket, path, limit).is_err() {
        of_parent.header.count_unreached();
        return None;
    }
    parent.mapping.part();
    parent.socket.iter().for_each(Socket::close_in_a_fork);
    session()
}

/// Another thread attaches this fork, which takes no longer than its own patience.
fn wait_for_follower(page: &Wiped) -> Option<&'static Session> {
    for _ in 0..LOOKS {
        if page.attachment.load(Ordering::Acquire) != 0 {
            return session();
        }
        if page.follower.load(Ordering::Relaxed) == Wiped::NEVER {
            return None;
        }
        // Interrupted, it looks sooner.
        let _ = poll(&mut [], Some(&BETWEEN_LOOKS));
    }
    None
}

/// Longer, together, than the recorder is waited for.
const LOOKS: u32 = 6_000;
const BETWEEN_LOOKS: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000,
};

/// Everything is there: from now on there are events.
pub(super) fn begin(
    page: &Wiped,
    mapping: Mapping,
    attach_id: u16,
    socket: Option<Socket>,
    path: Path,
    limit: u32,
) -> Result<(), Errno> {
    let region = mapping.region;
    let attachment = ATTACHMENTS.load(Ordering::Relaxed);
    if region.extended {
        AT.clock
            .store(ptr::from_ref(region.header).cast_mut(), Ordering::Release);
    }
    keep(Session {
        probe: Probe::attached(region, attach_id, attachment)
            .ordered_by_recorder(join_barrier(&region)),
        mapping,
        socket,
        path,
        limit,
        forbids_calls: region.header.forbids_calls(),
    })?;
    page.attachment.store(attachment, Ordering::Release);
    Ok(())
}

/// Has the recorder declared that it issues a `membarrier` before each sleep, and does it reach
/// this process? Registering is cheap only while there is one thread, and nobody looks at the process's
/// memory from outside: else the kernel waits for all processors to have come by, which takes 5 to 30 ms.
/// The recorder looks as soon as somebody has dialled. To ask twice costs nothing.
pub(super) fn join_barrier(region: &Region<'_>) -> bool {
    region.extended
        && region.header.declares_barrier()
        && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Puts the session where it stays.
fn keep(session: Session) -> Result<(), Errno> {
    const { assert!(size_of::<Session>() <= PAGE_BYTES) };
    let place: *mut Session = memory::private_page()?.cast();
    // SAFETY: a fresh page of our own, large enough and aligned for anything.
    unsafe { place.write(session) };
    AT.session.store(place, Ordering::Release);
    Ok(())
}

/// Takes a row in the table of those that share a memory. False if another process has the row.
pub(super) fn take_row(row: Option<&Attach>, header: &Header) -> bool {
    let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
    let Some(row) = row else { return false };
    let taken = row
        .pid
        .compare_exchange(0, pid, Ordering::Relaxed, Ordering::Relaxed);
    if taken.is_ok() {
        row.attached_ns
            .store(clock::now_ns(Some(header)), Ordering::Relaxed);
        row.ready.store(1, Ordering::Release);
    }
    taken.is_ok()
}

const _: () = assert!(size_of::<Header>() == size_of::<crate::memory::layout::Station>());
