//! The input of the rule.

use super::caveat::Caveat;
use super::level::Level;
use crate::record::{CoroutineId, Dialect, LeafKind, Nanos, PollWakers, Seen, SiteId};

/// What is known of a coroutine at the end of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The state in which the coroutine was last seen.
    pub state: State,
    /// When that state began.
    pub since: Nanos,
    /// The end of the recording, from which every age is measured.
    pub end: Nanos,
    /// The writer of the coroutine's events.
    pub dialect: Dialect,
    /// What is missing of the coroutine's last events.
    pub missing: MissingEvidence,
    /// What the wake word says; `None` if the runtime does not record wakes.
    pub wake: Option<WakeEvidence>,
    /// How the coroutine is polled.
    pub polls: PollEvidence,
    /// What the coroutine recorded about its wait.
    pub wait: WaitEvidence,
    /// What is known of the awaited resource.
    pub resource: ResourceEvidence,
    /// What the threads are doing.
    pub threads: ThreadEvidence,
    /// The earlier waits with which the wait is compared.
    pub past: Past,
    /// Of the branches of a wait, such as a `select!`, the one that has waited the longest compared with
    /// its own past; `None` if there are no branches with a past.
    pub branch: Option<BranchEvidence>,
    /// How long similar coroutines lived that have ended; `None` if there are none.
    pub lives: Option<LivesEvidence>,
}

/// A branch of a wait. No waker of the branch was called since its wait began, however often the
/// coroutine was polled for another branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchEvidence {
    /// The site of the branch.
    pub site: SiteId,
    /// What the leaf future of the branch waits for.
    pub leaf: LeafKind,
    /// The wait for the branch began after an earlier future of the branch, which had already made progress,
    /// was dropped.
    pub is_restarted: bool,
    /// When the wait for the branch began.
    pub since: Nanos,
    /// The waits for this branch that are over.
    pub past: Past,
}

/// Missing events of a coroutine that may have changed its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingEvidence {
    /// The number of lost events, if the latest state may be among them.
    pub lost: Option<u64>,
    /// The number of filtered events, if the latest state is among them; otherwise 0.
    pub filtered: u64,
}

/// How a coroutine is polled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollEvidence {
    /// How many of the coroutine's wakers are alive, if known.
    pub wakers: Option<u32>,
    /// The wakers with which the latest poll left the coroutine.
    pub left: PollWakers,
    /// The coroutine was polled without a wake of its own, or inside another coroutine. So it may
    /// continue without a wake.
    pub by_others: bool,
    /// A wake of the coroutine itself has led to a run before.
    pub when_woken: bool,
    /// The trace lacks some of the coroutine's polls, or some of the runs around them. So others may
    /// poll it.
    pub unrecorded: bool,
    /// A wake that arrives during a run may be consumed without another run. Runtimes of stackful
    /// coroutines may do this; runtimes of futures must not.
    pub keeps_permits: bool,
}

/// What a coroutine recorded about its wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitEvidence {
    /// The wait is meant to be long.
    pub idle: bool,
    /// The coroutine waits for other things too, which are not recorded.
    pub one_of_several: bool,
    /// The wait is for a lock, which is never meant to be held for long.
    pub for_lock: bool,
    /// The wait is for a lock, and a coroutine that may have it waits for its next message.
    pub is_held_while_idle: bool,
    /// The wait is for the end of a blocking call: only threads that run no coroutines have ended such waits.
    pub is_for_call: bool,
    /// What the awaited leaf future waits for, if the program did not announce the wait itself.
    pub leaf: LeafKind,
    /// The deadline of the awaited timer, if known.
    pub deadline: Option<Nanos>,
}

/// What is known of the resource that a coroutine waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceEvidence {
    /// The close of the resource, if one was recorded since the wait began.
    pub closed: Option<CloseEvidence>,
    /// What blocks the coroutine for good, if anything does.
    pub blocked: Option<BlockEvidence>,
    /// The coroutine waits for room in a channel that nothing empties.
    pub full: Option<FullEvidence>,
    /// The coroutine waits for room in a channel, and has woken no coroutine that could read from that channel.
    pub no_reader: bool,
    /// The coroutine probably holds a lock for which stuck coroutines wait.
    pub keeps_lock: bool,
    /// The coroutine was woken for another of its futures, which may hold what the coroutine waits for.
    pub own_future: bool,
    /// Only coroutines of some families have ever ended waits at the place, and all coroutines of these
    /// families wait for each other likewise.
    pub in_closed_group: bool,
    /// A thread, or a coroutine that may continue, has woken the coroutine before.
    pub may_be_woken_again: bool,
    /// What the recorder noticed about the resource from outside, if that was remarkable.
    pub looked: Option<LookEvidence>,
    /// The latest observation from outside, if it found nothing to read where the coroutine waits to
    /// read. For a coroutine that may wait for any socket of its process: if it found all sockets
    /// drained.
    pub empty: Option<EmptyEvidence>,
    /// How the awaited lock has changed hands since the wait began, if it has.
    pub turn: Option<TurnEvidence>,
}

/// What the threads that may run a coroutine are doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadEvidence {
    /// Of all runs in the process, the run of the coroutine that became ready last.
    pub overtaker: Option<Overtaker>,
    /// Like [`overtaker`](Self::overtaker), but only of the threads that may have the coroutine in a
    /// queue of their own, and of the thread that is furthest behind. `None` if one of these threads is
    /// not known to have run any coroutine.
    pub overtaker_on_thread: Option<Overtaker>,
    /// The coroutine is running, and its thread has since begun to run another coroutine inside it.
    pub hosts: bool,
    /// The thread of the coroutine's latest event has since announced that it ends.
    pub ended: bool,
    /// Since when no coroutine of the process has run; `None` if one runs, or may run.
    pub quiet_since: Option<Nanos>,
    /// Since when the thread that last ran the coroutine has been occupied by another coroutine, if it
    /// is.
    pub held_since: Option<Nanos>,
    /// The observations of the process's threads, if each of them waits for another, and so does each
    /// coroutine.
    pub parked: Option<ParkedEvidence>,
}

/// Observations found that each thread of a process waits for another, without a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParkedEvidence {
    /// When a coroutine of the process ran last.
    pub ran: Nanos,
    /// Time of the first such observation since then.
    pub first: Nanos,
    /// Time of the latest such observation.
    pub latest: Nanos,
}

/// The last known state of a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Born, never run.
    #[default]
    Born,
    /// Running.
    Running,
    /// Suspended.
    Suspended,
    /// Dropped while suspended.
    Cancelled,
    /// Ended.
    Dead,
}

/// The wake word, compared with the count that the coroutine knew when it suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeEvidence {
    /// The coroutine was woken since its last run began.
    pub woken: bool,
    /// The time of the last wake. `None` if the waker has not published it yet.
    pub at: Option<Nanos>,
    /// The first known wake since the wait began.
    pub first: Option<Nanos>,
    /// The last wake came within a millisecond of the start of the last run, so counts alone cannot
    /// decide which came first.
    pub close_call: bool,
}

/// The resource that a coroutine waits for was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseEvidence {
    /// The first close since the wait began.
    pub at: Nanos,
    /// The longest time that other waiters took to resume after such a close, at the same site or for
    /// resources closed at the same place. Zero if none is known to have resumed.
    pub longest_after: Nanos,
    /// The records of the process are complete since the wait began: none is lost, filtered or
    /// unreadable.
    pub whole: bool,
}

/// A coroutine is blocked by another coroutine, which does not continue either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvidence {
    /// The cause of the block.
    pub block_cause: BlockCause,
    /// Start of the block.
    pub since: Nanos,
    /// The caveat, if any.
    pub caveat: Option<Caveat>,
}

/// Why the blocking coroutine does not continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCause {
    /// The two wait for each other, possibly through further coroutines.
    Cycle,
    /// This coroutine took the lock and ended without releasing it.
    Ended(CoroutineId),
    /// The lock was released, and has not been acquired since.
    Unclaimed,
    /// The chain of blocking coroutines ends at this coroutine, which is itself stuck.
    Behind(CoroutineId),
}

/// A coroutine waits for room in a channel, and no coroutine that may read from the channel can
/// continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullEvidence {
    /// The first of the coroutines that may read: the waiting coroutine has woken it before.
    pub reader: CoroutineId,
    /// When the reader began to wait.
    pub since: Nanos,
}

/// A finding that all looks from outside at the awaited resource share, from the first with this finding to the
/// latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookEvidence {
    /// What was found.
    pub seen: Seen,
    /// Time of the first look with this finding.
    pub first: Nanos,
    /// Time of the last look with this finding; equals `first` if there was no second look.
    pub latest: Nanos,
    /// The longest time that other waiters at the same site took to resume after their descriptor was
    /// seen closed. Zero if none is known to have resumed.
    pub longest_after: Nanos,
    /// The records of the process are complete since the wait began.
    pub whole: bool,
}

/// An observation found nothing to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmptyEvidence {
    /// The descriptor; `None` if this holds for all sockets of the process, which were drained for a
    /// second at least, and have no unsent bytes.
    pub fd: Option<u64>,
    /// When the recorder looked.
    pub at: Nanos,
}

/// How a lock has changed hands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnEvidence {
    /// When the lock was last acquired.
    pub taken: Nanos,
    /// When the wait of that acquirer began; equals `taken` without a wait.
    pub waited_since: Nanos,
    /// The latest start of a wait among all acquirers.
    pub youngest: Nanos,
}

impl TurnEvidence {
    /// Takes an acquire into account. Acquires of different threads may arrive out of order.
    pub(crate) fn take(&mut self, at: Nanos, waited_since: Nanos) {
        if self.taken <= at {
            (self.taken, self.waited_since) = (at, waited_since);
        }
        self.youngest = self.youngest.max(waited_since);
    }
}

/// The lives of similar coroutines: earlier coroutines ended, but the latest do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivesEvidence {
    /// How many ran to completion. Coroutines that were dropped while they waited are not counted.
    pub ended: u64,
    /// Upper bound of the lifetime of 99 % of these coroutines.
    pub p99: Nanos,
    /// The longest lifetime.
    pub longest: Nanos,
    /// How many were born after all ended coroutines and now wait at this place. Or how many wait at any
    /// place, if all coroutines of the family that were born after the ended coroutines have waited for far
    /// longer than those lived.
    pub newest: u64,
    /// How many now wait at this place, whenever they were born.
    pub here: u64,
    /// How many similar coroutines now wait, whenever they were born. `None` if the waits at the place
    /// are all recorded, so that these are compared instead.
    pub alike: Option<u64>,
}

/// A coroutine that was run before another coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overtaker {
    /// The earliest time at which the coroutine can have become ready.
    pub ready: Nanos,
    /// When that run began.
    pub ran: Nanos,
}

/// Earlier waits with which a wait is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Which waits these are.
    pub level: Level,
    /// Waits that were followed by a run.
    pub waits: u64,
    /// The mean duration of these waits.
    pub mean: Nanos,
    /// Upper bound of the duration of 99 % of these waits.
    pub p99: Nanos,
    /// The longest wait.
    pub longest: Nanos,
    /// No closer level is recorded, as in a summary.
    pub is_closest: bool,
    /// The latest time at which a wait of this level ended, or at which the code ran that usually ends
    /// such waits.
    pub active: Nanos,
    /// Wakes at the site for which the delay until the run is known.
    pub queued: u64,
    /// The longest such delay. If only totals are known: the longest wait, which bounds the delay.
    pub longest_queued: Nanos,
    /// Each of these waits was ended by a coroutine with the spawn site of the waiting coroutine, and all
    /// coroutines of that spawn site wait here.
    pub by_peers: bool,
}
