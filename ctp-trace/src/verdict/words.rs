//! The vocabulary of the rule: facts, verdicts and confidence.

/// The state of a coroutine at the end, derived from records alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fact {
    /// Suspended, and its waker was not called since.
    NotWoken,
    /// Suspended, its waker was not called since, and no waker is left.
    NoWaker,
    /// Suspended although it was woken.
    WokenNotRun,
    /// Born, never run.
    NeverRun,
    /// Running.
    Running,
    /// Suspended; its runtime does not record wakes.
    Suspended,
    /// Dropped while suspended.
    Cancelled,
    /// Ended.
    Dead,
}

impl Fact {
    /// The word for the fact, as printed.
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

/// The conclusion from the facts, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// In a cycle of coroutines that wait for each other: none can continue by itself.
    Deadlock,
    /// Not resumed, and according to the records nothing is left that would resume it.
    Stuck,
    /// Not resumed, and most likely nothing is left that would resume it.
    MaybeStuck,
    /// Has occupied its thread for long.
    Busy,
    /// The deciding records are lost.
    Unknown,
    /// Nothing suggests that the coroutine is stuck.
    Waiting,
    /// Ended. Never listed.
    Over,
}

impl Verdict {
    /// The word for the verdict, as printed in the first column.
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

    /// Whether the verdict is stuck, certainly or likely.
    pub fn is_stuck(self) -> bool {
        matches!(
            self,
            Verdict::Deadlock | Verdict::Stuck | Verdict::MaybeStuck
        )
    }

    /// How certain the verdict is.
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

/// The certainty of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// The records allow no other interpretation, provided that the program called the probe as documented.
    Certain,
    /// The records have no usual explanation, such as a long but normal wait.
    Likely,
    /// The records do not decide.
    Open,
}

impl Confidence {
    /// The word for the confidence, as printed.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Certain => "CERTAIN",
            Confidence::Likely => "LIKELY",
            Confidence::Open => "OPEN",
        }
    }
}
