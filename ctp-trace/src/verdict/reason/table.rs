//! The table of reasons: one entry has everything that the pages, JSON and the documentation say about
//! a reason.

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
        when: "in a cycle of coroutines, each of which waits for the next",
        may_be_doubted: true,
        ..of("deadlock", Verdict::Deadlock, Basis::Blocker)
    },
    Reason::NeverReleased { .. } => Description {
        when: "waits for a lock whose holder ended without releasing it",
        may_be_doubted: true,
        sentence: "it waits for a lock whose holder ended without releasing it; {caveat of blocker}",
        several: Some("they wait for locks whose holders ended without releasing them; \
            {caveat of blocker}"),
        ..of("never-released", Verdict::Stuck, Basis::Blocker)
    },
    Reason::Behind { .. } => Description {
        when: "can continue only after a coroutine that is STUCK or in a DEADLOCK",
        may_be_doubted: true,
        sentence: "it can continue only after {blockers}; {caveat of blocker}",
        several: Some("they can continue only after {blockers}; {caveat of blocker}"),
        ..of("behind", Verdict::Stuck, Basis::Blocker)
    },
    Reason::Closed { .. } => Description {
        when: "NOT_WOKEN, although the awaited resource was closed during the wait",
        may_be_doubted: true,
        sentence: "lost wakeup: {closed}; {caveat of resource}",
        ..of("closed", Verdict::Stuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::Closed, .. } => Description {
        when: "NOT_WOKEN, although the recorder saw that the awaited descriptor was closed",
        may_be_doubted: true,
        sentence: "seen from outside: {fds} {are} closed, but nothing resumed {them}; \
            {caveat of resource}",
        ..of("seen-closed", Verdict::Stuck, Basis::Resource)
    },
    Reason::Unclaimed { .. } => Description {
        when: "the awaited lock was released, but no coroutine has acquired it since",
        sentence: "the awaited lock was released, and has not been acquired since; {caveat of blocker}",
        several: Some("the awaited locks were released, and have not been acquired since; \
            {caveat of blocker}"),
        ..of("unclaimed", Verdict::MaybeStuck, Basis::Blocker)
    },
    Reason::Looked { seen: Seen::NumberClosed, .. } => Description {
        when: "the recorder saw the number of the awaited descriptor closed; the same file may be open \
            under another number",
        sentence: "seen from outside: {fds} {are} closed, but nothing resumed {them}; \
            {caveat of resource}",
        ..of("seen-number-closed", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::ClosedAtFirst, .. } => Description {
        when: "the recorder saw the awaited descriptor closed at every check, and the wait is far longer \
            than usual at its line",
        sentence: "seen from outside: {fds} {are} closed, but nothing resumed {them}; \
            {caveat of resource}",
        ..of("seen-closed-at-first", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::Unwatched(_), .. } => Description {
        when: "no epoll watches the awaited descriptor, although other coroutines wait for watched \
            descriptors",
        sentence: "seen from outside: no epoll watches {fds}, though the program uses epoll for other \
            waits; {caveat of resource}",
        ..of("seen-unwatched", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::Looked { seen: Seen::Readable(_) | Seen::HungUp, .. } => Description {
        when: "the awaited descriptor was readable, or closed by the other end, while other coroutines \
            made progress",
        sentence: "seen from outside: {fds} could be read, but nothing resumed {them}, while others made \
            progress; {caveat of resource}",
        ..of("seen-ready", Verdict::MaybeStuck, Basis::Resource)
    },
    // This is `Seen::Replaced`. The remaining findings give no reason.
    Reason::Looked { .. } => Description {
        sentence: "seen from outside: {fds} {are} used for something else now; {caveat of resource}",
        ..of("seen-closed", Verdict::Stuck, Basis::Resource)
    },
    Reason::NoWaker => Description {
        when: "NO_WAKER for a second",
        likely_when: Some("NO_WAKER, but a condition for CERTAIN does not hold"),
        sentence: "suspended {age}, and no waker is left: not woken, and cannot be woken",
        if_likely: Some("suspended {age}, and no waker is left: not woken, and cannot be woken; but \
            another coroutine may poll it, or its last waker was of an earlier wait"),
        ..of("no-waker", Verdict::Stuck, Basis::Resource)
    },
    Reason::PassedOver { .. } => Description {
        when: "WOKEN_NOT_RUN, although a coroutine ran that became ready later",
        likely_when: Some("as for CERTAIN, but a condition does not hold"),
        sentence: "woken, then not run to the end ({age} since suspended), while others were that were \
            ready only later; {delays}",
        ..of("passed-over", Verdict::Stuck, Basis::Time)
    },
    Reason::FullChannel(_) => Description {
        when: "waits for room in a channel, and no coroutine that may read from the channel can continue",
        sentence: "suspended {age}: its channel is full, and all coroutines that it may have woken, the \
            readers among them, are stuck too, or wait for something else",
        several: Some("suspended {age}: their channels are full, and all coroutines that they may have \
            woken, the readers among them, are stuck too, or wait for something else"),
        ..of("full-channel", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::KeepsLock => Description {
        when: "waits longer than usual, if that is known, and probably holds a lock for which stuck \
            coroutines wait: all others that have released that lock wait for a lock too",
        sentence: "suspended {age}, and probably holds a lock for which stuck coroutines wait: of those that \
            have released such locks, all others wait for a lock; {wakes}",
        ..of("keeps-lock", Verdict::MaybeStuck, Basis::Resource)
    },
    Reason::NoneRuns { .. } => Description {
        when: "WOKEN_NOT_RUN for a second, and no coroutine of the process runs any more",
        sentence: "woken, then not run to the end ({age} since suspended), and no coroutine of the \
            process runs any more: no thread runs its queue, unless the process was stopped",
        several: Some("woken, then not run to the end ({age} since suspended), and no coroutine of the \
            process runs any more: no thread runs their queue, unless the process was stopped"),
        ..of("none-runs", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::Overlooked(_) => Description {
        when: "NEVER_RUN, although a coroutine ran that became ready later",
        sentence: "born {age} ago and never run, while others were that were ready only later",
        ..of("overlooked", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::Overdue(_) => Description {
        when: "the awaited timer was due at least the threshold ago",
        sentence: "suspended {age} though the timer was due; {wakes}",
        ..of("overdue", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::NoProgress(_) => Description {
        when: "no coroutine of the process runs, and each of its threads waits for another thread",
        sentence: "suspended {age}, while no coroutine of the process runs, and its threads were seen to \
            wait for each other or to sleep, but not for I/O; {wakes}",
        ..of("no-progress", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::FarBeyond(_) => Description {
        when: "has waited far longer than earlier waits at its line, although other waits at that line \
            ended",
        sentence: "suspended {age}{usual}; {wakes}",
        ..of("far-beyond", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::Peers(_) => Description {
        when: "has waited far longer than usual; only coroutines of the same spawn site end such waits, \
            and all of them wait there",
        sentence: "suspended {age}{usual}, where only coroutines spawned at the same place have ended \
            waits, and all of these wait here; {wakes}",
        ..of("peers", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::NoReader(_) => Description {
        when: "waits for room in a channel, far longer than ever before, and has woken no coroutine that \
            could read from the channel",
        sentence: "suspended {age}: its channel is full, it never waits nearly as long, and it has woken no \
            other coroutine that could read from there; {wakes}",
        several: Some("suspended {age}: their channels are full, they never wait nearly as long, and they \
            have woken no other coroutine that could read from there; {wakes}"),
        ..of("no-reader", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::OwnFuture(_) => Description {
        when: "waits for a lock, a permit or room, far longer than usual, and was woken for another of its \
            own futures, which may hold that and which it does not poll",
        sentence: "suspended {age}{usual}; it was woken there for another of its own futures, which it \
            does not poll, and which may hold what it waits for; {wakes}",
        several: Some("suspended {age}{usual}; each was woken there for another of its own futures, which \
            it does not poll, and which may hold what it waits for; {wakes}"),
        ..of("own-future", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::EachOther(_) => Description {
        when: "waits for a permit, far longer than usual, and so do all coroutines like those that end such \
            waits",
        sentence: "suspended {age}{usual}; all coroutines like those that ended waits there wait likewise, \
            for each other; {wakes}",
        ..of("each-other", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::Branch { .. } => Description {
        when: "a branch of a `select!` or `join!` that is part of some work has waited far longer than usual, \
            while the coroutine was polled for other branches",
        sentence: "a branch of the wait has waited {age}, far beyond what that branch usually waits; \
            no waker of the branch was called, though the coroutine was polled for others",
        several: Some("a branch of each wait has waited {age}, far beyond what that branch usually \
            waits; no waker of the branches was called, though the coroutines were polled for others"),
        ..of("branch-far-beyond", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::BeyondLives(_) => Description {
        when: "has waited far longer than similar coroutines lived",
        sentence: "suspended {age} where few waits have ended before; {lives}; {wakes}",
        ..of("beyond-lives", Verdict::MaybeStuck, Basis::Length)
    },
    Reason::Silent => Description {
        when: "waits to the end, in a program that records neither wakes nor awaited resources",
        sentence: "suspended {age}, to the end; a plain v1 program records neither wakes nor awaited \
            resources",
        ..of("silent", Verdict::MaybeStuck, Basis::Time)
    },
    Reason::ThreadEnded => Description {
        when: "RUNNING, and the thread has announced its end since",
        sentence: "running when its thread ended, as {threads} announced, and not run for {age} since",
        ..of("thread-ended", Verdict::MaybeStuck, Basis::State)
    },
    Reason::Runs => Description {
        when: "RUNNING, and the thread has run no other coroutine since",
        sentence: "running for {age} without a suspend, and no other coroutine has run on {threads} \
            since",
        ..of("runs", Verdict::Busy, Basis::State)
    },
    Reason::Lost(_) => Description {
        when: "events are lost that may have changed the state",
        at_the_end: Some("what came since is lost"),
        ..of("lost", Verdict::Unknown, Basis::Missing)
    },
    Reason::Filtered(_) => Description {
        when: "a filter kept out events that may have changed the state",
        at_the_end: Some("a filter kept out what came since"),
        ..of("filtered", Verdict::Unknown, Basis::Missing)
    },
    Reason::Young => Description {
        when: "the state has lasted less than the threshold",
        ..of("young", Verdict::Waiting, Basis::State)
    },
    Reason::Usual(_) => Description {
        when: "earlier waits have taken about as long",
        ..of("usual", Verdict::Waiting, Basis::Usual)
    },
    Reason::Quiet(_) => Description {
        when: "has waited far longer than usual at its line, but nothing else happened at that line \
            either",
        ..of("quiet", Verdict::Waiting, Basis::Usual)
    },
    Reason::NoWork(_) => Description {
        when: "has waited far longer than others at its line, but for a point in time of its own, or for \
            messages of a sender that may have none",
        ..of("no-work", Verdict::Waiting, Basis::Usual)
    },
    Reason::OnlyCoarse(_) => Description {
        when: "has waited far longer than usual, but only compared with waits at other lines",
        ..of("only-coarse", Verdict::Waiting, Basis::Usual)
    },
    Reason::NoPast => Description {
        when: "too few earlier waits have ended to say what is usual",
        ..of("no-past", Verdict::Waiting, Basis::Nothing)
    },
    Reason::InTurn(_) => Description {
        when: "queues for a lock that keeps changing hands",
        ..of("in-turn", Verdict::Waiting, Basis::Usual)
    },
    Reason::NothingToRead(_) => Description {
        when: "the recorder saw that there was nothing to read",
        ..of("nothing-to-read", Verdict::Waiting, Basis::Usual)
    },
    Reason::Timer(_) => Description {
        when: "the timer is not due yet, or became due only recently",
        may_miss_closing: false,
        ..of("timer", Verdict::Waiting, Basis::State)
    },
    Reason::Idle => Description {
        when: "the program marked the wait as meant to be long",
        ..of("idle", Verdict::Waiting, Basis::State)
    },
    Reason::Unregistered => Description {
        when: "the latest poll registered no waker, as that of `std::future::pending()`",
        may_miss_closing: false,
        ..of("unregistered", Verdict::Waiting, Basis::State)
    },
    Reason::Queued { .. } => Description {
        when: "WOKEN_NOT_RUN, which may be ordinary queueing",
        may_miss_closing: false,
        ..of("queued", Verdict::Waiting, Basis::Nothing)
    },
    Reason::NotOvertaken => Description {
        when: "NEVER_RUN, and no coroutine ran that became ready long after its birth",
        ..of("not-overtaken", Verdict::Waiting, Basis::Nothing)
    },
    Reason::Hosts => Description {
        when: "RUNNING, and other coroutines run inside it",
        ..of("hosts", Verdict::Waiting, Basis::State)
    },
    Reason::Ignored(_) => Description {
        when: "the verdict would be worse, but `--ignore` hides it",
        may_miss_closing: false,
        ..of("ignored", Verdict::Waiting, Basis::State)
    },
    Reason::Over => Description {
        when: "ended, or dropped during a wait; never listed",
        ..of("over", Verdict::Over, Basis::State)
    },
}
