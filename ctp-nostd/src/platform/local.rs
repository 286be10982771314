//! What the probe remembers for each thread, as plain data: each word is read and written in the file
//! that its comment names.

use core::sync::atomic::AtomicU64;

#[cfg(feature = "alloc")]
use super::polled::Polled;
use crate::protocol::lane::OwnRing;

/// What the probe remembers for each thread.
#[derive(Debug, Default)]
pub struct Local {
    /// Linux: {attachment 32 | thread id 32}, so that the id is asked for once.
    #[cfg_attr(
        not(feature = "linux"),
        expect(dead_code, reason = "other places know their thread at once")
    )]
    pub(crate) identity: AtomicU64,
    /// {attachment 32 | number of its lane + 1, 32}, so that a lane is looked for once; see
    /// `event/thread_lane.rs`.
    pub(crate) lane: AtomicU64,
    /// The ring of that lane.
    pub(crate) own_ring: OwnRing,
    /// Its id, once it has looked for a lane.
    pub(crate) thread: AtomicU64,
    /// The seat word of the coroutine that runs here, 0 for none; and whether something is announced,
    /// see `event/announce.rs`.
    pub(crate) current: AtomicU64,
    /// Site word of the wait that a leaf future announced; 0 for none.
    pub(crate) noted_site: AtomicU64,
    /// Its resource.
    pub(crate) noted_arg: AtomicU64,
    /// The code of its kind and marks, plus 1.
    pub(crate) noted_kind: AtomicU64,
    /// The traced future that is polled here.
    #[cfg(feature = "alloc")]
    pub(crate) polled: Polled,
}

impl Local {
    /// Nothing remembered yet.
    pub const fn new() -> Self {
        Local {
            identity: AtomicU64::new(0),
            lane: AtomicU64::new(0),
            own_ring: OwnRing::new(),
            thread: AtomicU64::new(0),
            current: AtomicU64::new(0),
            noted_site: AtomicU64::new(0),
            noted_arg: AtomicU64::new(0),
            noted_kind: AtomicU64::new(0),
            #[cfg(feature = "alloc")]
            polled: Polled::new(),
        }
    }
}
