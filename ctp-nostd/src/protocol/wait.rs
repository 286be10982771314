//! What a coroutine waits for, and where in the program.

use core::panic::Location;

/// What sort of thing; its code is stored in the slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum WaitKind {
    /// Not told.
    #[default]
    Unknown = 0,
    /// A file descriptor to become readable.
    Readable = 1,
    /// A file descriptor to become writable.
    Writable = 2,
    /// A timer.
    Timer = 3,
    /// A lock.
    Lock = 4,
    /// A channel.
    Channel = 5,
    /// Another coroutine.
    Coroutine = 6,
    /// Something of the program's own.
    User = 7,
    /// Nothing: it only gives way to others.
    Yield = 8,
}

/// Added to the code of a kind: the wait is meant to be long.
pub const WAIT_IDLE: u8 = 0x20;

/// Added to the code of a kind: it is one of several things that the coroutine waits for, of which
/// the last that was told is kept.
pub const WAIT_ONE_OF_SEVERAL: u8 = 0x40;

/// A wait: its kind, its resource, and the line of the program that made it.
///
/// Make it where the user's code is the caller: every constructor is `#[track_caller]`, so a
/// `#[track_caller]` function of a runtime passes the user's line on.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub(crate) kind: WaitKind,
    pub(crate) marks: u8,
    pub(crate) resource: u64,
    pub(crate) place: &'static Location<'static>,
}

impl Wait {
    /// For this descriptor of the process to become readable. What has a number of another sort, as an
    /// index of `io_uring`, is [the program's own](Wait::user).
    #[track_caller]
    pub fn readable(fd: i32) -> Self {
        Wait::at_caller(WaitKind::Readable, fd as u64)
    }

    /// For this descriptor of the process to become writable.
    #[track_caller]
    pub fn writable(fd: i32) -> Self {
        Wait::at_caller(WaitKind::Writable, fd as u64)
    }

    /// For a time: nanoseconds on the platform's monotonic clock, or 0 if not known. On Linux that is
    /// CLOCK_MONOTONIC, and `timer_in` takes a `Duration` (feature `linux`).
    #[track_caller]
    pub fn timer(deadline_ns: u64) -> Self {
        Wait::at_caller(WaitKind::Timer, deadline_ns)
    }

    /// For the lock at this address: the `usize` with which [`acquired`](crate::Probe::acquired) and
    /// [`released`](crate::Probe::released) name it. As a `u64` it would be that of [`user`](Wait::user).
    #[track_caller]
    pub fn lock(address: usize) -> Self {
        Wait::at_caller(WaitKind::Lock, address as u64)
    }

    /// For the channel at this address.
    #[track_caller]
    pub fn channel(address: usize) -> Self {
        Wait::at_caller(WaitKind::Channel, address as u64)
    }

    /// For the coroutine with this [probe id](crate::Coroutine::id).
    #[track_caller]
    pub fn coroutine(probe_id: u64) -> Self {
        Wait::at_caller(WaitKind::Coroutine, probe_id)
    }

    /// For something of the program's own, under a number of its own: the `u64` with which
    /// [`closed`](crate::Probe::closed) names it. As a `usize` it would be that of [`lock`](Wait::lock).
    #[track_caller]
    pub fn user(number: u64) -> Self {
        Wait::at_caller(WaitKind::User, number)
    }

    /// This wait is meant to be long, as that of a listener: however long it is, that says nothing.
    pub fn idle(mut self) -> Self {
        self.marks |= WAIT_IDLE;
        self
    }

    /// It is one of several things that the coroutine waits for at once; without this it goes on by
    /// this one alone. Leaf futures need not say so: those that announce their waits in the same run
    /// are noticed, and so are those that take wakers which are counted. Say it where a coroutine polls
    /// futures by wakers of its own, as `FuturesUnordered` does, or let `waits_for_in` find that out.
    pub fn one_of_several(mut self) -> Self {
        self.marks |= WAIT_ONE_OF_SEVERAL;
        self
    }

    /// Kind and marks, as they are stored.
    #[inline]
    pub(crate) fn code(&self) -> u8 {
        self.kind as u8 | self.marks
    }

    /// For nothing: gives way to others.
    #[track_caller]
    pub fn to_yield() -> Self {
        Wait::at_caller(WaitKind::Yield, 0)
    }

    /// For something that cannot be told.
    #[track_caller]
    pub fn unknown() -> Self {
        Wait::at_caller(WaitKind::Unknown, 0)
    }

    #[track_caller]
    fn at_caller(kind: WaitKind, resource: u64) -> Self {
        Wait {
            kind,
            marks: 0,
            resource,
            place: Location::caller(),
        }
    }
}

/// Something for which coroutines wait, as their [`Wait`]s name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    pub(crate) kind: WaitKind,
    pub(crate) number: u64,
}

impl From<i32> for Resource {
    /// A file descriptor: of waits for it to become readable or writable.
    fn from(fd: i32) -> Self {
        Resource {
            kind: WaitKind::Readable,
            number: fd as u64,
        }
    }
}

impl From<usize> for Resource {
    /// The address of a lock or a channel. As a `u64` it would be neither.
    fn from(address: usize) -> Self {
        Resource {
            kind: WaitKind::Lock,
            number: address as u64,
        }
    }
}

impl From<u64> for Resource {
    /// A number of the program's own. An address as a `u64` is one too, and no lock's.
    fn from(number: u64) -> Self {
        Resource {
            kind: WaitKind::User,
            number,
        }
    }
}

impl WaitKind {
    /// The kind of a stored code, whatever its marks; what is not known is unknown.
    pub const fn from_code(code: u8) -> Self {
        match code & !(WAIT_IDLE | WAIT_ONE_OF_SEVERAL) {
            1 => WaitKind::Readable,
            2 => WaitKind::Writable,
            3 => WaitKind::Timer,
            4 => WaitKind::Lock,
            5 => WaitKind::Channel,
            6 => WaitKind::Coroutine,
            7 => WaitKind::User,
            8 => WaitKind::Yield,
            _ => WaitKind::Unknown,
        }
    }
}
