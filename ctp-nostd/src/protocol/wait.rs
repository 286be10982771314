//! What a coroutine waits for, and the source line of the wait.

use core::panic::Location;

/// The kind of resource; its code is stored in the slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum WaitKind {
    /// The program did not name a kind.
    #[default]
    Unknown = 0,
    /// A file descriptor that becomes readable.
    Readable = 1,
    /// A file descriptor that becomes writable.
    Writable = 2,
    /// A timer.
    Timer = 3,
    /// A lock.
    Lock = 4,
    /// A channel.
    Channel = 5,
    /// Another coroutine.
    Coroutine = 6,
    /// A resource defined by the program.
    User = 7,
    /// Nothing: the coroutine only yields.
    Yield = 8,
}

/// Added to the code of a kind: the wait is expected to be long.
pub const WAIT_IDLE: u8 = 0x20;

/// Added to the code of a kind: the coroutine waits for several things. The event holds the wait
/// that was announced last.
pub const WAIT_ONE_OF_SEVERAL: u8 = 0x40;

/// Both marks that can be added to the code of a kind.
pub const WAIT_MARKS: u8 = WAIT_IDLE | WAIT_ONE_OF_SEVERAL;

/// The code of a wait that was not announced, at the end of a poll that took no waker, if no waker
/// of an earlier poll was left either.
pub const WAIT_UNREGISTERED: u8 = 0x10;

/// The code of a wait that was not announced, at the end of a poll that took no waker, if a waker
/// of an earlier poll was left.
pub const WAIT_EARLIER_WAKER: u8 = 0x11;

/// A wait: its kind, its resource, and the source line that made it.
///
/// Create the value in a function whose caller is the user's code. Every constructor is
/// `#[track_caller]`, so a `#[track_caller]` function of a runtime passes the user's line on.
/// [`of_code`](Wait::of_code) takes any line, also of another language.
#[derive(Clone, Copy, Debug)]
pub struct Wait<S = &'static Location<'static>> {
    pub(crate) kind: WaitKind,
    pub(crate) marks: u8,
    pub(crate) resource: u64,
    pub(crate) place: S,
}

impl Wait {
    /// Waits for this file descriptor of the process to become readable. Numbers of another kind,
    /// such as an index of `io_uring`, belong to [`user`](Wait::user).
    #[track_caller]
    pub fn readable(fd: i32) -> Self {
        Wait::at_caller(WaitKind::Readable, fd as u64)
    }

    /// Waits for this file descriptor of the process to become writable.
    #[track_caller]
    pub fn writable(fd: i32) -> Self {
        Wait::at_caller(WaitKind::Writable, fd as u64)
    }

    /// Waits for a time: nanoseconds on the platform's monotonic clock, or 0 if not known. On Linux
    /// that is CLOCK_MONOTONIC, and `timer_in` takes a `Duration` (feature `linux`).
    #[track_caller]
    pub fn timer(deadline_ns: u64) -> Self {
        Wait::at_caller(WaitKind::Timer, deadline_ns)
    }

    /// Waits for the lock at this address: the same `usize` that
    /// [`acquired`](crate::Probe::acquired) and [`released`](crate::Probe::released) take. A `u64`
    /// there would name a [`user`](Wait::user) resource.
    #[track_caller]
    pub fn lock(address: usize) -> Self {
        Wait::at_caller(WaitKind::Lock, address as u64)
    }

    /// Waits for the channel at this address.
    #[track_caller]
    pub fn channel(address: usize) -> Self {
        Wait::at_caller(WaitKind::Channel, address as u64)
    }

    /// Waits for the coroutine with this [probe id](crate::Coroutine::id).
    #[track_caller]
    pub fn coroutine(probe_id: u64) -> Self {
        Wait::at_caller(WaitKind::Coroutine, probe_id)
    }

    /// Waits for a resource defined by the program, under a number that the program chooses: the
    /// same `u64` that [`closed`](crate::Probe::closed) takes. A `usize` there would name a
    /// [`lock`](Wait::lock).
    #[track_caller]
    pub fn user(number: u64) -> Self {
        Wait::at_caller(WaitKind::User, number)
    }

    /// Yields to other coroutines, and waits for nothing.
    #[track_caller]
    pub fn to_yield() -> Self {
        Wait::at_caller(WaitKind::Yield, 0)
    }

    /// Waits for something that the caller cannot name.
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

impl<S> Wait<S> {
    /// A wait for this resource, at `place`. `code` is that of a kind, with its marks. An unknown kind
    /// counts as [`Unknown`](WaitKind::Unknown).
    #[inline(always)]
    pub const fn of_code(code: u8, resource: u64, place: S) -> Self {
        Wait {
            kind: WaitKind::from_code(code),
            marks: code & WAIT_MARKS,
            resource,
            place,
        }
    }

    /// Marks this wait as expected to be long, like that of a listener. Its duration then counts as
    /// no problem.
    pub fn idle(mut self) -> Self {
        self.marks |= WAIT_IDLE;
        self
    }

    /// Marks this wait as one of several at the same time. Without the mark, only this wait can
    /// resume the coroutine.
    ///
    /// Leaf futures need not set the mark: the probe notices leaf futures that announce their waits
    /// in the same run, and leaf futures that take counted wakers. Set the mark where a coroutine
    /// polls futures with wakers of its own, like `FuturesUnordered`, or use `waits_for_in`, which
    /// detects this.
    pub fn one_of_several(mut self) -> Self {
        self.marks |= WAIT_ONE_OF_SEVERAL;
        self
    }

    /// Kind and marks, as stored.
    #[inline]
    pub(crate) fn code(&self) -> u8 {
        self.kind as u8 | self.marks
    }
}

/// Something that coroutines wait for, named as in their [`Wait`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    pub(crate) kind: WaitKind,
    pub(crate) number: u64,
}

impl Resource {
    /// The resource that waits of this kind name with this number. A descriptor is the same resource
    /// for all its waits, and so is an address.
    pub const fn of(kind: WaitKind, number: u64) -> Self {
        let kind = match kind {
            WaitKind::Writable => WaitKind::Readable,
            WaitKind::Channel => WaitKind::Lock,
            kind => kind,
        };
        Resource { kind, number }
    }
}

impl From<i32> for Resource {
    /// A file descriptor, of waits to become readable or writable.
    fn from(fd: i32) -> Self {
        Resource {
            kind: WaitKind::Readable,
            number: fd as u64,
        }
    }
}

impl From<usize> for Resource {
    /// The address of a lock or a channel. The same number as a `u64` names neither.
    fn from(address: usize) -> Self {
        Resource {
            kind: WaitKind::Lock,
            number: address as u64,
        }
    }
}

impl From<u64> for Resource {
    /// A number that the program chooses. An address as a `u64` is such a number too, and does not
    /// name a lock.
    fn from(number: u64) -> Self {
        Resource {
            kind: WaitKind::User,
            number,
        }
    }
}

impl WaitKind {
    /// The kind of a stored code, without its marks. An unknown code gives `Unknown`.
    pub const fn from_code(code: u8) -> Self {
        match code & !WAIT_MARKS {
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
