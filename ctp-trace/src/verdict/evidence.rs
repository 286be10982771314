//! What the rule looks at.

use super::caveat::Caveat;
use crate::record::{CoroutineId, Dialect, Nanos, Seen};

/// What is known of one coroutine at the end of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What it was last seen doing.
    pub state: State,
    /// Since when.
    pub since: Nanos,
    /// The end of the recording, to which every age is measured.
    pub end: Nanos,
    /// Who wrote its events.
    pub dialect: Dialect,
    /// What is missing of its last events.
    pub missing: MissingEvidence,
    /// What its wake word says; `None` if its runtime does not tell.
    pub wake: Option<WakeEvidence>,
    /// How it comes to run.
    pub polls: PollEvidence,
    /// What it says of its wait.
    pub wait: WaitEvidence,
    /// What is known of what it waits for.
    pub resource: ResourceEvidence,
    /// What its threads do.
    pub threads: ThreadEvidence,
    /// The past of the site where it waits.
    pub past: Past,
    /// How those like it lived that have ended, if any have.
    pub lives: Option<LivesEvidence>,
}

/// Events of a coroutine that may have changed its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingEvidence {
    /// Set if its last state may not be its last: this many events of it are lost.
    pub lost: Option<u64>,
    /// Not 0 if a filter kept out what it did last: so many of its events were kept out.
    pub filtered: u64,
}

/// How a coroutine comes to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollEvidence {
    /// How many of its wakers are alive, if that is known.
    pub wakers: Option<u32>,
    /// It was polled without a wake of its own, or inside of another one: it may go on without.
    pub by_others: bool,
    /// A wake of its own has led to a run before.
    pub when_woken: bool,
    /// Of its polls, or of what ran around them, not all is in the trace: others may poll it.
    pub unrecorded: bool,
    /// Its runtime may use up a wake that comes while it runs, without running it again: one with
    /// stacks may, but a runtime of futures may not.
    pub keeps_permits: bool,
}

/// What a coroutine says of its wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitEvidence {
    /// Its wait is meant to be long.
    pub idle: bool,
    /// It waits for other things too, which are not told.
    pub one_of_several: bool,
    /// When its timer was due, if it waits for one and said so.
    pub deadline: Option<Nanos>,
}

/// What is known of what a coroutine waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceEvidence {
    /// The end of what it waits for, if that came since it does, and was told.
    pub closed: Option<CloseEvidence>,
    /// What keeps it for good, if anything does.
    pub blocked: Option<BlockEvidence>,
    /// What was seen from outside of what it waits for, if that was remarkable.
    pub looked: Option<LookEvidence>,
    /// The latest look from outside, if it found nothing to read where the coroutine waits for that.
    pub empty: Option<EmptyEvidence>,
    /// How the lock that it waits for has gone from one to the next, if it has since it waits.
    pub turn: Option<TurnEvidence>,
}

/// What the threads do that may run a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadEvidence {
    /// Of all runs in its process, the one of which the coroutine had become ready last.
    pub overtaker: Option<Overtaker>,
    /// Like [`served`](Self::overtaker), but of the threads that may have it in a queue of their own, of
    /// the one that is further behind; `None` if one of them is not known to have run any.
    pub overtaker_on_thread: Option<Overtaker>,
    /// It runs, and its thread has begun to run another one since, inside of it.
    pub hosts: bool,
    /// The thread of its latest event has said since that it ends.
    pub ended: bool,
    /// The thread that ran it last is kept by another one, which has run since then.
    pub held_since: Option<Nanos>,
}

/// What a coroutine was last seen doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It was born and never ran.
    #[default]
    Born,
    /// It ran.
    Running,
    /// It waited.
    Suspended,
    /// It was dropped while it waited.
    Cancelled,
    /// It ended.
    Dead,
}

/// A wake word, compared with what the coroutine knew when it suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeEvidence {
    /// It was woken since its last run began.
    pub woken: bool,
    /// When it was last woken. Not known if whoever did so has not said it yet.
    pub at: Option<Nanos>,
    /// Of the wakes since it waits, the first that is known.
    pub first: Option<Nanos>,
    /// Its last wake came within a millisecond of the start of its last run, so that counting
    /// alone cannot tell which came first.
    pub close_call: bool,
}

/// What a coroutine waits for is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseEvidence {
    /// When it was closed first since the coroutine waits for it.
    pub at: Nanos,
    /// The longest that others waited on from there, at the same site or for what was closed at
    /// the same place; zero if nobody is known to have gone on.
    pub longest_after: Nanos,
    /// Nothing is missing of what its process told since it waits: no record is lost, filtered or
    /// unreadable.
    pub whole: bool,
}

/// A coroutine cannot go on before another one does, and that one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvidence {
    /// Why not.
    pub block_cause: BlockCause,
    /// Since when that is so.
    pub since: Nanos,
    /// Why it may go on all the same.
    pub caveat: Option<Caveat>,
}

/// Why one that keeps another one waiting does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCause {
    /// It waits itself, for one that waits, and so on, for this one.
    Cycle,
    /// It has ended, and has not given back the lock that it took.
    Ended(CoroutineId),
    /// It has given back the lock, which nobody has taken since.
    Unclaimed,
    /// It, or one that keeps it, is stuck itself.
    Behind(CoroutineId),
}

/// All looks from outside at what a coroutine waits for found this, since the first that did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookEvidence {
    /// What the looks found.
    pub seen: Seen,
    /// When it was found first.
    pub first: Nanos,
    /// When it was found last; as `first` if there was no other look.
    pub latest: Nanos,
    /// The longest that others waited on at the same site after their descriptor was seen closed;
    /// zero if nobody is known to have gone on.
    pub longest_after: Nanos,
    /// Nothing is missing of what its process told since it waits.
    pub whole: bool,
}

/// There was nothing to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmptyEvidence {
    /// From this descriptor.
    pub fd: u64,
    /// When that was looked at.
    pub at: Nanos,
}

/// A lock goes from one to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnEvidence {
    /// When it was taken last.
    pub taken: Nanos,
    /// When who took it then had begun to wait for it; the same if it did not.
    pub waited_since: Nanos,
    /// Of all who took it, when the one had begun that began last.
    pub youngest: Nanos,
}

impl TurnEvidence {
    /// Somebody takes it. Those of other threads may be told late.
    pub(crate) fn take(&mut self, at: Nanos, waited_since: Nanos) {
        if self.taken <= at {
            (self.taken, self.waited_since) = (at, waited_since);
        }
        self.youngest = self.youngest.max(waited_since);
    }
}

/// Coroutines of one kind came and went, until one day they went no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivesEvidence {
    /// So many went to their end; those that were dropped while they waited did not.
    pub ended: u64,
    /// Upper bound of how long 99 % of these lived.
    pub p99: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// So many were born after all of these, and wait at this place.
    pub newest: u64,
}

/// A coroutine was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overtaker {
    /// When it had become ready, at the earliest.
    pub ready: Nanos,
    /// When that run began.
    pub ran: Nanos,
}

/// What usually happens at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Waits that ended in a run.
    pub waits: u64,
    /// Upper bound of what 99 % of them took.
    pub p99: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// Wakes of which the delay until the run is known.
    pub queued: u64,
    /// The longest such delay.
    pub longest_queued: Nanos,
}
