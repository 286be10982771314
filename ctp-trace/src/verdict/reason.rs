//! Why a coroutine has its verdict.

mod description;
mod table;

use super::caveat::Caveat;
use super::evidence::{EmptyEvidence, LivesEvidence, Overtaker, TurnEvidence};
use super::words::Verdict;
use crate::record::{CoroutineId, Nanos, Seen};

pub use description::{Basis, Blank, Description};
pub use table::REASONS;

/// Why, with the numbers that prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It is over.
    Over,
    /// So many events are lost that its last state is not known.
    Lost(u64),
    /// A filter kept out what it did last, and so many of its events in all: since when it has been
    /// in its state is not known.
    Filtered(u64),
    /// It has been in this state for less than the threshold.
    Young,
    /// It has run all this time.
    Runs,
    /// It runs, and others run inside of it.
    Hosts,
    /// It was left in the middle of a run: the thread that ran it has ended.
    ThreadEnded,
    /// It was never run, while one was that became ready long after its birth.
    Overlooked(Overtaker),
    /// It was never run, but nor was any that became ready long after its birth.
    NotOvertaken,
    /// Woken, not run for far longer than any of the site's, while one was run that became ready
    /// long after it.
    PassedOver {
        /// When it could have been run.
        ready: Nanos,
        /// That one's run.
        overtaker: Overtaker,
    },
    /// Woken, and this may still be ordinary queueing.
    Queued {
        /// When it could have been run.
        ready: Nanos,
    },
    /// What it waits for was closed, and nobody resumed it.
    Closed {
        /// When it was closed.
        at: Nanos,
        /// Why this is not certain; nothing if it is.
        caveat: Option<Caveat>,
    },
    /// It waits for one that waits, and so on, for this one.
    Deadlock {
        /// Why this is not certain; nothing if it is.
        caveat: Option<Caveat>,
    },
    /// Who took the lock that it waits for has ended without giving it back.
    NeverGivenBack {
        /// Who took it.
        holder: CoroutineId,
        /// Why this is not certain; nothing if it is.
        caveat: Option<Caveat>,
    },
    /// The lock that it waits for was given back, and nobody has taken it since.
    Unclaimed {
        /// Why it may not be stuck.
        caveat: Option<Caveat>,
    },
    /// It goes on only after one that is stuck.
    Behind {
        /// The one on which all others in between wait.
        root: CoroutineId,
        /// Why this is not certain; nothing if it is.
        caveat: Option<Caveat>,
    },
    /// The recorder saw it to be so, twice, and nobody resumed it.
    Looked {
        /// What was seen.
        seen: Seen,
        /// When it was seen first.
        first: Nanos,
        /// Why this is not certain; nothing if it is.
        caveat: Option<Caveat>,
    },
    /// It was not woken, and nobody is left who could.
    NoWaker,
    /// Its timer was due at this time.
    Overdue(Nanos),
    /// Its timer is, or was but just, due at this time.
    Timer(Nanos),
    /// It waits far beyond what the site usually waits.
    FarBeyond,
    /// Nothing is usual at the site, but it waits far beyond what others like it lived, and those that
    /// came last wait here too.
    BeyondLives(LivesEvidence),
    /// It waits far beyond what the site usually waits, for a lock that goes from one to the next:
    /// those who wait for it are many.
    InTurn(TurnEvidence),
    /// It waits far beyond what the site usually waits, for something to read: there was nothing,
    /// when this was looked at.
    NothingToRead(EmptyEvidence),
    /// Its program says that this wait is meant to be long.
    Idle,
    /// Whoever reads the verdicts asked not to be told of it. This would have been the verdict.
    Ignored(Verdict),
    /// The site has waited as long before, or nearly.
    Usual,
    /// Too few waits of this site have ended to say what is usual.
    NoPast,
    /// It waits to the end, and its runtime tells neither wakes nor waits.
    Silent,
}

impl Reason {
    /// Why it is not certain, where something may speak against it.
    pub fn caveat(self) -> Option<Caveat> {
        match self {
            Reason::Closed { caveat, .. }
            | Reason::Deadlock { caveat }
            | Reason::NeverGivenBack { caveat, .. }
            | Reason::Unclaimed { caveat }
            | Reason::Behind { caveat, .. }
            | Reason::Looked { caveat, .. } => caveat,
            _ => None,
        }
    }

    /// The word for the reason, for programs.
    pub fn word(&self) -> &'static str {
        self.describe().word
    }

    /// The record on which the reason rests, apart from those of the coroutine itself.
    pub fn witness(&self) -> Option<Witness> {
        let (at, by, what, time) = match *self {
            Reason::Overlooked(overtaker) | Reason::PassedOver { overtaker, .. } => {
                let what = "run of one that was ready only at {time}";
                (overtaker.ran, "others", what, overtaker.ready)
            }
            Reason::InTurn(turn) => {
                let what = "acquire by one that waited for it since {time}";
                (turn.taken, "others", what, turn.waited_since)
            }
            Reason::Overdue(due) => (due, "timer", "was due", due),
            _ => return None,
        };
        Some(Witness { at, by, what, time })
    }
}

/// A record of something else than the coroutine.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// When that happened.
    pub at: Nanos,
    /// What did it.
    pub by: &'static str,
    /// What happened; `{time}` stands for [`time`](Self::time).
    pub what: &'static str,
    /// The time that `what` mentions.
    pub time: Nanos,
}
