//! Attaches a process: to the memory that the environment names, or to memory of its own from the
//! recorder.
#![allow(unsafe_code, reason = "gives up a mapping that nothing refers to")]

use core::fmt::Write as _;

use heapless::String;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::environment::{self, Settings};
use super::memory::{self, Mapping};
use super::not_attached::NotAttached;
use super::session::{self, join_barrier, request_own, start_session, take_row};
use super::socket::{NoOwnMemory, Path, Socket};
#[cfg(feature = "alloc")]
use super::stack;
use super::{stderr, thread};
use crate::memory::Region;
use crate::memory::request::MemoryRequest;

/// Attaches to the recorder that launched this program; does nothing without a recorder. Returns
/// true if events are recorded from now on.
///
/// Call it first thing in `main`, before there are threads. A second call changes nothing. If
/// attaching to the recorder fails, one line on stderr says why, and the program runs untraced.
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
    let result = open(&settings);
    #[cfg(feature = "alloc")]
    stack::look_ahead();
    if let Err(reason) = &result {
        let mut line: String<256> = String::new();
        // A line that does not fit is cut.
        let _ = writeln!(line, "ctp: not recording: {reason}");
        stderr::write_line(line.as_bytes());
    }
    result.is_ok()
}

fn open(settings: &Settings) -> Result<(), NotAttached> {
    if !thread::has_storage() {
        return Err(NotAttached::NoThreadStorage);
    }
    let limit = limit(settings)?;
    let path = settings.sock_path.as_deref().unwrap_or_default();
    let shared = map(settings, limit);
    if let Ok(shared) = &shared {
        join_barrier(&shared.region); // before the recorder learns of this process, see there
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
    touch_lanes(&mapping.region);
    let result = memory::fork_words_page().and_then(|page| {
        session::use_page(page);
        let path = Path::from_slice(path).unwrap_or_default();
        start_session(page, mapping, attach_id, socket, path, limit)
    });
    result.map_err(|error| {
        request_unusable(path);
        NotAttached::Os("mapping memory", error)
    })
}

/// This process stays unrecorded for a reason of its own. A request that cannot be answered makes
/// the recorder count the process.
fn request_unusable(path: &[u8]) {
    if let Some(socket) = Socket::dial(path) {
        socket.request_unusable();
    }
}

/// The first process uses the memory that all processes can find. A further process asks for its
/// own, and shares the first memory if it gets none.
fn choose(shared: Mapping, socket: Option<&Socket>, limit: u32) -> (Mapping, u16) {
    let region = shared.region;
    if !region.extended {
        // No reader interprets the id; it only separates the ids of several processes.
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

/// This process's row in the table of processes that share a memory, counted from 1.
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
/// kernel has mapped it. Not done in a fork, which attaches within such an event, and may be
/// short-lived.
fn touch_lanes(region: &Region<'_>) {
    let used = u32::try_from(region.pool().used()).unwrap_or(u32::MAX);
    let next = used..used.saturating_add(LANES_TOUCHED);
    let rings = next.filter_map(|number| region.ring(number));
    rings.for_each(|ring| ring.touch());
}

/// Opens and maps the file that `CTP_SHM_PATH` names, as far as environment, header and file agree.
fn map(settings: &Settings, limit: u32) -> Result<Mapping, NotAttached> {
    let path = settings.shm_path.as_ref().ok_or(NotAttached::NoPath)?;
    // Without these flags, a file under a lease of another process would block the program, and a
    // terminal would become its controlling terminal.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(CWD, path.as_slice(), flags, Mode::empty()).map_err(|error| match error {
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
