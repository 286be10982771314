//! The table of reasons: what is said of each, once.

use super::Reason;
use super::description::{Basis, Description};
use crate::record::Seen;
use crate::verdict::Verdict;

/// Each entry is a reason and its [`Description`]. The first pattern that fits counts.
macro_rules! reasons {
    ($($reason:pat => $description:expr,)*) => {
        /// The descriptions of all reasons, in the order of the documentation.
        pub static REASONS: &[Description] = &[$($description),*];

        impl Reason {
            /// What is the same wherever this reason occurs.
            pub fn describe(&self) -> &'static Description {
                match self {
                    $($reason => const { &$description },)*
                }
            }
        }
    };
}

reasons! {
    Reason::Deadlock { .. } => Description::new("deadlock", Basis::Keeper)
        .when(&[(Verdict::Deadlock, "it waits for one that waits, and so on, for this one")])
        .or_doubted()
        .heading("Who waits for whom"),
    Reason::NeverGivenBack { .. } => Description::new("never-given-back", Basis::Keeper)
        .when(&[(
            Verdict::Stuck,
            "who took the lock that it waits for has ended without giving it back",
        )])
        .or_doubted()
        .heading("Who waits for whom")
        .sentences(
            "it waits for a lock whose holder ended without giving it back; {doubt of keeper}",
            "they wait for locks whose holders ended without giving them back; {doubt of keeper}",
        ),
    Reason::Behind { .. } => Description::new("behind", Basis::Keeper)
        .when(&[(Verdict::Stuck, "it goes on only after one that is in a DEADLOCK, or STUCK")])
        .or_doubted()
        .sentences(
            "it goes on only after {keepers}; {doubt of keeper}",
            "they go on only after {keepers}; {doubt of keeper}",
        ),
    Reason::Closed { .. } => Description::new("closed", Basis::Resource)
        .when(&[(
            Verdict::Stuck,
            "NOT_WOKEN, and what it waits for was closed since it waits",
        )])
        .or_doubted()
        .heading("Closed, and not woken")
        .sentence("lost wakeup: {closed}; {doubt of resource}"),
    Reason::Looked { seen: Seen::Closed, .. } => Description::new("seen-closed", Basis::Resource)
        .when(&[(
            Verdict::Stuck,
            "NOT_WOKEN, and what it waits for was seen closed from outside",
        )])
        .or_doubted()
        .heading("Seen from outside")
        .sentence(
            "seen from outside: {fds} {are} closed, and nobody resumed {them}; \
             {doubt of resource}",
        ),
    Reason::Unclaimed { .. } => Description::new("unclaimed", Basis::Keeper)
        .when(&[(
            Verdict::MaybeStuck,
            "the lock that it waits for was given back, and nobody has taken it since",
        )])
        .heading("Who waits for whom")
        .sentences(
            "the lock that it waits for was given back, and nobody has taken it since; \
             {doubt of keeper}",
            "the locks that they wait for were given back, and nobody has taken them since; \
             {doubt of keeper}",
        ),
    Reason::Looked { seen: Seen::NumberClosed, .. } => {
        Description::new("seen-number-closed", Basis::Resource)
            .when(&[(
                Verdict::MaybeStuck,
                "the number of its descriptor was seen closed from outside; the thing itself may \
                 be open under another one",
            )])
            .sentence(
                "seen from outside: {fds} {are} closed, and nobody resumed {them}; \
                 {doubt of resource}",
            )
    },
    Reason::Looked { seen: Seen::Unwatched(_), .. } => {
        Description::new("seen-unwatched", Basis::Resource)
            .when(&[(
                Verdict::MaybeStuck,
                "no epoll was seen to watch its descriptor, as one does for others that wait",
            )])
            .sentence(
                "seen from outside: no epoll tells when {fds} {are} ready, as it does for others \
                 that wait; {doubt of resource}",
            )
    },
    Reason::Looked { seen: Seen::Readable(_) | Seen::HungUp, .. } => {
        Description::new("seen-ready", Basis::Resource)
            .when(&[(
                Verdict::MaybeStuck,
                "its descriptor was seen to be readable, or left by the other end, and others \
                 went on meanwhile",
            )])
            .sentence(
                "seen from outside: {fds} could be read, and nobody resumed {them}, while others \
                 went on; {doubt of resource}",
            )
    },
    // It was replaced: what else can be seen is no reason.
    Reason::Looked { .. } => Description::new("seen-closed", Basis::Resource)
        .sentence(
            "seen from outside: {fds} {are} used for something else by now; {doubt of resource}",
        ),
    Reason::Abandoned => Description::new("abandoned", Basis::Resource)
        .when(&[
            (Verdict::Stuck, "NO_WAKER for a second"),
            (Verdict::MaybeStuck, "NO_WAKER, but another one may poll it"),
        ])
        .heading("No waker left")
        .sentence(
            "suspended {age}, and nobody has a waker of it any more: it was not woken, and cannot \
             be",
        )
        .if_likely(
            "suspended {age}, and nobody has a waker of it: it was not woken, and cannot be, \
             unless another one polls it",
        ),
    Reason::PassedOver { .. } => Description::new("passed-over", Basis::Time)
        .when(&[
            (Verdict::Stuck, "WOKEN_NOT_RUN, passed over"),
            (Verdict::MaybeStuck, "WOKEN_NOT_RUN, passed over, but not for certain"),
        ])
        .heading("Woken, and passed over")
        .sentence(
            "woken, then not run to the end ({age} since suspended), while others were that were \
             ready only later; {delays}",
        ),
    Reason::Overlooked(_) => Description::new("overlooked", Basis::Time)
        .when(&[(Verdict::MaybeStuck, "NEVER_RUN, passed over")])
        .sentence("born {age} ago and never run, while others were that were ready only later"),
    Reason::Overdue(_) => Description::new("overdue", Basis::Time)
        .when(&[(Verdict::MaybeStuck, "its timer is overdue")])
        .sentence("suspended {age} though the timer was due; {wakes}"),
    Reason::FarBeyond => Description::new("far-beyond", Basis::Length)
        .when(&[(
            Verdict::MaybeStuck,
            "it waits at least 10 times what 99 % of its site's waits took, and twice the longest; \
             8 or more must have ended; unless `in-turn` or `nothing-to-read` explains it",
        )])
        .sentence("suspended {age}{usual}; {wakes}"),
    Reason::BeyondLives(_) => Description::new("beyond-lives", Basis::Length)
        .when(&[(
            Verdict::MaybeStuck,
            "fewer than 8 waits ended at its site, but 8 or more coroutines like it ended (of its \
             name, spawned where it was), and of those like it that were born after all of these, \
             8 or more wait there; it waits at least 10 times what 99 % of those lived, and twice \
             the longest life; unless `in-turn` or `nothing-to-read` explains it",
        )])
        .sentence(
            "suspended {age} where hardly any wait has ended before; {lives}; {wakes}",
        ),
    Reason::Silent => Description::new("silent", Basis::Time)
        .when(&[(
            Verdict::MaybeStuck,
            "it is of a plain v1 program, which tells neither wakes nor waits, and waits to the \
             end",
        )])
        .sentence(
            "suspended {age}, to the end; a plain v1 program tells neither wakes nor what it \
             waits for",
        ),
    Reason::ThreadEnded => Description::new("thread-ended", Basis::State)
        .when(&[(
            Verdict::MaybeStuck,
            "RUNNING, and its thread has said since that it ends",
        )])
        .sentence(
            "running when its thread ended: {threads} said so, and nobody has run it for {age}",
        ),
    Reason::Runs => Description::new("runs", Basis::State)
        .when(&[(Verdict::Busy, "RUNNING, and its thread has run nobody else since")])
        .sentence(
            "running for {age} without a suspend, and nobody else has run on {threads} since",
        ),
    Reason::Lost(_) => Description::new("lost", Basis::Missing)
        .when(&[(Verdict::Unknown, "events are lost that may have changed its state")])
        .at_the_end("what came since is lost"),
    Reason::Filtered(_) => Description::new("filtered", Basis::Missing)
        .when(&[(
            Verdict::Unknown,
            "events were kept out by a filter that may have changed its state",
        )])
        .at_the_end("a filter kept out what came since"),
    Reason::Young => Description::new("young", Basis::State)
        .when(&[(
            Verdict::Waiting,
            "it has been in its state for less than the threshold",
        )]),
    Reason::Usual => Description::new("usual", Basis::Usual)
        .when(&[(Verdict::Waiting, "its site has waited as long before, or nearly")]),
    Reason::NoPast => Description::new("no-past", Basis::Nothing)
        .when(&[(
            Verdict::Waiting,
            "too few waits of its site have ended to say what is usual",
        )]),
    Reason::InTurn(_) => Description::new("in-turn", Basis::Usual)
        .when(&[(
            Verdict::Waiting,
            "it queues for a lock that goes from one to the next",
        )])
        .heading("Who waits for whom"),
    Reason::NothingToRead(_) => Description::new("nothing-to-read", Basis::Usual)
        .when(&[(
            Verdict::Waiting,
            "its descriptor was seen to have nothing to read",
        )])
        .heading("Seen from outside"),
    Reason::Timer(_) => Description::new("timer", Basis::State)
        .when(&[(Verdict::Waiting, "its timer is not due yet, or was but just")])
        .misses_no_closing(),
    Reason::Idle => Description::new("idle", Basis::State)
        .when(&[(
            Verdict::Waiting,
            "its program says that this wait is meant to be long",
        )]),
    Reason::Queued { .. } => Description::new("queued", Basis::Nothing)
        .when(&[(
            Verdict::Waiting,
            "WOKEN_NOT_RUN, which may still be ordinary queueing",
        )])
        .misses_no_closing(),
    Reason::NotOvertaken => Description::new("not-overtaken", Basis::Nothing)
        .when(&[(
            Verdict::Waiting,
            "NEVER_RUN, nor was any run that became ready long after its birth",
        )]),
    Reason::Hosts => Description::new("hosts", Basis::State)
        .when(&[(Verdict::Waiting, "RUNNING, and others run inside of it")]),
    Reason::Ignored(_) => Description::new("ignored", Basis::State)
        .when(&[(
            Verdict::Waiting,
            "it would be worse, but `--ignore` asks not to be told",
        )])
        .misses_no_closing(),
    Reason::Over => Description::new("over", Basis::State)
        .when(&[(
            Verdict::Over,
            "it has ended, or was dropped while it waited; never listed",
        )]),
}
