//! Futures that others poll for reasons of their own. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{Reason, Verdict};

const THRESHOLD: Nanos = Nanos(1_000_000_000);
const REPLY: SiteId = SiteId(7);
const ELSEWHERE: SiteId = SiteId(8);

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

/// Coroutines of one kind, each fed event by event.
struct Futures {
    trace_model: TraceModel,
    next: [u64; 3],
}

impl Futures {
    /// Three that tell of wakes, if they are futures.
    fn of(kind: CoroutineKind) -> Self {
        let mut futures = Futures {
            trace_model: TraceModel::new(),
            next: [0; 3],
        };
        for id in 0..3 {
            futures.consume(Record::Birth(Birth {
                coroutine: CoroutineId(id),
                kind,
                ..Birth::default()
            }));
            futures.wake(id, 0, 0);
        }
        futures
    }

    fn consume(&mut self, record: Record) {
        self.trace_model.consume(&record);
    }

    fn wake(&mut self, id: u32, at: u64, count: u32) {
        self.consume(Record::Wake(Wake {
            coroutine: CoroutineId(id),
            count,
            at: ms(at),
            ..Wake::default()
        }));
    }

    fn event(&mut self, id: u32, at: u64, kind: EventKind, (site, wakes): (SiteId, u16)) {
        let n = &mut self.next[id as usize];
        *n += 1;
        let event = Event {
            coroutine: CoroutineId(id),
            n: *n - 1,
            at: ms(at),
            kind,
            site,
            wake_seen: wakes,
            ..Event::default()
        };
        self.consume(Record::Event(event));
    }

    /// It is polled, after so many wakes in all, and waits for a reply then, or elsewhere.
    fn poll(&mut self, id: u32, at: u64, wait: (SiteId, u16)) {
        self.event(id, at, EventKind::Run, (SiteId(0), 0));
        self.event(id, at + 1, EventKind::Suspend, wait);
    }

    /// Ten waits of 5 ms at that place, each of which ends by a wake.
    fn run_once(&mut self, id: u32) {
        for i in 0..11 {
            self.poll(id, u64::from(i) * 6, (REPLY, i));
        }
    }

    fn judged(&mut self, id: u32, end: u64) -> (Verdict, &'static str, u64) {
        self.consume(Record::End(End {
            at: ms(end),
            ..End::default()
        }));
        let all = self.trace_model.judge(THRESHOLD);
        let pair = all
            .iter()
            .find(|(other_id, _)| *other_id == CoroutineId(id));
        let (_, judgement) = pair.expect("it lives");
        let age = judgement.age.0 / 1_000_000;
        (judgement.verdict, judgement.reason.word(), age)
    }

    fn waits_for_a_reply(&self) -> Vec<u64> {
        let site = self.trace_model.site(REPLY, WaitKind::Unknown);
        let waits = &site.expect("somebody waited").waits;
        vec![waits.count(), waits.max().unwrap_or_default().0 / 1_000_000]
    }
}

// CT-15
#[test]
fn one_that_is_polled_again_and_again_and_never_woken_is_as_stuck_as_if_it_were_not() {
    let mut futures = Futures::of(CoroutineKind::Future);
    futures.run_once(1);
    (0..30).for_each(|i| futures.poll(2, 100 + 300 * i, (REPLY, 0)));
    assert_eq!(futures.waits_for_a_reply(), [10, 5]);
    let expected = (Verdict::MaybeStuck, Reason::FarBeyond.word(), 8_999);
    assert_eq!(futures.judged(2, 9_100), expected);
    let coroutine = futures.trace_model.get(CoroutineId(2)).expect("it lives");
    assert_eq!(
        (coroutine.waits.since, coroutine.waits.idle_polls),
        (ms(101), 29)
    );
}

// CT-15
#[test]
fn a_wait_is_over_when_it_was_woken_or_went_on_elsewhere() {
    let mut futures = Futures::of(CoroutineKind::Future);
    for at in [100, 400, 700] {
        futures.poll(1, at, (REPLY, 0));
    }
    futures.poll(1, 1_000, (ELSEWHERE, 0));
    assert_eq!(futures.waits_for_a_reply(), [1, 899], "it was one wait");
    for (at, wakes) in [(100, 0), (400, 0), (700, 1)] {
        futures.poll(2, at, (REPLY, wakes));
    }
    assert_eq!(futures.waits_for_a_reply(), [2, 899]);
    assert_eq!(futures.judged(2, 2_000).2, 1_299, "since the wake");
}

// CT-15
#[test]
fn who_ends_in_a_poll_that_nobody_asked_for_has_waited_until_then() {
    let mut futures = Futures::of(CoroutineKind::Future);
    futures.poll(1, 100, (REPLY, 0));
    futures.event(1, 400, EventKind::Run, (SiteId(0), 0));
    assert_eq!(futures.waits_for_a_reply(), [0, 0]);
    futures.event(1, 401, EventKind::Death, (SiteId(0), 0));
    assert_eq!(futures.waits_for_a_reply(), [1, 299]);
}

// CT-15
#[test]
fn what_is_no_future_is_run_by_who_need_not_be_asked() {
    let mut stackful = Futures::of(CoroutineKind::Stackful);
    (0..30).for_each(|i| stackful.poll(2, 100 + 300 * i, (REPLY, 0)));
    assert_eq!(stackful.waits_for_a_reply(), [29, 299]);
}
