//! The words of the rule: facts, verdicts, how sure, and why.

use super::standing::{EmptyStanding, LivesStanding, Served, TurnStanding};
use crate::record::{CoroutineId, Nanos, Seen};

/// What is so, drawn from records alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fact {
    /// It waits, and nobody called its waker since.
    NotWoken,
    /// It waits, nobody called its waker since, and there is no waker left.
    NoWaker,
    /// It waits though it was woken.
    WokenNotRun,
    /// It was born and never ran.
    NeverRun,
    /// It runs.
    Running,
    /// It waits; its runtime does not tell of wakes.
    Suspended,
    /// It was dropped while it waited.
    Cancelled,
    /// It ended.
    Dead,
}

impl Fact {
    /// The word for it, as printed.
    pub fn word(self) -> &'static str {
        match self {
            Fact::NotWoken => "NOT_WOKEN",
            Fact::NoWaker => "NO_WAKER",
            Fact::WokenNotRun => "WOKEN_NOT_RUN",
            Fact::NeverRun => "NEVER_RUN",
            Fact::Running => "RUNNING",
            Fact::Suspended => "SUSPENDED",
            Fact::Cancelled => "CANCELLED",
            Fact::Dead => "DEAD",
        }
    }
}

/// What follows from the facts, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It waits for one that waits, and so on, for this one: none of them goes on by itself.
    Deadlock,
    /// Nobody has resumed it, and by what was told nothing is left that would.
    Stuck,
    /// Nobody has resumed it, and most likely nothing is left that would.
    MaybeStuck,
    /// It has kept its thread for long.
    Busy,
    /// What would tell is lost.
    Unknown,
    /// Nothing speaks against its going on.
    Waiting,
    /// It is over. Never listed.
    Over,
}

impl Verdict {
    /// The word in the first column.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Deadlock => "DEADLOCK",
            Verdict::Stuck => "STUCK",
            Verdict::MaybeStuck => "STUCK?",
            Verdict::Busy => "BUSY",
            Verdict::Unknown => "UNKNOWN",
            Verdict::Waiting => "WAITING",
            Verdict::Over => "OVER",
        }
    }

    /// Whether it says stuck, certainly or likely.
    pub fn is_stuck(self) -> bool {
        matches!(
            self,
            Verdict::Deadlock | Verdict::Stuck | Verdict::MaybeStuck
        )
    }

    /// How sure it is.
    pub fn confidence(self) -> Confidence {
        match self {
            Verdict::Deadlock | Verdict::Stuck | Verdict::Busy | Verdict::Over => {
                Confidence::Certain
            }
            Verdict::MaybeStuck => Confidence::Likely,
            Verdict::Unknown | Verdict::Waiting => Confidence::Open,
        }
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// The records leave no other reading, if each means what the call says that wrote it.
    Certain,
    /// Nothing usual explains the records.
    Likely,
    /// The records do not decide.
    Open,
}

impl Confidence {
    /// The word for it, as printed.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Certain => "CERTAIN",
            Confidence::Likely => "LIKELY",
            Confidence::Open => "OPEN",
        }
    }
}

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
    Overlooked(Served),
    /// It was never run, but nor was any that became ready long after its birth.
    NotOvertaken,
    /// Woken, not run for far longer than any of the site's, while one was run that became ready
    /// long after it.
    PassedOver {
        /// When it could have been run.
        ready: Nanos,
        /// That one's run.
        served: Served,
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
        doubt: Option<Doubt>,
    },
    /// It waits for one that waits, and so on, for this one.
    Deadlock {
        /// Why this is not certain; nothing if it is.
        doubt: Option<Doubt>,
    },
    /// Who took the lock that it waits for has ended without giving it back.
    NeverGivenBack {
        /// Who took it.
        holder: CoroutineId,
        /// Why this is not certain; nothing if it is.
        doubt: Option<Doubt>,
    },
    /// The lock that it waits for was given back, and nobody has taken it since.
    Unclaimed {
        /// Why it may not be stuck.
        doubt: Option<Doubt>,
    },
    /// It goes on only after one that is stuck.
    Behind {
        /// The one on which all others in between wait.
        root: CoroutineId,
        /// Why this is not certain; nothing if it is.
        doubt: Option<Doubt>,
    },
    /// The recorder saw it to be so, twice, and nobody resumed it.
    Looked {
        /// What was seen.
        seen: Seen,
        /// When it was seen first.
        first: Nanos,
        /// Why this is not certain; nothing if it is.
        doubt: Option<Doubt>,
    },
    /// It was not woken, and nobody is left who could.
    Abandoned,
    /// Its timer was due at this time.
    Overdue(Nanos),
    /// Its timer is, or was but just, due at this time.
    Timer(Nanos),
    /// It waits far beyond what the site usually waits.
    FarBeyond,
    /// Nothing is usual at the site, but it waits far beyond what others like it lived, and those that
    /// came last wait here too.
    BeyondLives(LivesStanding),
    /// It waits far beyond what the site usually waits, for a lock that goes from one to the next:
    /// those who wait for it are many.
    InTurn(TurnStanding),
    /// It waits far beyond what the site usually waits, for something to read: there was nothing,
    /// when this was looked at.
    NothingToRead(EmptyStanding),
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

/// Why one that waits for what is closed, or is held, or is there, may not be stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Doubt {
    /// Its runtime does not tell of wakes.
    WakesNotTold,
    /// A wake came within a millisecond of the start of its last run, and may not be the one that
    /// led to that: counting alone cannot tell.
    CloseCall,
    /// Records of that time are lost, filtered or unreadable.
    Incomplete,
    /// It waits for something else too.
    OneOfSeveral,
    /// It was closed but just, and somebody may be about to resume it; or it is held but for a short
    /// time.
    Recent,
    /// It could go on if the one inside of which it ran polled it, or dropped it.
    PolledInside,
    /// It could go on if the one inside of which it ran dropped another one, as a timeout does.
    DroppedInside,
    /// It could go on if it dropped what runs inside of it.
    MayDrop,
    /// One has run but just, and waits again for the same.
    RanAgain,
    /// It has several wakers: it may wait for something else too, which is not told.
    SeveralWakers,
    /// Several hold what it waits for, and may not all be needed.
    Shared,
    /// Nobody said to have taken the lock, which somebody may have done all the same.
    TakenUntold,
    /// Locks of its program are given back by others than those that took them, or who took its own
    /// ended where another one may have it now.
    Moved,
    /// The one that keeps it is not stuck for certain.
    OfItsKeeper,
    /// Its program may have put something else there on purpose.
    UsedAgain,
    /// The same thing may be open under another number, by which it could be resumed.
    OtherNumber,
    /// Somebody else may watch it: a thread in a call of its own, or another process.
    WatchedElsewhere,
    /// Who would tell it may be held up, or it waits for more than there is.
    HeldUp,
}

impl Doubt {
    /// A word for it, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Doubt::WakesNotTold => "wakes-not-told",
            Doubt::CloseCall => "close-call",
            Doubt::Incomplete => "incomplete",
            Doubt::OneOfSeveral => "one-of-several",
            Doubt::Recent => "recent",
            Doubt::MayDrop => "may-drop",
            Doubt::RanAgain => "ran-again",
            Doubt::SeveralWakers => "several-wakers",
            Doubt::Shared => "shared",
            Doubt::TakenUntold => "taken-untold",
            Doubt::Moved => "moved",
            Doubt::PolledInside => "polled-inside",
            Doubt::DroppedInside => "dropped-inside",
            Doubt::OfItsKeeper => "of-its-keeper",
            Doubt::UsedAgain => "used-again",
            Doubt::OtherNumber => "other-number",
            Doubt::WatchedElsewhere => "watched-elsewhere",
            Doubt::HeldUp => "held-up",
        }
    }
}

impl Reason {
    /// Why it is not certain, where something may speak against it.
    pub fn doubt(self) -> Option<Doubt> {
        match self {
            Reason::Closed { doubt, .. }
            | Reason::Deadlock { doubt }
            | Reason::NeverGivenBack { doubt, .. }
            | Reason::Unclaimed { doubt }
            | Reason::Behind { doubt, .. }
            | Reason::Looked { doubt, .. } => doubt,
            _ => None,
        }
    }

    /// A word for it, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Over => "over",
            Reason::Lost(_) => "lost",
            Reason::Filtered(_) => "filtered",
            Reason::Young => "young",
            Reason::Runs => "runs",
            Reason::Overlooked(_) => "overlooked",
            Reason::Hosts => "hosts",
            Reason::ThreadEnded => "thread-ended",
            Reason::NotOvertaken => "not-overtaken",
            Reason::PassedOver { .. } => "passed-over",
            Reason::Queued { .. } => "queued",
            Reason::Closed { .. } => "closed",
            Reason::Deadlock { .. } => "deadlock",
            Reason::Unclaimed { .. } => "unclaimed",
            Reason::NeverGivenBack { .. } => "never-given-back",
            Reason::Behind { .. } => "behind",
            Reason::Looked {
                seen: Seen::Readable(_) | Seen::HungUp,
                ..
            } => "seen-ready",
            Reason::Looked {
                seen: Seen::NumberClosed,
                ..
            } => "seen-number-closed",
            Reason::Looked {
                seen: Seen::Unwatched(_),
                ..
            } => "seen-unwatched",
            Reason::Looked { .. } => "seen-closed",
            Reason::Abandoned => "abandoned",
            Reason::Overdue(_) => "overdue",
            Reason::Timer(_) => "timer",
            Reason::FarBeyond => "far-beyond",
            Reason::BeyondLives(_) => "beyond-lives",
            Reason::InTurn(_) => "in-turn",
            Reason::NothingToRead(_) => "nothing-to-read",
            Reason::Idle => "idle",
            Reason::Ignored(_) => "ignored",
            Reason::Usual => "usual",
            Reason::NoPast => "no-past",
            Reason::Silent => "silent",
        }
    }
}
