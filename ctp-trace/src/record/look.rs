//! Observations of what coroutines wait for, made from outside the program.

use crate::record::{CoroutineId, Nanos};

/// The recorder examined a file descriptor, without touching it, while a coroutine waited for it. The
/// trace has notable findings, the end of a notable finding, and, ever less frequently, the finding that
/// there is nothing to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The coroutine that waits.
    pub coroutine: CoroutineId,
    /// The start of the wait: the time of its suspend.
    pub since: Nanos,
    /// When the recorder looked.
    pub at: Nanos,
    /// The descriptor's number.
    pub fd: u64,
    /// The last known type of the descriptor.
    pub thing: Thing,
    /// What the recorder saw.
    pub seen: Seen,
}

/// The type of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Thing {
    /// Unknown, or none of these types.
    #[default]
    Other,
    /// A socket.
    Socket,
    /// One end of a pipe.
    Pipe,
    /// An event counter of the kernel (eventfd).
    Event,
}

/// What the recorder found when it examined a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Seen {
    /// The descriptor is open, and waiting for it makes sense.
    #[default]
    Open,
    /// The descriptor is closed, and was open at an earlier look during the same wait. Its number is
    /// free in every descriptor table of the process, and no other number refers to the same file.
    Closed,
    /// The descriptor refers to another file than at an earlier look during the same wait.
    Replaced,
    /// This many bytes, connections or events are ready to be read; always 1 for a datagram socket.
    Readable(u64),
    /// The other end is closed, so reading would not block.
    HungUp,
    /// The recorder has no permission to examine this process.
    Hidden,
    /// The number is closed, and otherwise as [`Closed`](Seen::Closed). But the same file is open under
    /// another number in the process, or that cannot be ruled out.
    NumberClosed,
    /// The descriptor is open, but no epoll instance of the process watches it, though the process uses
    /// epoll for other waits. The amount that is ready to be read is given if it is known.
    Unwatched(u64),
    /// The descriptor is open, and reading would block: there is nothing to read. For a descriptor that
    /// is only [`Open`](Seen::Open), this is not known.
    Empty,
    /// The descriptor was closed at the first look during this wait and at each look since. It may have
    /// been open before, or may be no descriptor at all.
    ClosedAtFirst,
}

impl Seen {
    /// Whether both findings are of the same kind, whatever their amounts.
    pub fn is_like(self, other: Seen) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_does_not_change_the_finding() {
        assert!(Seen::Readable(1).is_like(Seen::Readable(9)));
        assert!(!Seen::Readable(1).is_like(Seen::Unwatched(1)));
        assert!(!Seen::Closed.is_like(Seen::NumberClosed));
    }
}
