//! Evidence about a coroutine, and a check of the verdict that follows.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{
    CloseEvidence, Evidence, Fact, Judgement, Level, Overtaker, Past, State, Verdict, WakeEvidence,
    judge,
};

pub const MS: u64 = 1_000_000;
pub const THRESHOLD: Nanos = Nanos(1000 * MS);

pub fn ms(ms: u64) -> Nanos {
    Nanos(ms * MS)
}

/// The evidence with a change applied.
pub fn changed(mut evidence: Evidence, change: impl FnOnce(&mut Evidence)) -> Evidence {
    change(&mut evidence);
    evidence
}

/// Suspended since +1 s in a recording of 10 s, at a site that usually waits 2 ms.
pub fn suspended() -> Evidence {
    changed(Evidence::default(), |evidence| {
        evidence.state = State::Suspended;
        evidence.since = ms(1000);
        evidence.end = ms(10_000);
        evidence.past = Past {
            level: Level::Line,
            mean: ms(1),
            active: ms(9_990),
            is_closest: false,
            waits: 8,
            p99: ms(2),
            longest: ms(3),
            queued: 8,
            longest_queued: ms(1),
            by_peers: false,
        };
        evidence.threads.overtaker = overtaker(9_900);
        evidence.threads.overtaker_on_thread = overtaker(9_800);
    })
}

/// A coroutine that became ready at this time ran a millisecond later.
pub fn overtaker(ready: u64) -> Option<Overtaker> {
    Some(Overtaker {
        ready: ms(ready),
        ran: ms(ready + 1),
    })
}

pub fn not_woken() -> Evidence {
    Evidence {
        wake: Some(WakeEvidence::default()),
        ..suspended()
    }
}

pub fn woken() -> Evidence {
    let wake = WakeEvidence {
        woken: true,
        at: Some(ms(2000)),
        close_call: false,
        ..WakeEvidence::default()
    };
    Evidence {
        wake: Some(wake),
        ..suspended()
    }
}

pub fn check(evidence: &Evidence, fact: Fact, verdict: Verdict, reason: &str) -> Judgement {
    let judgement = judge(evidence, THRESHOLD);
    let found = (judgement.fact, judgement.verdict, judgement.reason.word());
    assert_eq!(found, (fact, verdict, reason), "{evidence:?}");
    judgement
}

/// Not woken, though the awaited descriptor was closed at +2 s, 8 s before the end.
pub fn closed() -> Evidence {
    let closed = CloseEvidence {
        at: ms(2000),
        longest_after: Nanos(0),
        whole: true,
    };
    changed(not_woken(), |evidence| {
        evidence.resource.closed = Some(closed)
    })
}

pub fn closed_but(change: fn(&mut CloseEvidence)) -> Evidence {
    let mut evidence = closed();
    evidence.resource.closed.iter_mut().for_each(change);
    evidence
}
