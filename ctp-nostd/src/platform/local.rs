//! What the probe remembers for each thread, as plain data. If the comment of a word names a file,
//! that file explains how the word is used.

#[cfg(feature = "alloc")]
use super::polled::Polled;
use crate::protocol::lane::OwnRing;
use crate::sync::private::AtomicU64;

/// What the probe remembers for each thread.
#[derive(Debug, Default)]
pub struct Local {
    /// Linux: {attachment 32 | thread id 32}, so that the kernel is asked for the id once.
    #[cfg(feature = "linux")]
    pub(crate) identity: AtomicU64,
    /// {attachment 32 | lane number + 1, 32}, so that a lane is requested once; see
    /// `event/thread_lane.rs`.
    pub(crate) lane: AtomicU64,
    /// The ring of that lane.
    pub(crate) own_ring: OwnRing,
    /// The thread's id, set when the thread first requests a lane.
    pub(crate) thread: AtomicU64,
    /// The word of the coroutine that runs here, 0 for none, and a flag for an announcement;
    /// see `event/announce.rs`.
    pub(crate) current: AtomicU64,
    /// Site word of the wait that a leaf future announced; 0 for none.
    pub(crate) announced_site: AtomicU64,
    /// The resource of that wait.
    pub(crate) announced_arg: AtomicU64,
    /// The code of that wait's kind and marks, plus 1.
    pub(crate) announced_code: AtomicU64,
    /// The traced future that is being polled here.
    #[cfg(feature = "alloc")]
    pub(crate) polled: Polled,
}

impl Local {
    /// The initial state of a thread.
    pub const fn new() -> Self {
        Local {
            #[cfg(feature = "linux")]
            identity: AtomicU64::new(0),
            lane: AtomicU64::new(0),
            own_ring: OwnRing::new(),
            thread: AtomicU64::new(0),
            current: AtomicU64::new(0),
            announced_site: AtomicU64::new(0),
            announced_arg: AtomicU64::new(0),
            announced_code: AtomicU64::new(0),
            #[cfg(feature = "alloc")]
            polled: Polled::new(),
        }
    }
}
