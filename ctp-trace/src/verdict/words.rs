//! The words of the rule: facts, verdicts, and how sure they are.

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
