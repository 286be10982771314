//! One attached process: the mapping, the socket, and the page that notices a fork.
#![allow(
    unsafe_code,
    reason = "maps memory and keeps it for the life of the process"
)]

use core::ffi::c_void;
use core::fmt::{self, Write as _};
use core::ptr;
use core::sync::atomic::AtomicPtr;

use heapless::String;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};
use rustix::thread::{MembarrierCommand, membarrier};

use super::Linux;
use super::environment::Settings;
use crate::layout::{Attach, Header, Station};
use crate::platform::Platform as _;
use crate::probe::Probe;
use crate::region::{Refused, Region};
use crate::sync::{AtomicU32, Ordering};

/// What stays for the life of the process once it has attached.
#[derive(Debug)]
pub(super) struct Session {
    pub probe: Probe<Linux>,
    socket: Option<Socket>,
}

/// The bell, and what tells it from another file that got its number after the program closed it.
#[derive(Debug)]
struct Socket {
    fd: OwnedFd,
    identity: (u64, u64),
}

/// Where the session lies: null until this process (or the one it was forked from) attached.
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());
/// A word that reads 0 after a fork, see [`wiped_page`].
static ATTACHMENT: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
/// The header whose calibration is used; null without one of our recorder's.
static CLOCK: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
/// Attachments of this process and its forebears; inherited by a fork, never restarted.
static ATTACHMENTS: AtomicU32 = AtomicU32::new(0);

/// Why a process that was asked to attach did not. Told in one line.
#[derive(Debug)]
enum NotAttached {
    /// Other variables are there, but not the one that names the memory.
    NoPath,
    /// `CTP_MAX_STATIONS` holds something else.
    NotANumber,
    /// The file is too short for a header and one station.
    NoRoom,
    /// The kernel refused.
    Os(&'static str, Errno),
    /// The file is not what the recorder makes.
    Memory(Refused),
}

impl fmt::Display for NotAttached {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAttached::NoPath => write!(out, "CTP_SHM_PATH is not set"),
            NotAttached::NotANumber => write!(out, "CTP_MAX_STATIONS is not a number"),
            NotAttached::NoRoom => write!(out, "the file at CTP_SHM_PATH is too short"),
            NotAttached::Os(what, error) => {
                write!(out, "{what} failed (error {})", error.raw_os_error())
            }
            NotAttached::Memory(refused) => write!(out, "CTP_SHM_PATH: {refused}"),
        }
    }
}

pub(super) fn attach() -> bool {
    if !SESSION.load(Ordering::Acquire).is_null() {
        return current().is_some();
    }
    let settings = Settings::read();
    if !settings.any() || ATTACHMENTS.fetch_add(1, Ordering::Relaxed) > 0 {
        return false;
    }
    let result = open(&settings);
    if let Err(reason) = &result {
        let mut line: String<256> = String::new();
        // A line that does not fit is cut.
        let _ = writeln!(line, "ctp: not recording: {reason}");
        say(line.as_bytes());
    }
    result.is_ok()
}

/// The session, unless there is none or this process is a fork of the one that attached.
#[inline]
pub(super) fn current() -> Option<&'static Session> {
    let session = SESSION.load(Ordering::Acquire);
    if session.is_null() || attachment() == 0 {
        return None;
    }
    // SAFETY: not null, so `keep` stored it after writing a whole session into memory that is
    // never unmapped and never written again.
    Some(unsafe { &*session })
}

/// The number of this attachment, 0 while not attached and in a fork.
#[inline]
pub(super) fn attachment() -> u32 {
    let word = ATTACHMENT.load(Ordering::Acquire);
    if word.is_null() {
        return 0;
    }
    // SAFETY: not null, so it points to the start of a page of our own that is never unmapped.
    // The kernel zeroes it in a fork, which for an atomic is a write like any other.
    unsafe { (*word).load(Ordering::Relaxed) }
}

/// The header in which our recorder keeps a calibration of the processor's counter.
#[inline]
pub(super) fn clock_header() -> Option<&'static Header> {
    let header = CLOCK.load(Ordering::Acquire);
    // SAFETY: null, or the header of a region that is mapped for the life of the process.
    unsafe { header.as_ref() }
}

impl Session {
    /// One byte to the recorder: never blocks, raises no signal, and tells the outcome only in
    /// the header's counters.
    pub fn ring(&self) {
        let header = self.probe.region.header;
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let socket = self.socket.as_ref().filter(|socket| socket.is_still_ours());
        let counter = match socket.map(|socket| send(&socket.fd, &[1], flags)) {
            Some(Ok(_)) => &header.wakes_sent,
            Some(Err(Errno::AGAIN)) => &header.wakes_would_block,
            Some(Err(_)) | None => &header.wakes_failed,
        };
        if self.probe.region.extended {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// To stderr, if the program has one.
fn say(line: &[u8]) {
    // SAFETY: if descriptor 2 is closed the write fails; if the program has put some other file
    // there, then that is its stderr.
    let _ = rustix::io::write(unsafe { BorrowedFd::borrow_raw(2) }, line);
}

fn open(settings: &Settings) -> Result<(), NotAttached> {
    let region = map(settings)?;
    if region.extended {
        CLOCK.store(ptr::from_ref(region.header).cast_mut(), Ordering::Release);
    }
    let word = wiped_page().map_err(|error| NotAttached::Os("mapping memory", error))?;
    word.store(ATTACHMENTS.load(Ordering::Relaxed), Ordering::Relaxed);
    ATTACHMENT.store(ptr::from_ref(word).cast_mut(), Ordering::Release);
    let session = Session {
        probe: Probe::new(region, attach_id(&region)).ordered_by_recorder(is_ordered(&region)),
        socket: settings.sock_path.as_ref().and_then(|path| dial(path)),
    };
    keep(session).map_err(|error| NotAttached::Os("mapping memory", error))
}

/// Has the recorder declared that it issues a `membarrier` before each sleep, and does it reach
/// this process? Registering is cheap only while there is one thread.
fn is_ordered(region: &Region<'_>) -> bool {
    region.extended
        && region.header.declares_barrier()
        && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Opens and maps what `CTP_SHM_PATH` names, as far as environment, header and file agree.
fn map(settings: &Settings) -> Result<Region<'static>, NotAttached> {
    let path = settings.shm_path.as_ref().ok_or(NotAttached::NoPath)?;
    let limit = limit(settings)?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let file = openat(CWD, path.as_slice(), flags, Mode::empty())
        .map_err(|error| NotAttached::Os("opening CTP_SHM_PATH", error))?;
    let stat = fstat(&file).map_err(|error| NotAttached::Os("fstat of CTP_SHM_PATH", error))?;
    let bytes = usize::try_from(stat.st_size).unwrap_or(0);
    let room = (bytes / size_of::<Station>()).saturating_sub(1);
    if room == 0 {
        return Err(NotAttached::NoRoom);
    }
    let limit = limit.min(u32::try_from(room).unwrap_or(u32::MAX));
    let base =
        map_file(&file, bytes).map_err(|error| NotAttached::Os("mapping CTP_SHM_PATH", error))?;
    // SAFETY: `bytes` bytes were just mapped shared, readable and writable, and are never
    // unmapped. Only this crate's atomics touch them. The recorder seals the file's size.
    unsafe { Region::new(base.cast(), bytes, limit) }.map_err(NotAttached::Memory)
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

fn map_file(file: &OwnedFd, bytes: usize) -> Result<*mut c_void, Errno> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
    unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }
}

/// A private page that the kernel empties in every fork, however the fork was made.
fn wiped_page() -> Result<&'static AtomicU32, Errno> {
    let page = private_page()?;
    // SAFETY: the page was just mapped, is ours alone, and advice does not invalidate it.
    unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork)? };
    // SAFETY: it is zeroed, aligned, and never unmapped.
    Ok(unsafe { &*page.cast() })
}

const PAGE_BYTES: usize = 4096;

fn private_page() -> Result<*mut c_void, Errno> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
    unsafe { mmap_anonymous(ptr::null_mut(), PAGE_BYTES, access, MapFlags::PRIVATE) }
}

/// Puts the session where it stays.
fn keep(session: Session) -> Result<(), Errno> {
    const { assert!(size_of::<Session>() <= PAGE_BYTES) };
    let place: *mut Session = private_page()?.cast();
    // SAFETY: a fresh page of our own, large enough and aligned for anything.
    unsafe { place.write(session) };
    SESSION.store(place, Ordering::Release);
    Ok(())
}

impl Socket {
    /// A program may close every descriptor that it does not know, and use the number again.
    fn is_still_ours(&self) -> bool {
        identity_of(&self.fd) == Some(self.identity)
    }
}

fn identity_of(fd: &OwnedFd) -> Option<(u64, u64)> {
    let stat = fstat(fd).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

fn dial(path: &[u8]) -> Option<Socket> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let address = SocketAddrUnix::new(path).ok()?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &address).ok()?;
    let identity = identity_of(&socket)?;
    Some(Socket {
        fd: socket,
        identity,
    })
}

/// This process's row in the table of attached processes, counted from 1.
fn attach_id(region: &Region<'_>) -> u16 {
    let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
    let free = |row: &Attach| {
        row.pid
            .compare_exchange(0, pid, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    };
    let Some(index) = region.attaches.iter().position(free) else {
        return pid as u16;
    };
    let row = &region.attaches[index];
    row.attached_ns.store(Linux::now_ns(), Ordering::Relaxed);
    row.ready.store(1, Ordering::Release);
    index as u16 + 1
}

const _: () = assert!(size_of::<Header>() == size_of::<Station>());
