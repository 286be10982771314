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
        /// Why a coroutine whose resource is closed, held or ready may not be stuck after all.
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
        meaning: "its runtime does not tell of wakes",
        of_resource: "the runtime does not tell of wakes",
        of_blocker: "the runtime does not tell of wakes",
    }
    CloseCall {
        word: "close-call",
        meaning: "a wake came within a millisecond of the start of its last run, and may not be the one that led to that",
    }
    Incomplete {
        word: "incomplete",
        meaning: "records of that time are lost, filtered or unreadable",
        of_resource: "no wake counted since, but records of that time are missing",
        of_blocker: "but the trace may not have all of that time",
    }
    OneOfSeveral {
        word: "one-of-several",
        meaning: "it waits for something else too",
        of_resource: "no wake since, but it may wait for something else too",
        of_blocker: "but it may wait for something else too",
    }
    Recent {
        word: "recent",
        meaning: "it was closed but just, and somebody may be about to resume it; or it is held but for a short time",
        of_resource: "no wake since, but that was only {ago} ago",
        of_blocker: "but for a short time only",
    }
    PolledInside {
        word: "polled-inside",
        meaning: "it could go on if the one inside of which it ran polled it, or dropped it",
        of_blocker: "but one was woken, and goes on if the one inside of which it ran polls it",
    }
    DroppedInside {
        word: "dropped-inside",
        meaning: "it could go on if the one inside of which it ran dropped another one, as a timeout does",
        of_blocker: "but the one inside of which it ran may drop it",
    }
    MayDrop {
        word: "may-drop",
        meaning: "it could go on if it dropped what runs inside of it",
        of_blocker: "but it may drop what runs inside of it",
    }
    RanAgain {
        word: "ran-again",
        meaning: "one has run but just, and waits again for the same",
        of_blocker: "but one has run but just, and waits again for the same",
    }
    SeveralWakers {
        word: "several-wakers",
        meaning: "it has several wakers: it may wait for something else too, which is not told",
        of_resource: "no wake since, but it may wait for something else too",
        of_blocker: "but of one there are several wakers: it may wait for something else too",
    }
    Shared {
        word: "shared",
        meaning: "several hold what it waits for, and may not all be needed",
        of_blocker: "but several hold a lock at once, and one may do",
    }
    TakenUnrecorded {
        word: "taken-untold",
        meaning: "nobody said to have taken the lock, which somebody may have done all the same",
        of_blocker: "but somebody may have it, untold",
    }
    Moved {
        word: "moved",
        meaning: "locks of its program are given back by others than those that took them, or who took its own ended where another one may have it now",
        of_blocker: "but another one may have a lock than who took it",
    }
    OfBlocker {
        word: "of-its-keeper",
        meaning: "the one that keeps it is not stuck for certain",
        of_blocker: "but whether that one is stuck is not certain",
    }
    UsedAgain {
        word: "used-again",
        meaning: "its program may have put something else there on purpose",
        of_resource: "no wake counted since, but the program may have put it there",
    }
    OtherNumber {
        word: "other-number",
        meaning: "the same thing may be open under another number, by which it could be resumed",
        of_resource: "no wake counted since, but it may be open under another number",
    }
    WatchedElsewhere {
        word: "watched-elsewhere",
        meaning: "somebody else may watch it: a thread in a call of its own, or another process",
        of_resource: "no wake since, but a thread, or another process, may watch in another way",
    }
    HeldUp {
        word: "held-up",
        meaning: "who would tell it may be held up, or it waits for more than there is",
        of_resource: "whoever resumes may be held up, or there may be too little to read",
    }
}
