//! The session of an attached process, which lasts for the life of the process, and its renewal in
//! a fork.
//!
//! ```text
//!          attach() or a request                fork
//!   NOT_ATTACHED ─────────> ATTACHED ──────────────────> FORKED
//!                            │    ^                        │
//!                            │    └────────────────────────┘ first born() or attach(): own memory
//!                            └──> exec: the new image is NOT_ATTACHED
//! ```
//! A page that the kernel zeroes in a fork ([`ForkWords`]) reveals the fork: handles compare their
//! attachment with the attachment in that page, and are inert in the fork.
//!
//! The first attach publishes in this order, so that no other thread takes its own process for a fork:
//! ```text
//!   attaching thread                          another thread, at any time
//!   AT1 the session                           AT4 the page                        (acquire)
//!   AT2 the attachment in the page (release)  AT5 the attachment in that page     (acquire)
//!   AT3 the page                   (release)      0 in NOT_ATTACHED: not attached yet
//!                                                 0 in another page: a fork
//!                                             AT6 the session
//! ```
#![allow(unsafe_code, reason = "keeps things for the life of the process")]

use core::ptr;
use core::sync::atomic::AtomicPtr;

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::thread::{MembarrierCommand, membarrier};

use super::Linux;
use super::attach;
use super::clock;
use super::memory::{self, ForkWords, Mapping, PAGE_BYTES};
use super::socket::{NoOwnMemory, Path, RingOutcome, Socket};
use crate::memory::Region;
use crate::memory::layout::{Attach, Header};
use crate::memory::request::{self, MemoryRequest};
use crate::platform::Probe;
use crate::sync::{AtomicU32, Ordering};

/// The data of an attached process, which lasts for the life of the process.
#[derive(Debug)]
pub(super) struct Session {
    pub probe: Probe<Linux>,
    mapping: Mapping,
    socket: Option<Socket>,
    /// The recorder's socket, for the request of a fork.
    path: Path,
    limit: u32,
    /// The recorder wants no system calls. Read once, because a program may overwrite the header.
    pub forbids_calls: bool,
}

/// Pointers that each event reads. They have cache lines of their own: a linker places unrelated
/// data next to each other, and a program may write its own statics all the time.
#[repr(align(128))]
struct SessionState {
    /// Null until this process, or its parent, has attached.
    session: AtomicPtr<Session>,
    /// A page of words that read 0 after a fork, or [`NOT_ATTACHED`] until this process has
    /// attached.
    fork_words: AtomicPtr<ForkWords>,
    /// The header with the calibration in use; null without one.
    clock: AtomicPtr<Header>,
}

static STATE: SessionState = SessionState {
    session: AtomicPtr::new(ptr::null_mut()),
    fork_words: AtomicPtr::new(ptr::from_ref(&NOT_ATTACHED).cast_mut()),
    clock: AtomicPtr::new(ptr::null_mut()),
};
static NOT_ATTACHED: ForkWords = ForkWords::new();
/// Number of attachments of this process and its ancestors, with a first attempt that failed. A fork
/// inherits the count, which is never reset.
static ATTACHMENTS: AtomicU32 = AtomicU32::new(0);

/// Whether this process, or one of its ancestors, has attached.
pub(super) fn has_attached() -> bool {
    !STATE.session.load(Ordering::Acquire).is_null()
}

/// Counts the first attempt to attach. False if there was one before, which may still go on: then the
/// count must stay the number of that attachment, so that a fork gets the next number.
pub(super) fn is_first_attempt() -> bool {
    ATTACHMENTS
        .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
}

/// Uses the words of this page from now on to find out whether this process is attached (AT3).
pub(super) fn use_page(page: &'static ForkWords) {
    STATE
        .fork_words
        .store(ptr::from_ref(page).cast_mut(), Ordering::Release);
}

/// The session, if any. A fork of an attached process tries, once, to attach by itself.
#[inline]
pub(super) fn current() -> Option<&'static Session> {
    let page = fork_words(); // AT4
    // AT5
    match page.attachment.load(Ordering::Acquire) {
        0 if ptr::eq(page, &NOT_ATTACHED) => attach_if_requested(),
        0 => attach_fork(page),
        // The attachment is stored after its session, so this is not the parent's session (AT6).
        _ => session(),
    }
}

/// A program without a recorder attaches when a recorder requests that.
#[inline]
fn attach_if_requested() -> Option<&'static Session> {
    if attach::REQUEST.is_made() {
        attach::attach_as_requested()
    } else {
        None
    }
}

#[inline]
fn session() -> Option<&'static Session> {
    // SAFETY: null, or stored by `store_session` after it wrote a whole session into memory that is
    // never unmapped and never written again.
    unsafe { STATE.session.load(Ordering::Acquire).as_ref() }
}

/// The word with the number of this attachment. The word is 0 before attaching, and again in a fork
/// until the fork attaches. Once this process or its parent has attached, the word stays in a page
/// of its own for ever.
#[inline]
pub(super) fn attachment_word() -> &'static AtomicU32 {
    &fork_words().attachment
}

#[inline]
fn fork_words() -> &'static ForkWords {
    // SAFETY: a static, or a private page that is never unmapped. The kernel zeroes it in a fork,
    // which for an atomic is a write like any other.
    unsafe { &*STATE.fork_words.load(Ordering::Acquire) }
}

/// The header in which the recorder keeps a calibration of the processor's counter.
#[inline]
pub(super) fn clock_header() -> Option<&'static Header> {
    let header = STATE.clock.load(Ordering::Acquire);
    // SAFETY: null, or the header of a region that is mapped for the life of the process.
    unsafe { header.as_ref() }
}

impl Session {
    /// Sends one byte to the recorder, and counts the outcome in the header.
    pub fn ring(&self) {
        let header = self.probe.region.header;
        let outcome = self.socket.as_ref().map(Socket::ring);
        let counter = match outcome.unwrap_or(RingOutcome::Failed) {
            RingOutcome::Sent => &header.wakes_sent,
            RingOutcome::WouldBlock => &header.wakes_would_block,
            RingOutcome::Failed => &header.wakes_failed,
        };
        if self.probe.region.is_extended {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Requests memory for this process from the recorder.
pub(super) fn request_own(
    request: MemoryRequest,
    socket: Option<&Socket>,
    limit: u32,
) -> Result<(Mapping, u16), NoOwnMemory> {
    let file = socket
        .ok_or(NoOwnMemory::Unreached)?
        .request_memory(request)?;
    let mapping = Mapping::new(&file, limit).map_err(|_| NoOwnMemory::Denied)?;
    let (header, rows) = (mapping.region.header, mapping.region.attaches);
    take_row(rows.first(), header); // otherwise the recorder would assume that this process has ended
    let number = header.memory_number.load(Ordering::Relaxed);
    Ok((mapping, request::attach_id(number)))
}

/// In a fork: attaches with memory of its own, or never. This neither allocates nor calls libc. The
/// first thread that needs the session asks the recorder; the other threads wait for the answer,
/// because they would lose coroutines otherwise.
#[cold]
fn attach_fork(page: &ForkWords) -> Option<&'static Session> {
    let parent = session()?;
    if !parent.probe.region.is_extended || page.follower.load(Ordering::Relaxed) == ForkWords::NEVER
    {
        return None;
    }
    if parent.forbids_calls {
        // Attaching the fork would take system calls.
        if page.follower.swap(ForkWords::NEVER, Ordering::Relaxed) != ForkWords::NEVER {
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
            let session = attach_with_own_memory(page, parent);
            if session.is_none() {
                page.follower.store(ForkWords::NEVER, Ordering::Relaxed);
            }
            session
        }
        // A signal handler that interrupted the attaching thread must not wait for that thread.
        Err(other) if other == me => None,
        Err(_) => wait_for_follower(page),
    }
}

fn attach_with_own_memory(page: &ForkWords, parent: &Session) -> Option<&'static Session> {
    let of_parent = &parent.probe.region;
    join_barrier(of_parent);
    let socket = Socket::dial(&parent.path);
    let (mapping, attach_id) = request_own(MemoryRequest::Own, socket.as_ref(), parent.limit)
        .inspect_err(|reason| {
            // Counted in the parent's memory, which this fork still shares.
            if *reason == NoOwnMemory::Unreached {
                of_parent.header.count_unreached();
            }
        })
        .ok()?;
    ATTACHMENTS.fetch_add(1, Ordering::Relaxed);
    let connection = Connection {
        is_ordered: join_barrier(&mapping.region),
        mapping,
        attach_id,
        socket,
        path: parent.path.clone(),
        limit: parent.limit,
    };
    if start_session(page, connection).is_err() {
        of_parent.header.count_unreached();
        return None;
    }
    parent.mapping.make_private();
    parent.socket.iter().for_each(Socket::close_in_a_fork);
    session()
}

/// Waits until another thread has attached this fork, which takes no longer than the answer
/// timeout.
fn wait_for_follower(page: &ForkWords) -> Option<&'static Session> {
    for _ in 0..PAUSES {
        if page.attachment.load(Ordering::Acquire) != 0 {
            return session();
        }
        if page.follower.load(Ordering::Relaxed) == ForkWords::NEVER {
            return None;
        }
        // A signal only shortens the pause.
        let _ = poll(&mut [], Some(&PAUSE));
    }
    None
}

/// Number of pauses, which together are longer than the answer timeout.
const PAUSES: u32 = 6_000;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000,
};

/// A mapped memory, and the socket of its recorder.
pub(super) struct Connection {
    pub mapping: Mapping,
    pub attach_id: u16,
    pub socket: Option<Socket>,
    /// The recorder's socket, for the request of a fork.
    pub path: Path,
    /// Largest number of stations to use, also in a fork.
    pub limit: u32,
    /// The result of [`join_barrier`]; false if that was not called.
    pub is_ordered: bool,
}

/// Publishes the session. From then on, events are recorded.
pub(super) fn start_session(page: &ForkWords, connection: Connection) -> Result<(), Errno> {
    let Connection {
        mapping,
        attach_id,
        socket,
        path,
        limit,
        is_ordered,
    } = connection;
    let region = mapping.region;
    let attachment = ATTACHMENTS.load(Ordering::Relaxed);
    if region.is_extended {
        STATE
            .clock
            .store(ptr::from_ref(region.header).cast_mut(), Ordering::Release);
    }
    // AT1
    store_session(Session {
        probe: Probe::attached(region, attach_id, attachment).ordered_by_recorder(is_ordered),
        mapping,
        socket,
        path,
        limit,
        forbids_calls: region.header.forbids_calls(),
    })?;
    page.attachment.store(attachment, Ordering::Release); // AT2
    Ok(())
}

/// Registers this process for the recorder's `membarrier`, if the recorder has declared that it
/// issues one before each sleep. Returns whether that barrier reaches this process. Registering is
/// cheap only while there is one thread, and no other process reads this process's memory.
/// Otherwise the kernel waits for all processors, which takes 5 to 30 ms. The recorder starts to
/// read as soon as a process has connected. A second registration costs nothing.
pub(super) fn join_barrier(region: &Region<'_>) -> bool {
    region.is_extended
        && region.header.declares_barrier()
        && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Stores the session permanently.
fn store_session(session: Session) -> Result<(), Errno> {
    const { assert!(size_of::<Session>() <= PAGE_BYTES) };
    let place: *mut Session = memory::private_page()?.cast();
    // SAFETY: a fresh private page, large enough and aligned for any type.
    unsafe { place.write(session) };
    STATE.session.store(place, Ordering::Release);
    Ok(())
}

/// Takes a row in the table of processes that share a memory. False if another process has the row.
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
