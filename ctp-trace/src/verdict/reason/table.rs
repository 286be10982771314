//! The table of reasons, which describes each reason in a single place.

use super::Reason;
use super::description::{Basis, Description, of};
use crate::record::Seen;
use crate::verdict::Verdict;

/// Each entry has a reason and its [`Description`]. The first matching pattern counts.
macro_rules! reasons {
    ($($reason:pat => $description:expr,)*) => {
        /// The descriptions of all reasons, in the order of the documentation.
        pub static REASONS: &[Description] = &[$($description),*];

        impl Reason {
            /// The description that is common to all occurrences of this reason.
            pub fn describe(&self) -> &'static Description {
                match self {
                    $($reason => const { &$description },)*
                }
            }
        }
    };
}

reasons! {
    Reason::Deadlock { .. } => Description {
        when: "it waits for one that waits, and so on, for this one",
        may_be_doubted: true,
        heading: Some("Who waits for whom"),
        ..of("deadlock", Verdict::Deadlock, Basis::Blocker)
    },
    Reason::NeverGivenBack { .. } => Description {
        when: "who took the lock that it waits for has ended without giving it back",
        may_be_doubted: true,
        heading: Some("Who waits for whom"),
        sentence: "it waits for a lock whose holder ended without giving it back; {caveat of blocker}",
        several: Some("they wait for locks whose holders ended without giving them back; {caveat of blocker}"),
        ..of("never-given-back", Verdict::Stuck, Basis::Blocker)
    },
    Reason::Behind { .. } => Description {
        when: "it goes on only after one that is in a DEADLOCK, or STUCK",
        may_be_doubted: true,
        sentence: "it goes on only after {blockers}; {caveat of blocker}",
        several: Some("they go on only after {blockers}; {caveat of blocker}"),
        ..of("behind", Verdict::Stuck, Basis::Blocker)
    },
    Reason::Closed { .. } => Description {
        when: "NOT_WOKEN, and what it waits for was closed since it waits",
        may_be_doubted: true,
        heading: Some("Closed, and not woken"),
        sentence: "lost wakeup: {closed}; {caveat of resource}",
        ..of("closed", Verdict::Stuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::Closed, .. } => Description {
        when: "NOT_WOKEN, and what it waits for was seen closed from outside",
        may_be_doubted: true,
        heading: Some("Seen from outside"),
        sentence: "seen from outside: {fds} {are} closed, and nobody resumed {them}; \
            {caveat of resource}",
        ..of("seen-closed", Verdict::Stuck, Basis::Resource)
    },
    Reason::Unclaimed { .. } => Description {
        when: "the lock that it waits for was given back, and nobody has taken it since",
        heading: Some("Who waits for whom"),
        sentence: "the lock that it waits for was given back, and nobody has taken it since; \
            {caveat of blocker}",
        several: Some("the locks that they wait for were given back, and nobody has taken them since; \
            {caveat of blocker}"),
        ..of("unclaimed", Verdict::MaybeStuck, Basis::Blocker)
    },
    Reason::Looked { seen: Seen::NumberClosed, .. } => Description {
        when: "the number of its descriptor was seen closed from outside; the thing itself may \
            be open under another one",
        sentence: "seen from outside: {fds} {are} closed, and nobody resumed {them}; \
            {caveat of resource}",
        ..of("seen-number-closed", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::Unwatched(_), .. } => Description {
        when: "no epoll was seen to watch its descriptor, as one does for others that wait",
        sentence: "seen from outside: no epoll tells when {fds} {are} ready, as it does for others \
            that wait; {caveat of resource}",
        ..of("seen-unwatched", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::Readable(_) | Seen::HungUp, .. } => Description {
        when: "its descriptor was seen to be readable, or left by the other end, and others \
            went on meanwhile",
        sentence: "seen from outside: {fds} could be read, and nobody resumed {them}, while others \
            went on; {caveat of resource}",
        ..of("seen-ready", Verdict::MaybeStuck, Basis::Resource)
    },
    // It was replaced: what else can be seen is no reason.
    Reason::Looked { .. } => Description {
        sentence: "seen from outside: {fds} {are} used for something else by now; {caveat of resource}",
        ..of("seen-closed", Verdict::Stuck, Basis::Resource)
    },
    Reason::NoWaker => Description {
        when: "NO_WAKER for a second",
        likely_when: Some("NO_WAKER, but another one may poll it"),
        heading: Some("No waker left"),
        sentence: "suspended {age}, and nobody has a waker of it any more: it was not woken, and cannot \
            be",
        if_likely: Some("suspended {age}, and nobody has a waker of it: it was not woken, and cannot be, \
            unless another one polls it"),
        ..of("no-waker", Verdict::Stuck, Basis::Resource)
    },
    Reason::PassedOver { .. } => Description {
        when: "WOKEN_NOT_RUN, passed over",
        likely_when: Some("WOKEN_NOT_RUN, passed over, but not for certain"),
        heading: Some("Woken, and passed over"),
        sentence: "woken, then not run to the end ({age} since suspended), while others were that were \
            ready only later; {delays}",
        ..of("passed-over", Verdict::Stuck, Basis::Time)
    },
    Reason::Overlooked(_) => Description {
        when: "NEVER_RUN, passed over",
        sentence: "born {age} ago and never run, while others were that were ready only later",
        ..of("overlooked", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::Overdue(_) => Description {
        when: "its timer is overdue",
        sentence: "suspended {age} though the timer was due; {wakes}",
        ..of("overdue", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::FarBeyond => Description {
        when: "it waits at least 10 times what 99 % of its site's waits took, and twice the longest; \
            8 or more must have ended; unless `in-turn` or `nothing-to-read` explains it",
        sentence: "suspended {age}{usual}; {wakes}",
        ..of("far-beyond", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::BeyondLives(_) => Description {
        when: "fewer than 8 waits ended at its site, but 8 or more coroutines like it ended (of its \
            name, spawned where it was), and of those like it that were born after all of these, \
            8 or more wait there; it waits at least 10 times what 99 % of those lived, and twice \
            the longest life; unless `in-turn` or `nothing-to-read` explains it",
        sentence: "suspended {age} where hardly any wait has ended before; {lives}; {wakes}",
        ..of("beyond-lives", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::Silent => Description {
        when: "it is of a plain v1 program, which tells neither wakes nor waits, and waits to the \
            end",
        sentence: "suspended {age}, to the end; a plain v1 program tells neither wakes nor what it \
            waits for",
        ..of("silent", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::ThreadEnded => Description {
        when: "RUNNING, and its thread has said since that it ends",
        sentence: "running when its thread ended: {threads} said so, and nobody has run it for {age}",
        ..of("thread-ended", Verdict::MaybeStuck, Basis::State)
    },
    Reason::Runs => Description {
        when: "RUNNING, and its thread has run nobody else since",
        sentence: "running for {age} without a suspend, and nobody else has run on {threads} since",
        ..of("runs", Verdict::Busy, Basis::State)
    },
    Reason::Lost(_) => Description {
        when: "events are lost that may have changed its state",
        at_the_end: Some("what came since is lost"),
        ..of("lost", Verdict::Unknown, Basis::Missing)
    },
    Reason::Filtered(_) => Description {
        when: "events were kept out by a filter that may have changed its state",
        at_the_end: Some("a filter kept out what came since"),
        ..of("filtered", Verdict::Unknown, Basis::Missing)
    },
    Reason::Young => Description {
        when: "it has been in its state for less than the threshold",
        ..of("young", Verdict::Waiting, Basis::State)
    },
    Reason::Usual => Description {
        when: "its site has waited as long before, or nearly",
        ..of("usual", Verdict::Waiting, Basis::Usual)
    },
    Reason::NoPast => Description {
        when: "too few waits of its site have ended to say what is usual",
        ..of("no-past", Verdict::Waiting, Basis::Nothing)
    },
    Reason::InTurn(_) => Description {
        when: "it queues for a lock that goes from one to the next",
        heading: Some("Who waits for whom"),
        ..of("in-turn", Verdict::Waiting, Basis::Usual)
    },
    Reason::NothingToRead(_) => Description {
        when: "its descriptor was seen to have nothing to read",
        heading: Some("Seen from outside"),
        ..of("nothing-to-read", Verdict::Waiting, Basis::Usual)
    },
    Reason::Timer(_) => Description {
        when: "its timer is not due yet, or was but just",
        may_miss_closing: false,
        ..of("timer", Verdict::Waiting, Basis::State)
    },
    Reason::Idle => Description {
        when: "its program says that this wait is meant to be long",
        ..of("idle", Verdict::Waiting, Basis::State)
    },
    Reason::Queued { .. } => Description {
        when: "WOKEN_NOT_RUN, which may still be ordinary queueing",
        may_miss_closing: false,
        ..of("queued", Verdict::Waiting, Basis::Nothing)
    },
    Reason::NotOvertaken => Description {
        when: "NEVER_RUN, nor was any run that became ready long after its birth",
        ..of("not-overtaken", Verdict::Waiting, Basis::Nothing)
    },
    Reason::Hosts => Description {
        when: "RUNNING, and others run inside of it",
        ..of("hosts", Verdict::Waiting, Basis::State)
    },
    Reason::Ignored(_) => Description {
        when: "it would be worse, but `--ignore` asks not to be told",
        may_miss_closing: false,
        ..of("ignored", Verdict::Waiting, Basis::State)
    },
    Reason::Over => Description {
        when: "it has ended, or was dropped while it waited; never listed",
        ..of("over", Verdict::Over, Basis::State)
    },
}
