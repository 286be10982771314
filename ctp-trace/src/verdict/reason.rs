//! The reason for a verdict.

mod description;
mod table;

use super::caveat::Caveat;
use super::evidence::{
    EmptyEvidence, FullEvidence, LivesEvidence, Overtaker, ParkedEvidence, TurnEvidence,
};
use super::level::Level;
use super::words::Verdict;
use crate::record::{CoroutineId, Nanos, Seen, SiteId};

pub use description::{Basis, Blank, Description};
pub use table::REASONS;

/// The reason for a verdict, with the numbers that support it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The coroutine has ended.
    Over,
    /// The last state is unknown because this many events are lost.
    Lost(u64),
    /// A filter kept out the latest events, so it is unknown how long the state has lasted. The value is
    /// the number of the coroutine's events that were kept out.
    Filtered(u64),
    /// The state has lasted less than the threshold.
    Young,
    /// The coroutine has been running all this time.
    Runs,
    /// The coroutine is running, and other coroutines run inside it.
    Hosts,
    /// The coroutine was running when its thread ended.
    ThreadEnded,
    /// The coroutine has never run, although another coroutine became ready long after its birth and has
    /// run. The value describes the other coroutine.
    Overlooked(Overtaker),
    /// The coroutine has never run, and no coroutine that became ready long after its birth has run either.
    NotOvertaken,
    /// The coroutine was woken and has not run since, although another coroutine became ready long after
    /// the wake and has run. The delay is far longer than any earlier delay at the site.
    PassedOver {
        /// When the coroutine became ready.
        ready: Nanos,
        /// The run of the other coroutine.
        overtaker: Overtaker,
    },
    /// The coroutine was woken, and no coroutine of its process runs any more.
    NoneRuns {
        /// When the coroutine became ready.
        ready: Nanos,
    },
    /// The coroutine was woken; the delay may still be ordinary queueing.
    Queued {
        /// When the coroutine became ready.
        ready: Nanos,
    },
    /// The awaited resource was closed, and the coroutine was not resumed.
    Closed {
        /// When the resource was closed.
        at: Nanos,
        /// The caveat; `None` if this is certain.
        caveat: Option<Caveat>,
    },
    /// The coroutine is in a cycle of coroutines that wait for each other.
    Deadlock {
        /// The caveat; `None` if this is certain.
        caveat: Option<Caveat>,
    },
    /// The holder of the awaited lock has ended without releasing it.
    NeverReleased {
        /// The coroutine that took the lock.
        holder: CoroutineId,
        /// The caveat; `None` if this is certain.
        caveat: Option<Caveat>,
    },
    /// The awaited lock was released, and has not been acquired since.
    Unclaimed {
        /// Why the coroutine may not be stuck.
        caveat: Option<Caveat>,
    },
    /// The coroutine cannot continue before a stuck coroutine does.
    Behind {
        /// The coroutine at the end of the chain, for which all others wait.
        root: CoroutineId,
        /// The caveat; `None` if this is certain.
        caveat: Option<Caveat>,
    },
    /// The recorder examined the awaited descriptor twice with the same finding, and the coroutine was not
    /// resumed.
    Looked {
        /// What was found.
        seen: Seen,
        /// When the recorder first had this finding.
        first: Nanos,
        /// The caveat; `None` if this is certain.
        caveat: Option<Caveat>,
    },
    /// The coroutine was not woken, and no waker is left.
    NoWaker,
    /// No coroutine of the process runs, and each thread of the process waits for another of its threads.
    NoProgress(ParkedEvidence),
    /// The coroutine waits for room in a channel, and the coroutines that it has woken cannot continue
    /// either.
    FullChannel(FullEvidence),
    /// The coroutine waits for longer than usual, and probably holds a lock for which stuck coroutines wait.
    KeepsLock,
    /// The awaited timer was due at this time.
    Overdue(Nanos),
    /// The awaited timer is due at this time, which is in the future or only just past.
    Timer(Nanos),
    /// The wait is far longer than usual at this level, while other waits of the level ended.
    FarBeyond(Level),
    /// A branch of the wait has waited far longer than usual, although the coroutine was polled for other
    /// branches.
    Branch {
        /// The site of the branch.
        site: SiteId,
        /// When the wait for the branch began.
        since: Nanos,
    },
    /// The site has too little history, but the wait is far longer than similar coroutines lived, and
    /// the latest of them wait here too.
    BeyondLives(LivesEvidence),
    /// The wait is far longer than usual at this site. But the awaited lock keeps changing hands and has
    /// many waiters.
    InTurn(TurnEvidence),
    /// The wait is far longer than usual at this site, but a look at the descriptor found nothing to
    /// read.
    NothingToRead(EmptyEvidence),
    /// The wait is far longer than usual at this level. Only coroutines of the same spawn site have ended
    /// such waits, and all of those wait here.
    Peers(Level),
    /// The coroutine waits for room in a channel, far longer than in any earlier wait, and has woken no
    /// coroutine that could read from the channel.
    NoReader(Level),
    /// The coroutine waits for a lock, a permit or room, far longer than usual at this level. It was woken
    /// for another of its futures, which it does not poll.
    OwnFuture(Level),
    /// The wait is far longer than usual at this level. Only coroutines of some families have ended such
    /// waits, and all of these wait for each other.
    EachOther(Level),
    /// The program marked this wait as meant to be long.
    Idle,
    /// The latest poll registered no waker, like a poll of `std::future::pending()`.
    Unregistered,
    /// The user chose to ignore this coroutine. The value is the verdict without that choice.
    Ignored(Verdict),
    /// The level has had waits about as long before.
    Usual(Level),
    /// The wait is far longer than usual at this level, but what usually ends such waits has not run
    /// since either.
    Quiet(Level),
    /// The wait is far longer than usual at this level, where other waits still end. But the coroutine
    /// waits for a point in time, or for a message from a sender that may have nothing to send.
    NoWork(Level),
    /// The wait is far longer than usual, but only at a level that is too coarse to conclude that the
    /// coroutine is stuck.
    OnlyCoarse(Level),
    /// Too few waits have ended at every level to say what is usual.
    NoPast,
    /// The coroutine still waits when the recording ends, and its runtime records neither wakes nor the
    /// awaited resource.
    Silent,
}

impl Reason {
    /// Why the verdict is not certain, if there is a reason to doubt it.
    pub fn caveat(self) -> Option<Caveat> {
        match self {
            Reason::Closed { caveat, .. }
            | Reason::Deadlock { caveat }
            | Reason::NeverReleased { caveat, .. }
            | Reason::Unclaimed { caveat }
            | Reason::Behind { caveat, .. }
            | Reason::Looked { caveat, .. } => caveat,
            _ => None,
        }
    }

    /// Whether only the length of the wait, compared with earlier waits, decided.
    pub fn is_by_length(self) -> bool {
        self == Reason::NoPast || self.level().is_some()
    }

    /// The level at which the wait was compared with earlier waits, if this comparison decided the verdict.
    pub fn level(self) -> Option<Level> {
        match self {
            Reason::FarBeyond(level)
            | Reason::Peers(level)
            | Reason::NoReader(level)
            | Reason::OwnFuture(level)
            | Reason::EachOther(level)
            | Reason::Usual(level)
            | Reason::Quiet(level)
            | Reason::NoWork(level)
            | Reason::OnlyCoarse(level) => Some(level),
            _ => None,
        }
    }

    /// The identifier of the reason in machine-readable output.
    pub fn word(&self) -> &'static str {
        self.describe().word
    }

    /// The record that supports the reason, apart from the coroutine's own records.
    pub fn witness(&self) -> Option<Witness> {
        let (at, by, what, time) = match *self {
            Reason::Overlooked(overtaker) | Reason::PassedOver { overtaker, .. } => {
                let what = "run of a coroutine that became ready only at {time}";
                (overtaker.ran, "others", what, overtaker.ready)
            }
            Reason::InTurn(turn) => {
                let what = "acquire by a coroutine that waited since {time}";
                (turn.taken, "others", what, turn.waited_since)
            }
            Reason::NoProgress(parked) => {
                let what = "no thread can be woken from outside, as at {time}";
                (parked.latest, "(outside)", what, parked.first)
            }
            Reason::FullChannel(full) => {
                let what = "suspend of a coroutine that it had woken, and that is stuck too";
                (full.since, "others", what, full.since)
            }
            Reason::Overdue(due) => (due, "timer", "was due", due),
            _ => return None,
        };
        Some(Witness { at, by, what, time })
    }
}

/// A record that does not belong to the coroutine.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// Time of the event.
    pub at: Nanos,
    /// What caused the event: other coroutines, a timer, or something outside of the process.
    pub by: &'static str,
    /// What happened; `{time}` stands for [`time`](Self::time).
    pub what: &'static str,
    /// The time that `what` mentions.
    pub time: Nanos,
}
