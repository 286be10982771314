//! What the rule is told of one coroutine, and what a test asks of it.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{
    CloseStanding, Fact, Judgement, Past, Served, Standing, State, Verdict, WakeStanding, judge,
};

pub const MS: u64 = 1_000_000;
pub const THRESHOLD: Nanos = Nanos(1000 * MS);

pub fn ms(ms: u64) -> Nanos {
    Nanos(ms * MS)
}

/// The same, with one difference.
pub fn changed(mut standing: Standing, change: impl FnOnce(&mut Standing)) -> Standing {
    change(&mut standing);
    standing
}

/// Suspended since +1 s in a recording of 10 s, at a site that usually waits 2 ms.
pub fn suspended() -> Standing {
    changed(Standing::default(), |it| {
        it.state = State::Suspended;
        it.since = ms(1000);
        it.end = ms(10_000);
        it.past = Past {
            waits: 8,
            p99: ms(2),
            longest: ms(3),
            queued: 8,
            longest_queued: ms(1),
        };
        it.threads.served = served(9_900);
        it.threads.served_there = served(9_800);
    })
}

/// One that became ready at this time was run a millisecond later.
pub fn served(ready: u64) -> Option<Served> {
    Some(Served {
        ready: ms(ready),
        ran: ms(ready + 1),
    })
}

pub fn not_woken() -> Standing {
    Standing {
        wake: Some(WakeStanding::default()),
        ..suspended()
    }
}

pub fn woken() -> Standing {
    let wake = WakeStanding {
        woken: true,
        at: Some(ms(2000)),
        close_call: false,
        ..WakeStanding::default()
    };
    Standing {
        wake: Some(wake),
        ..suspended()
    }
}

pub fn check(standing: &Standing, fact: Fact, verdict: Verdict, reason: &str) -> Judgement {
    let judgement = judge(standing, THRESHOLD);
    let found = (judgement.fact, judgement.verdict, judgement.reason.word());
    assert_eq!(found, (fact, verdict, reason), "{standing:?}");
    judgement
}

/// Its descriptor was closed at +2 s, 8 s before the end.
pub fn closed() -> Standing {
    let closed = CloseStanding {
        at: ms(2000),
        longest_after: Nanos(0),
        whole: true,
    };
    changed(not_woken(), |it| it.resource.closed = Some(closed))
}

pub fn closed_but(change: fn(&mut CloseStanding)) -> Standing {
    let mut standing = closed();
    standing.resource.closed.iter_mut().for_each(change);
    standing
}
