//! How a process attaches: by what the environment names, or with memory of its own from the recorder.
#![allow(unsafe_code, reason = "gives up a mapping that nothing refers to")]

use core::fmt::Write as _;

use heapless::String;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::environment::{self, Settings};
use super::memory::{self, Mapping};
use super::not_attached::NotAttached;
use super::session::{self, begin, join_barrier, own, take_row};
use super::socket::{Missing, Path, Socket};
#[cfg(feature = "alloc")]
use super::stack;
use super::{stderr, thread};
use crate::memory::Region;
use crate::memory::request::Asked;

/// Attaches to the recorder that launched this program; does nothing without one. True when
/// events are recorded from now on.
///
/// Call it first thing in `main`, before there are threads. A second call changes nothing. A
/// recorder that cannot be attached to is told in one line on stderr, and the program runs
/// untraced.
pub fn attach() -> bool {
    if session::has_attached() {
        return session::current().is_some();
    }
    let settings = Settings::read();
    if !settings.any() || environment::is_untrusted() {
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
        stderr::say(line.as_bytes());
    }
    result.is_ok()
}

fn open(settings: &Settings) -> Result<(), NotAttached> {
    if !thread::has_storage() {
        return Err(NotAttached::NoThreadStorage);
    }
    let limit = limit(settings)?;
    let path = settings.sock_path.as_deref().unwrap_or_default();
    let hall = map(settings, limit);
    if let Ok(hall) = &hall {
        join_barrier(&hall.region); // before the recorder hears of this process, see there
    }
    let socket = Socket::dial(path);
    let (mapping, attach_id) = match hall {
        Ok(hall) => choose(hall, socket.as_ref(), limit),
        Err(reason @ (NotAttached::Forbidden(_) | NotAttached::Absent(_))) => {
            own(Asked::Own, socket.as_ref(), limit).map_err(|missing| {
                if missing == Missing::Unreached {
                    ask_in_vain(path);
                }
                reason
            })?
        }
        Err(reason) => {
            ask_in_vain(path);
            return Err(reason);
        }
    };
    touch_lanes(&mapping.region);
    let begun = memory::wiped_page().and_then(|page| {
        session::use_page(page);
        let path = Path::from_slice(path).unwrap_or_default();
        begin(page, mapping, attach_id, socket, path, limit)
    });
    begun.map_err(|error| {
        ask_in_vain(path);
        NotAttached::Os("mapping memory", error)
    })
}

/// This process goes unrecorded for a reason of its own. A request that gets no answer makes the recorder
/// count it.
fn ask_in_vain(path: &[u8]) {
    if let Some(socket) = Socket::dial(path) {
        socket.ask_in_vain();
    }
}

/// The first process stays in the memory that all can find. A further one asks for its own, and
/// shares that one if it gets none.
fn choose(hall: Mapping, socket: Option<&Socket>, limit: u32) -> (Mapping, u16) {
    let region = hall.region;
    if !region.extended {
        // Nobody reads it; it keeps the ids of several processes apart.
        return (
            hall,
            rustix::process::getpid().as_raw_nonzero().get() as u16,
        );
    }
    if take_row(region.attaches.first(), region.header) {
        return (hall, 1);
    }
    match own(Asked::OwnOrShared, socket, limit) {
        Ok(own) => {
            // SAFETY: nobody has seen it yet.
            unsafe { hall.discard() };
            own
        }
        Err(_) => {
            let attach_id = row_in(&region);
            (hall, attach_id)
        }
    }
}

/// This process's row in the table of those that share a memory, counted from 1.
fn row_in(region: &Region<'_>) -> u16 {
    let row = region
        .attaches
        .iter()
        .position(|row| take_row(Some(row), region.header));
    row.map_or(0, |index| index as u16 + 1)
}

/// So many lanes, which is what most programs have of threads, are mapped before these come.
const LANES_TOUCHED: u32 = 16;

/// The first event of a thread takes a lane, and would wait until the kernel has mapped that. Not in a
/// fork, which attaches amid such an event, and may be there for a moment only.
fn touch_lanes(region: &Region<'_>) {
    let used = u32::try_from(region.pool().used()).unwrap_or(u32::MAX);
    let next = used..used.saturating_add(LANES_TOUCHED);
    let rings = next.filter_map(|number| region.ring(number));
    rings.for_each(|ring| ring.touch());
}

/// Opens and maps what `CTP_SHM_PATH` names, as far as environment, header and file agree.
fn map(settings: &Settings, limit: u32) -> Result<Mapping, NotAttached> {
    let path = settings.shm_path.as_ref().ok_or(NotAttached::NoPath)?;
    // A file under a lease of another process would block the program, and a terminal would become its own.
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
