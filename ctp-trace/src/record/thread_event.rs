//! What threads do, rather than coroutines.

use crate::record::{CoroutineId, Nanos, ProcessId, SiteId, WaitKind, Waker};

/// What a thread did, told in its place among the events of its thread. Threads of which only
/// stations tell have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadEvent {
    /// In which process.
    pub process: ProcessId,
    /// Which thread (the kernel's id on Linux).
    pub tid: u64,
    /// When it was done.
    pub at: Nanos,
    /// What was done.
    pub act: Act,
}

/// The sorts of [`ThreadEvent`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// It recorded something for the first time.
    #[default]
    Begin,
    /// It said that it ends.
    End,
    /// It called `wake()`.
    Wake(WakeCall),
    /// A resource is gone.
    Close(Close),
    /// Somebody holds a resource from now on.
    Acquire(Hold),
    /// Somebody gives one back.
    Release(Hold),
    /// So many of its records found no room just before, of events or of deeds. The events are in
    /// the [`EventCounts`](crate::record::EventCounts)s of their coroutines too, unless slots made up for them.
    Loss(u64),
}

/// A call of `wake()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeCall {
    /// Who was woken.
    pub coroutine: CoroutineId,
    /// Wakes of it so far, with this one, modulo 2^20.
    pub count: u32,
    /// Who called.
    pub by: Waker,
    /// The place of the call of `wake()`.
    pub site: SiteId,
}

/// The end of a resource for which coroutines may have waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Close {
    /// Of what waits: `Readable` stands for both directions of a descriptor, `Lock` for locks and
    /// channels.
    pub wait: WaitKind,
    /// Which one.
    pub arg: u64,
    /// The place where that was told.
    pub site: SiteId,
}

/// A resource that is held by one at a time, and that others wait for meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// Of what waits, as in a [`Close`].
    pub wait: WaitKind,
    /// Which one.
    pub arg: u64,
    /// Who ran where that was told.
    pub by: Waker,
    /// The place where that was told.
    pub site: SiteId,
}
