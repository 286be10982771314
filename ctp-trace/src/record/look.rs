//! Looks from outside at what coroutines wait for.

use crate::record::{CoroutineId, Nanos};

/// The recorder looked at a descriptor, without touching it, while a coroutine waited for it. Only
/// what is remarkable is told, and what that was before; and, ever more seldom, that there is nothing
/// to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Who waits.
    pub coroutine: CoroutineId,
    /// Since when: the time of its suspend.
    pub since: Nanos,
    /// When the recorder looked.
    pub at: Nanos,
    /// The descriptor's number.
    pub fd: u64,
    /// What sort of thing it was last seen to be.
    pub thing: Thing,
    /// What the recorder saw.
    pub seen: Seen,
}

/// What sort of thing a descriptor stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Thing {
    /// Not known, or of none of these sorts.
    #[default]
    Other,
    /// A socket.
    Socket,
    /// One end of a pipe.
    Pipe,
    /// A counter of the kernel: an eventfd.
    Event,
}

/// What a look at a descriptor found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Seen {
    /// It is open, and nothing speaks against waiting for it.
    #[default]
    Open,
    /// It is closed, and was open at an earlier look since the coroutine waits. In no table of its
    /// process does its number stand for anything, and no other number for the same thing.
    Closed,
    /// It stands for something else than at an earlier look since the coroutine waits.
    Replaced,
    /// So many bytes, connections or events can be had from it; 1 of a socket of datagrams.
    Readable(u64),
    /// The other end is closed, so that reading would not wait.
    HungUp,
    /// The recorder was not allowed to look, here and elsewhere in this process.
    Hidden,
    /// Its number is closed, and the rest as in [`Closed`](Seen::Closed), but the same thing is
    /// open in the process under another number, or it cannot be told that it is not.
    NumberClosed,
    /// It is open, but no epoll of the process tells when it is ready, as it does of what others
    /// there wait for. So much can be had from it, as far as that is known.
    Unwatched(u64),
    /// It is open, and reading would wait: nothing is there. Of what is only [`Open`](Seen::Open)
    /// that is not known.
    Empty,
}

impl Seen {
    /// Whether both say the same but for an amount.
    pub fn is_like(self, other: Seen) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_makes_no_other_finding() {
        assert!(Seen::Readable(1).is_like(Seen::Readable(9)));
        assert!(!Seen::Readable(1).is_like(Seen::Unwatched(1)));
        assert!(!Seen::Closed.is_like(Seen::NumberClosed));
    }
}
