//! The table of caveats. With a caveat, a verdict is only likely. Without it, the verdict would be certain.

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

            /// The identifier of the caveat in machine-readable output.
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
        word: "wakes-not-recorded",
        meaning: "the runtime does not record wakes",
        of_resource: "the runtime does not record wakes",
        of_blocker: "the runtime does not record wakes",
    }
    CloseCall {
        word: "close-call",
        meaning: "a wake came within a millisecond of the start of the last run, so it may have been for the current wait",
    }
    Incomplete {
        word: "incomplete",
        meaning: "records of that time are lost, filtered or unreadable",
        of_resource: "no wake counted since, but records of that time are missing",
        of_blocker: "but records of that time may be missing",
    }
    OneOfSeveral {
        word: "one-of-several",
        meaning: "the coroutine also waits for something else, such as another branch of a `select!`",
        of_resource: "no wake since, but it may wait for something else too",
        of_blocker: "but the coroutine may wait for something else too",
    }
    Recent {
        word: "recent",
        meaning: "the resource was closed less than a second ago, or the coroutine has been blocked for less than a second",
        of_resource: "no wake since, but that was only {ago} ago",
        of_blocker: "but only for a short time",
    }
    PolledInside {
        word: "polled-inside",
        meaning: "the coroutine was woken, and continues once the coroutine inside which it runs polls it",
        of_blocker: "but a coroutine was woken, and continues if the coroutine inside which it ran polls it",
    }
    DroppedInside {
        word: "dropped-inside",
        meaning: "the coroutine first ran inside another coroutine, which may drop it, as a timeout does",
        of_blocker: "but the coroutine inside which it ran may drop it",
    }
    MayDrop {
        word: "may-drop",
        meaning: "the coroutine waits for a future that it polls itself, and may drop that future, as a timeout does",
        of_blocker: "but the coroutine may drop the future that runs inside it",
    }
    RanAgain {
        word: "ran-again",
        meaning: "the coroutine, or another of its cycle, ran within the last second and waits for the same again",
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
        meaning: "the lock has several holders, and a release by some of them may suffice",
        of_blocker: "but a lock has several holders, and a single release may suffice",
    }
    AcquiredUnrecorded {
        word: "acquired-unrecorded",
        meaning: "the lock may have been acquired without a record",
        of_blocker: "but the lock may have been acquired without a record",
    }
    Moved {
        word: "moved",
        meaning: "the program releases locks in other coroutines than those that acquired them, or another coroutine may have taken over the guard",
        of_blocker: "but a lock may have another holder than its acquirer",
    }
    BlockerUncertain {
        word: "blocker-uncertain",
        meaning: "the verdict about the blocking coroutine is itself only likely",
        of_blocker: "but that coroutine is not certainly stuck",
    }
    UsedAgain {
        word: "used-again",
        meaning: "the number belongs to another file now, which the program may have put there on purpose",
        of_resource: "no wake counted since, but the program may have replaced the file on purpose",
    }
    OtherNumber {
        word: "other-number",
        meaning: "the same file may be open under another number, which could still resume the coroutine",
        of_resource: "no wake counted since, but the same file may be open under another number",
    }
    NeverSeenOpen {
        word: "never-seen-open",
        meaning: "no check during the wait saw the descriptor open, so the number may be no descriptor at all",
        of_resource: "when and where they were closed is not recorded (`ctp::closed(fd)` in the runtime would tell)",
    }
    WatchedElsewhere {
        word: "watched-elsewhere",
        meaning: "a thread in a system call, or another process, may watch the descriptor",
        of_resource: "no wake since, but a thread in a system call, or another process, may watch",
    }
    MayBeDelayed {
        word: "may-be-delayed",
        meaning: "the code that resumes the coroutine may be delayed, or the coroutine needs more bytes than there are",
        of_resource: "the resume may be delayed, or there may be too little to read",
    }
}
