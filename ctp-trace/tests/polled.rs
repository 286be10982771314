//! Futures that are polled without having been woken. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;

const THRESHOLD: Nanos = Nanos(1_000_000_000);
const REPLY: SiteId = SiteId(7);
const ELSEWHERE: SiteId = SiteId(8);

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

/// Four coroutines of the same kind, each fed event by event.
struct Futures {
    trace_model: TraceModel,
    next: [u64; 4],
}

impl Futures {
    /// Four coroutines with recorded wakes.
    fn of(kind: CoroutineKind) -> Self {
        let mut futures = Futures {
            trace_model: TraceModel::new(),
            next: [0; 4],
        };
        for id in 0..4 {
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
        self.marked_event(id, at, kind, (site, wakes, false));
    }

    fn marked_event(
        &mut self,
        id: u32,
        at: u64,
        kind: EventKind,
        (site, wakes, has_others): (SiteId, u16, bool),
    ) {
        let n = &mut self.next[id as usize];
        *n += 1;
        let event = Event {
            coroutine: CoroutineId(id),
            n: *n - 1,
            at: ms(at),
            kind,
            site,
            wake_seen: wakes,
            marks: WaitMarks {
                has_others,
                ..WaitMarks::default()
            },
            ..Event::default()
        };
        self.consume(Record::Event(event));
    }

    /// Polls the coroutine, of which another branch then waits at a site.
    fn branch_waits(&mut self, id: u32, at: u64, (site, wakes): (SiteId, u16)) {
        self.event(id, at, EventKind::Run, (SiteId(0), 0));
        let wait = (site, wakes, true);
        self.marked_event(id, at, EventKind::Suspend, wait);
    }

    /// Polls the coroutine, which then suspends at a site, having seen this number of wakes in all.
    fn poll(&mut self, id: u32, at: u64, wait: (SiteId, u16)) {
        self.event(id, at, EventKind::Run, (SiteId(0), 0));
        self.event(id, at + 1, EventKind::Suspend, wait);
    }

    /// Records ten waits of 5 ms at `REPLY`, each ended by a wake.
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
        let pair = all.iter().find(|(waiting, _)| *waiting == CoroutineId(id));
        let (_, judgement) = pair.expect("a live coroutine");
        let age = judgement.age.0 / 1_000_000;
        (judgement.verdict, judgement.reason.word(), age)
    }

    fn waits_for_a_reply(&self) -> Vec<u64> {
        let site = self.trace_model.site(REPLY, WaitKind::Unknown);
        let waits = &site.expect("a recorded wait").waits;
        vec![waits.count(), waits.max().unwrap_or_default().0 / 1_000_000]
    }
}

// CT-15
#[test]
fn polls_without_a_wake_do_not_end_a_wait() {
    let mut futures = Futures::of(CoroutineKind::Future);
    futures.run_once(1);
    (0..30).for_each(|i| futures.poll(2, 100 + 300 * i, (REPLY, 0)));
    assert_eq!(futures.waits_for_a_reply(), [10, 5]);
    // Another future is still replied to.
    futures.poll(3, 9_000, (REPLY, 0));
    futures.wake(3, 9_004, 1);
    futures.poll(3, 9_005, (REPLY, 1));
    let expected = (Verdict::MaybeStuck, "far-beyond", 8_999);
    assert_eq!(futures.judged(2, 9_100), expected);
    let coroutine = futures.trace_model.get(CoroutineId(2)).expect("is live");
    assert_eq!(
        (coroutine.waits.since, coroutine.waits.idle_polls),
        (ms(101), 29)
    );
}

// CT-15
#[test]
fn a_wait_ends_at_a_wake_or_at_another_site() {
    let mut futures = Futures::of(CoroutineKind::Future);
    for at in [100, 400, 700] {
        futures.poll(1, at, (REPLY, 0));
    }
    futures.poll(1, 1_000, (ELSEWHERE, 0));
    assert_eq!(futures.waits_for_a_reply(), [1, 899], "a single wait");
    for (at, wakes) in [(100, 0), (400, 0), (700, 1)] {
        futures.poll(2, at, (REPLY, wakes));
    }
    assert_eq!(futures.waits_for_a_reply(), [2, 899]);
    assert_eq!(futures.judged(2, 2_000).2, 1_299, "since the wake");
}

/// The wait of a branch is not over when another branch begins to wait.
// CT-15
#[test]
fn waits_of_other_branches_do_not_end_a_wait() {
    let mut futures = Futures::of(CoroutineKind::Future);
    futures.poll(1, 100, (REPLY, 0));
    futures.branch_waits(1, 400, (ELSEWHERE, 0));
    assert_eq!(futures.waits_for_a_reply(), [0, 0]);
    futures.branch_waits(1, 500, (REPLY, 0));
    futures.wake(1, 700, 1);
    futures.branch_waits(1, 701, (ELSEWHERE, 1));
    assert_eq!(futures.waits_for_a_reply(), [1, 201]);
}

// CT-15
#[test]
fn a_death_in_an_unrequested_poll_ends_the_wait() {
    let mut futures = Futures::of(CoroutineKind::Future);
    futures.poll(1, 100, (REPLY, 0));
    futures.event(1, 400, EventKind::Run, (SiteId(0), 0));
    assert_eq!(futures.waits_for_a_reply(), [0, 0]);
    futures.event(1, 401, EventKind::Death, (SiteId(0), 0));
    assert_eq!(futures.waits_for_a_reply(), [1, 299]);
}

// CT-15
#[test]
fn stackful_coroutines_resume_without_wakes() {
    let mut stackful = Futures::of(CoroutineKind::Stackful);
    (0..30).for_each(|i| stackful.poll(2, 100 + 300 * i, (REPLY, 0)));
    assert_eq!(stackful.waits_for_a_reply(), [29, 299]);
}
