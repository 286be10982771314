//! Events of threads rather than of coroutines.

use crate::record::{CoroutineId, Nanos, ProcessId, SiteId, WaitKind, Waker};

/// An event of a thread, in order with the coroutine events of the same thread. Threads that wrote only
/// to stations have no such events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadEvent {
    /// The process of the thread.
    pub process: ProcessId,
    /// The thread (the kernel's id on Linux).
    pub tid: u64,
    /// Time of the event.
    pub at: Nanos,
    /// What happened.
    pub act: Act,
}

/// The kinds of [`ThreadEvent`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// The thread recorded something for the first time.
    #[default]
    Begin,
    /// The thread announced that it ends.
    End,
    /// The thread called `wake()`.
    Wake(WakeCall),
    /// A resource was closed.
    Close(Close),
    /// A resource was acquired.
    Acquire(Hold),
    /// A resource was released.
    Release(Hold),
    /// This many records of the thread, of either kind, were lost just before. The
    /// [`EventCounts`](crate::record::EventCounts) of their coroutines include the lost coroutine
    /// events, unless the events were recovered from slots.
    Loss(u64),
}

/// A call of `wake()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeCall {
    /// The coroutine that was woken.
    pub coroutine: CoroutineId,
    /// The coroutine's wake count after this call, modulo 2^20.
    pub count: u32,
    /// The caller.
    pub by: Waker,
    /// Where `wake()` was called.
    pub site: SiteId,
}

/// A resource was closed for which coroutines may have waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Close {
    /// The kind of wait that ends: `Readable` stands for both directions of a descriptor, `Lock` for
    /// locks and channels.
    pub wait: WaitKind,
    /// The resource.
    pub arg: u64,
    /// Where the program reported the close.
    pub site: SiteId,
}

/// A resource that was acquired or released, for which others may wait in the meantime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// The kind of wait, as in a [`Close`].
    pub wait: WaitKind,
    /// The resource.
    pub arg: u64,
    /// The coroutine or thread that ran when this was reported.
    pub by: Waker,
    /// Where the program reported this.
    pub site: SiteId,
    /// If acquired: whether others may hold the resource at the same time.
    pub shared: bool,
}
