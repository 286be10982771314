//! Attaches a process: to the memory that the environment or a request names, or to memory of its
//! own from the recorder.
#![allow(unsafe_code, reason = "gives up a mapping that nothing refers to")]

use core::fmt::Write as _;

use heapless::String;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::environment::{self, Settings};
use super::memory::{self, Mapping};
use super::not_attached::NotAttached;
use super::session::{
    self, Connection, Session, join_barrier, request_own, start_session, take_row,
};
use super::socket::{NoOwnMemory, Path, Socket};
#[cfg(feature = "alloc")]
use super::stack;
use super::{stderr, thread};
use crate::memory::Region;
use crate::memory::request::MemoryRequest;
use crate::protocol::attach_request::AttachRequest;

/// Where a recorder asks this program to attach while it runs. The recorder finds this static by
/// its first bytes, so the static must exist even if nothing else of the probe is used.
#[used]
pub(super) static REQUEST: AttachRequest = AttachRequest::new();

/// The recorder's memory and socket, as the environment or a request names them.
struct Recorder<'r> {
    memory_path: Option<&'r [u8]>,
    socket_path: &'r [u8],
    /// Largest number of stations to use.
    limit: u32,
    /// The program attaches before it has threads, so attaching may take some time.
    is_at_start: bool,
}

/// Attaches to the recorder that launched this program; does nothing without a recorder. Returns
/// true if events are recorded from now on.
///
/// Call this first thing in `main`, before there are threads. A second call returns whether events are recorded, and
/// in a forked child attaches the child. If attaching to the recorder fails, one line on stderr says why, and the
/// program runs untraced. Returns false without a message in a set-user-ID program, which does not trust its environment,
/// and if an earlier attempt has failed or is in progress.
pub fn attach() -> bool {
    if session::has_attached() {
        return session::current().is_some();
    }
    let settings = Settings::read();
    if !settings.is_any_set() || environment::is_untrusted() {
        return false;
    }
    if !session::is_first_attempt() {
        return false;
    }
    #[cfg(feature = "alloc")]
    stack::remember_main();
    let result = open_as_set(&settings);
    #[cfg(feature = "alloc")]
    stack::look_ahead();
    if let Err(reason) = &result {
        REQUEST.finish(false);
        let mut line: String<256> = String::new();
        // A line that does not fit is cut.
        let _ = writeln!(line, "ctp: not recording: {reason}");
        stderr::write_line(line.as_bytes());
    }
    result.is_ok()
}

/// Attaches while the program runs, within a call of the probe: neither allocates nor calls libc.
/// Only the first call makes the attempt. Other threads do not wait for the outcome, and are
/// recorded from their next call on.
#[cold]
pub(super) fn attach_as_requested() -> Option<&'static Session> {
    if !session::is_first_attempt() {
        return None;
    }
    #[cfg(feature = "alloc")]
    stack::remember_main();
    let memory_path = REQUEST.memory_path();
    let result = open(&Recorder {
        memory_path: Some(&memory_path),
        socket_path: &REQUEST.socket_path(),
        limit: u32::MAX,
        is_at_start: false,
    });
    REQUEST.finish(result.is_ok());
    session::current()
}

fn open_as_set(settings: &Settings) -> Result<(), NotAttached> {
    if !thread::has_storage() {
        return Err(NotAttached::NoThreadStorage);
    }
    open(&Recorder {
        memory_path: settings.shm_path.as_deref(),
        socket_path: settings.sock_path.as_deref().unwrap_or_default(),
        limit: limit(settings)?,
        is_at_start: true,
    })
}

fn open(recorder: &Recorder<'_>) -> Result<(), NotAttached> {
    let (path, limit) = (recorder.socket_path, recorder.limit);
    let shared = map(recorder.memory_path, limit);
    if let Ok(shared) = &shared
        && recorder.is_at_start
    {
        join_barrier(&shared.region); // before the recorder learns of this process, see `join_barrier`
    }
    let socket = Socket::dial(path);
    let (mapping, attach_id) = match shared {
        Ok(shared) => choose(shared, socket.as_ref(), limit),
        Err(reason @ (NotAttached::Forbidden(_) | NotAttached::Absent(_))) => {
            request_own(MemoryRequest::Own, socket.as_ref(), limit).map_err(|error| {
                if error == NoOwnMemory::Unreached {
                    request_unusable(path);
                }
                reason
            })?
        }
        Err(reason) => {
            request_unusable(path);
            return Err(reason);
        }
    };
    if recorder.is_at_start {
        touch_lanes(&mapping.region);
    }
    let result = memory::fork_words_page().and_then(|page| {
        let connection = Connection {
            // Registering for the barrier takes 5 to 30 ms once there are several threads.
            is_ordered: recorder.is_at_start && join_barrier(&mapping.region),
            mapping,
            attach_id,
            socket,
            path: Path::from_slice(path).unwrap_or_default(),
            limit,
        };
        start_session(page, connection)?;
        // Last, because a page in use without an attachment is that of a fork.
        session::use_page(page);
        Ok(())
    });
    result.map_err(|error| {
        request_unusable(path);
        NotAttached::Os("mapping memory", error)
    })
}

/// Makes the recorder count this process, which stays unrecorded because it could not use any
/// memory: sends a request that cannot be answered.
///
/// A recorder without a free descriptor closes each connection at once, sometimes before the request is sent.
fn request_unusable(path: &[u8]) {
    for _ in 0..ATTEMPTS {
        let is_sent = Socket::dial(path).map(|socket| socket.request_unusable());
        if is_sent != Some(false) {
            return;
        }
    }
}

/// How often a process tries to make the recorder count it.
const ATTEMPTS: u32 = 8;

/// The first process uses the memory that all processes can find. A further process asks for memory
/// of its own, and shares the first memory if it gets none.
fn choose(shared: Mapping, socket: Option<&Socket>, limit: u32) -> (Mapping, u16) {
    let region = shared.region;
    if !region.is_extended {
        // No reader interprets the id; it only keeps the probe ids of several processes apart.
        return (
            shared,
            rustix::process::getpid().as_raw_nonzero().get() as u16,
        );
    }
    if take_row(region.attaches.first(), region.header) {
        return (shared, 1);
    }
    match request_own(MemoryRequest::OwnOrShared, socket, limit) {
        Ok(own) => {
            // SAFETY: nothing refers to the mapping yet.
            unsafe { shared.discard() };
            own
        }
        Err(_) => {
            let attach_id = row_in(&region);
            (shared, attach_id)
        }
    }
}

/// This process's row in the table of processes that share a memory, counted from 1; 0 if the table
/// is full.
fn row_in(region: &Region<'_>) -> u16 {
    let row = region
        .attaches
        .iter()
        .position(|row| take_row(Some(row), region.header));
    row.map_or(0, |index| index as u16 + 1)
}

/// Lanes that are mapped in advance: enough for the threads of most programs.
const LANES_TOUCHED: u32 = 16;

/// Maps lanes in advance, because a thread's first event takes a lane, and would wait until the
/// kernel has mapped it. Not done when attaching by request: that happens within an event of a running program.
fn touch_lanes(region: &Region<'_>) {
    let used = u32::try_from(region.pool().used()).unwrap_or(u32::MAX);
    let next = used..used.saturating_add(LANES_TOUCHED);
    let rings = next.filter_map(|number| region.ring(number));
    rings.for_each(|ring| ring.touch());
}

/// Opens and maps the recorder's memory. The number of stations is the smallest that the environment, the header and
/// the size of the file allow.
fn map(path: Option<&[u8]>, limit: u32) -> Result<Mapping, NotAttached> {
    let path = path.ok_or(NotAttached::NoPath)?;
    // Without these flags, a file under a lease of another process would block the program, and a
    // terminal would become its controlling terminal.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => NotAttached::Absent(error),
        Errno::ACCESS | Errno::PERM => NotAttached::Forbidden(error),
        _ => NotAttached::Os("opening CTP_SHM_PATH", error),
    })?;
    Mapping::new(&file, limit)
}

fn limit(settings: &Settings) -> Result<u32, NotAttached> {
    let Some(value) = &settings.max_stations else {
        return Ok(u32::MAX);
    };
    core::str::from_utf8(value)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or(NotAttached::NotANumber)
}
