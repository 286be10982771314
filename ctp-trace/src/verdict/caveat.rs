//! Reasons to doubt a verdict: a table with one entry for each caveat.

/// Defines [`Caveat`] and its descriptions. An entry has the word for programs, the meaning for the
/// documentation, and two clauses for pages: for a resource that was closed, and for coroutines that
/// others block.
macro_rules! caveats {
    ($($caveat:ident {
        word: $word:literal,
        meaning: $meaning:literal,
        $(of_resource: $of_resource:literal,)?
        $(of_blocker: $of_blocker:literal,)?
    })*) => {
        /// Why a coroutine with a closed, held or ready resource may not be stuck after all.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Caveat {
            $(#[doc = $meaning] $caveat,)*
        }

        impl Caveat {
            /// All caveats, in the order of the documentation.
            pub const ALL: &[Caveat] = &[$(Caveat::$caveat),*];

            /// The word for the caveat, for programs.
            pub fn word(self) -> &'static str {
                match self { $(Caveat::$caveat => $word,)* }
            }

            /// The meaning of the caveat, as documented.
            pub fn meaning(self) -> &'static str {
                match self { $(Caveat::$caveat => $meaning,)* }
            }

            /// The clause for a closed resource; `{ago}` stands for the time since then.
            pub fn of_resource(self) -> &'static str {
                match self { $(Caveat::$caveat => first![$($of_resource,)? NOT_COUNTED],)* }
            }

            /// The clause for a coroutine that others block.
            pub fn of_blocker(self) -> &'static str {
                match self { $(Caveat::$caveat => first![$($of_blocker,)? NOT_COUNTED],)* }
            }
        }
    };
}

macro_rules! first {
    ($first:expr $(, $others:expr)*) => {
        $first
    };
}

/// The clause of a verdict without a caveat.
pub const NO_CAVEAT: &str = "no wake since (exact)";

const NOT_COUNTED: &str = "no wake counted since";

caveats! {
    WakesNotRecorded {
        word: "wakes-not-told",
        meaning: "the runtime does not record wakes",
        of_resource: "the runtime does not record wakes",
        of_blocker: "the runtime does not record wakes",
    }
    CloseCall {
        word: "close-call",
        meaning: "a wake came within a millisecond of the start of the last run, and may not be the wake that led to this run",
    }
    Incomplete {
        word: "incomplete",
        meaning: "records of that time are lost, filtered or unreadable",
        of_resource: "no wake counted since, but records of that time are missing",
        of_blocker: "but records of that time may be missing",
    }
    OneOfSeveral {
        word: "one-of-several",
        meaning: "the coroutine also waits for something else",
        of_resource: "no wake since, but it may wait for something else too",
        of_blocker: "but the coroutine may wait for something else too",
    }
    Recent {
        word: "recent",
        meaning: "the close is recent, and the coroutine may be about to be resumed; or the coroutine has been blocked only for a short time",
        of_resource: "no wake since, but that was only {ago} ago",
        of_blocker: "but only for a short time",
    }
    PolledInside {
        word: "polled-inside",
        meaning: "the coroutine could continue if the coroutine around it polled or dropped it",
        of_blocker: "but a coroutine was woken, and continues if the coroutine inside which it ran polls it",
    }
    DroppedInside {
        word: "dropped-inside",
        meaning: "the coroutine could continue if the coroutine inside which it ran dropped another future, as a timeout does",
        of_blocker: "but the coroutine inside which it ran may drop it",
    }
    MayDrop {
        word: "may-drop",
        meaning: "the coroutine could continue if it dropped the future that runs inside it",
        of_blocker: "but the coroutine may drop the future that runs inside it",
    }
    RanAgain {
        word: "ran-again",
        meaning: "a coroutine ran recently, and waits for the same again",
        of_blocker: "but a coroutine ran recently, and waits for the same again",
    }
    SeveralWakers {
        word: "several-wakers",
        meaning: "the coroutine has several wakers, so it may also wait for something that is not recorded",
        of_resource: "no wake since, but it may wait for something else too",
        of_blocker: "but a coroutine has several wakers, and may wait for something else too",
    }
    Shared {
        word: "shared",
        meaning: "the resource has several holders, and a release by some of them may suffice",
        of_blocker: "but a lock has several holders, and a single release may suffice",
    }
    TakenUnrecorded {
        word: "taken-untold",
        meaning: "the lock may have been acquired without a record",
        of_blocker: "but the lock may have been acquired without a record",
    }
    Moved {
        word: "moved",
        meaning: "the program releases locks elsewhere than in the coroutine that acquired them, or the acquirer ended where another coroutine may hold the lock now",
        of_blocker: "but a lock may have another holder than its acquirer",
    }
    OfBlocker {
        word: "of-its-keeper",
        meaning: "the blocking coroutine is not certainly stuck",
        of_blocker: "but that coroutine is not certainly stuck",
    }
    UsedAgain {
        word: "used-again",
        meaning: "the program may have replaced the file on purpose",
        of_resource: "no wake counted since, but the program may have replaced the file on purpose",
    }
    OtherNumber {
        word: "other-number",
        meaning: "the same file may be open under another number, which could still resume the coroutine",
        of_resource: "no wake counted since, but the same file may be open under another number",
    }
    NeverSeenOpen {
        word: "never-seen-open",
        meaning: "no look during the wait saw the descriptor open, so the number may be no descriptor at all",
        of_resource: "when and where they were closed is not recorded (`ctp::closed(fd)` in the runtime would tell)",
    }
    WatchedElsewhere {
        word: "watched-elsewhere",
        meaning: "a thread in a system call, or another process, may watch the descriptor",
        of_resource: "no wake since, but a thread in a system call, or another process, may watch",
    }
    HeldUp {
        word: "held-up",
        meaning: "whatever resumes the coroutine may be delayed, or more is awaited than there is to read",
        of_resource: "the resume may be delayed, or there may be too little to read",
    }
}
