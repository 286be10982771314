//! What leaf futures wait for, as the recorder concludes from the functions of an await chain.

use crate::record::{Nanos, ProcessId, SiteId};

/// What the leaf future of the waits at a site waits for. The recorder finds the functions of the site's
/// [`Chain`](crate::record::Chain) in the program's debug info or symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    /// The site.
    pub site: SiteId,
    /// What the leaf future waits for.
    pub kind: LeafKind,
    /// The first site whose chain is at the same place of the source, since the compiler may have duplicated
    /// the code. The site itself if that is the first, or for a branch whose lines are not known. 0 if the
    /// place was not examined.
    pub same_as: SiteId,
}

/// What a leaf future waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeafKind {
    /// Not known.
    #[default]
    Unknown,
    /// Bytes or connections of a descriptor that the runtime watches.
    Io,
    /// A point in time.
    Timer,
    /// A mutex or a reader-writer lock.
    Lock,
    /// Permits of a semaphore.
    Semaphore,
    /// Room in a channel.
    Room,
    /// A message from a channel, or a change of a watched value.
    Message,
    /// The only value that a channel will ever have, as that of a oneshot channel.
    Reply,
    /// A notification, as of a `Notify`.
    Notification,
    /// The end of a task.
    Task,
    /// Room for bytes in a descriptor that the runtime watches.
    Output,
    /// Not known, because only the call of `Waker::clone` was found. Without optimization and frame pointers,
    /// all leaf futures share this call, so the site stands for all waits of a function.
    SharedSite,
    /// A point in time or a message: a library function is known that timers and channels share, as without frame
    /// pointers.
    TimeOrMessage,
    /// Not known, because only a library function is known that locks, channels and notifications share.
    SharedFunction,
}

impl LeafKind {
    /// The identifier of the kind in machine-readable output.
    pub fn word(self) -> &'static str {
        match self {
            LeafKind::Unknown => "unknown",
            LeafKind::Io => "io",
            LeafKind::Timer => "timer",
            LeafKind::Lock => "lock",
            LeafKind::Semaphore => "semaphore",
            LeafKind::Room => "room",
            LeafKind::Message => "message",
            LeafKind::Reply => "reply",
            LeafKind::Notification => "notification",
            LeafKind::Task => "task",
            LeafKind::Output => "output",
            LeafKind::SharedSite => "shared-site",
            LeafKind::TimeOrMessage => "time-or-message",
            LeafKind::SharedFunction => "shared-function",
        }
    }

    /// Whether only code that has work to do waits so: for a lock, for room in a channel or a descriptor,
    /// or for a reply. Code that waits for its next work waits for messages, notifications or input.
    pub fn is_part_of_work(self) -> bool {
        matches!(
            self,
            LeafKind::Lock | LeafKind::Room | LeafKind::Reply | LeafKind::Output
        )
    }
}

/// What the sockets of a process held when the recorder read the kernel's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// The process.
    pub process: ProcessId,
    /// When the recorder read the tables.
    pub at: Nanos,
    /// Sockets with something to read for at least a second: bytes, connections, or the end of the
    /// stream. Each observation since then found at least as much as the one before.
    pub undrained: u64,
    /// Sockets with at least 2048 unsent bytes for at least a second, never fewer than before.
    pub unsent: u64,
}
