//! Coroutines that wait for permits which only each other could release. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;

const COROUTINES: usize = 20;
const THRESHOLD: Nanos = Nanos(1_000_000_000);
const PERMIT: SiteId = SiteId(1);
const SECOND_PERMIT: SiteId = SiteId(2);
const MESSAGE: SiteId = SiteId(3);
const JOIN: SiteId = SiteId(4);
const UNKNOWN: SiteId = SiteId(5);
const LOCK: SiteId = SiteId(6);
const REPLY: SiteId = SiteId(7);
/// A thread that runs no coroutine.
const THREAD: u32 = 19;

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

/// A program of which each step takes a millisecond.
struct Program {
    records: Vec<Record>,
    now: u64,
    events: Vec<u64>,
    wakes: Vec<u32>,
}

impl Program {
    fn new() -> Self {
        let kinds = [
            (PERMIT, LeafKind::Semaphore),
            (SECOND_PERMIT, LeafKind::Semaphore),
            (MESSAGE, LeafKind::Message),
            (JOIN, LeafKind::Task),
            (UNKNOWN, LeafKind::Semaphore),
            (LOCK, LeafKind::Lock),
            (REPLY, LeafKind::Reply),
        ];
        let leaf = |(site, kind)| {
            Record::Leaf(Leaf {
                site,
                kind,
                ..Leaf::default()
            })
        };
        let begin = |tid| {
            Record::ThreadEvent(ThreadEvent {
                process: ProcessId(1),
                tid,
                act: Act::Begin,
                ..ThreadEvent::default()
            })
        };
        let threads = (0..COROUTINES as u64).map(begin);
        Program {
            records: kinds.into_iter().map(leaf).chain(threads).collect(),
            now: 0,
            events: vec![0; COROUTINES],
            wakes: vec![0; COROUTINES],
        }
    }

    /// Each coroutine runs on a thread of its own, with its id.
    fn add(&mut self, id: u32, kind: EventKind, site: SiteId, marks: WaitMarks) {
        self.add_on(id, id, kind, site, marks);
    }

    fn add_on(&mut self, tid: u32, id: u32, kind: EventKind, site: SiteId, marks: WaitMarks) {
        self.now += 1;
        let n = self.events[id as usize];
        self.events[id as usize] += 1;
        self.records.push(Record::Event(Event {
            coroutine: CoroutineId(id),
            n,
            at: ms(self.now),
            kind,
            site,
            wake_seen: self.wakes[id as usize] as u16,
            marks,
            tid: u64::from(tid),
            ..Event::default()
        }));
    }

    /// A coroutine of this family is born on a thread without coroutines, and runs.
    fn spawn(&mut self, id: u32, name: &str) {
        self.spawn_on(id, name, THREAD);
    }

    fn spawn_on(&mut self, id: u32, name: &str, tid: u32) {
        self.records.push(Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(1),
            at: ms(self.now),
            kind: CoroutineKind::Future,
            name: name.into(),
            spawn_site: SiteId(9),
            dialect: Dialect::Extended,
            ..Birth::default()
        }));
        self.records.push(Record::Wake(Wake {
            coroutine: CoroutineId(id),
            ..Wake::default()
        }));
        self.add_on(tid, id, EventKind::Birth, SiteId(0), WaitMarks::default());
        self.run(id);
    }

    fn run(&mut self, id: u32) {
        self.add(id, EventKind::Run, SiteId(0), WaitMarks::default());
    }

    fn wait(&mut self, id: u32, site: SiteId) {
        self.add(id, EventKind::Suspend, site, WaitMarks::default());
    }

    fn end(&mut self, id: u32) {
        self.add(id, EventKind::Death, SiteId(0), WaitMarks::default());
    }

    /// The coroutine, or the thread without one, ends the wait of another.
    fn wake(&mut self, id: u32, by: Waker) {
        self.now += 1;
        self.wakes[id as usize] += 1;
        let count = self.wakes[id as usize];
        self.records.push(Record::ThreadEvent(ThreadEvent {
            process: ProcessId(1),
            tid: u64::from(THREAD),
            at: ms(self.now),
            act: Act::Wake(WakeCall {
                coroutine: CoroutineId(id),
                count,
                by,
                ..WakeCall::default()
            }),
        }));
        self.records.push(Record::Wake(Wake {
            coroutine: CoroutineId(id),
            count,
            at: ms(self.now),
            ..Wake::default()
        }));
        self.run(id);
    }

    /// The coroutine is woken, and does not run.
    fn is_woken(&mut self, id: u32) {
        self.now += 1;
        self.records.push(Record::Wake(Wake {
            coroutine: CoroutineId(id),
            count: self.wakes[id as usize] + 1,
            at: ms(self.now),
            ..Wake::default()
        }));
    }

    /// The coroutine waits here this often, and the other ends each wait.
    fn is_given(&mut self, id: u32, site: SiteId, by: u32, times: u32) {
        for _ in 0..times {
            self.wait(id, site);
            self.wake(id, Waker::Coroutine(CoroutineId(by)));
        }
    }

    /// Two workers hand permits to each other at two lines.
    fn hand_permits(&mut self) {
        for (id, other) in [(1, 2), (2, 1)] {
            self.is_given(id, PERMIT, other, 10);
            self.is_given(id, SECOND_PERMIT, other, 10);
        }
    }

    /// What is said about each coroutine, ten seconds later.
    fn reasons(self) -> Vec<&'static str> {
        self.reasons_after(10_000)
    }

    fn reasons_after(self, ms: u64) -> Vec<&'static str> {
        let judged = self.model_after(ms).judge(THRESHOLD).into_iter();
        judged
            .map(|(_, judgement)| judgement.reason.word())
            .collect()
    }

    /// The state of the program, ten seconds later.
    fn model(self) -> TraceModel {
        self.model_after(10_000)
    }

    fn model_after(mut self, after_ms: u64) -> TraceModel {
        let counts = (0..COROUTINES as u32).filter(|id| self.events[*id as usize] > 0);
        let counts: Vec<Record> = counts
            .map(|id| {
                Record::EventCounts(EventCounts {
                    coroutine: CoroutineId(id),
                    attempted: self.events[id as usize],
                    recorded: self.events[id as usize],
                    wakers: Some(1),
                    ..EventCounts::default()
                })
            })
            .collect();
        self.records.extend(counts);
        self.records.push(Record::End(End {
            at: ms(self.now + after_ms),
            ..End::default()
        }));
        let mut trace_model = TraceModel::new();
        for record in &self.records {
            trace_model.consume(record);
        }
        trace_model
    }
}

fn two_workers() -> Program {
    let mut program = Program::new();
    program.spawn(1, "worker");
    program.spawn(2, "worker");
    program.hand_permits();
    program
}

// CT-15
#[test]
fn workers_that_all_wait_for_permits_are_stuck() {
    let mut program = two_workers();
    program.wait(1, PERMIT);
    program.wait(2, SECOND_PERMIT);
    assert_eq!(program.reasons(), ["each-other"; 2]);
}

// CT-15
#[test]
fn a_worker_without_work_may_have_a_permit() {
    let mut program = two_workers();
    program.wait(1, PERMIT);
    program.wait(2, MESSAGE);
    assert!(!program.reasons().contains(&"each-other"));
}

// CT-15
#[test]
fn a_thread_that_has_added_permits_may_do_so_again() {
    let mut program = two_workers();
    program.wait(1, PERMIT);
    program.wake(1, Waker::Thread(THREAD));
    program.wait(1, PERMIT);
    program.wait(2, SECOND_PERMIT);
    assert!(!program.reasons().contains(&"each-other"));
}

/// A worker waits for a permit after coroutines of this name that gave it permits have ended.
fn worker_after_producers(producer: &str) -> Program {
    let mut program = Program::new();
    program.spawn(1, "worker");
    for id in 2..12 {
        program.spawn(id, producer);
        program.is_given(1, PERMIT, id, 1);
        program.end(id);
    }
    program.wait(1, PERMIT);
    program
}

// CT-15
#[test]
fn producers_that_have_ended_may_get_successors() {
    // All coroutines may have the same name, as boxed futures do.
    for producer in ["producer", "worker"] {
        let reasons = worker_after_producers(producer).reasons();
        assert_eq!(reasons, ["quiet"], "{producer}");
    }
}

// CT-15
#[test]
fn coroutines_that_ended_waits_may_all_have_ended() {
    let have_ended = |program: Program| {
        let model = program.model();
        let worker = model.get(CoroutineId(1)).expect("was born");
        model.have_wakers_ended(worker, &model.levels())
    };
    assert!(have_ended(worker_after_producers("producer")));
    // The worker itself may be one of the producers.
    assert!(!have_ended(worker_after_producers("worker")));
    let mut with_another = worker_after_producers("producer");
    with_another.spawn(12, "producer");
    assert!(!have_ended(with_another));
    let mut by_thread = worker_after_producers("producer");
    by_thread.wake(1, Waker::Thread(THREAD));
    by_thread.wait(1, PERMIT);
    assert!(!have_ended(by_thread));
    let mut woken_never = Program::new();
    woken_never.spawn(1, "worker");
    woken_never.wait(1, PERMIT);
    assert!(!have_ended(woken_never));
}

// CT-15
#[test]
fn requests_that_have_ended_gave_what_they_took() {
    let mut program = Program::new();
    program.spawn(1, "request");
    for id in 2..12 {
        program.spawn(id, "request");
        program.is_given(id, PERMIT, id - 1, 1);
        program.is_given(id, SECOND_PERMIT, id - 1, 1);
        program.end(id - 1);
    }
    program.end(11);
    for id in 12..14 {
        program.spawn(id, "request");
        program.wait(id, PERMIT);
    }
    program.spawn(14, "request");
    program.wait(14, SECOND_PERMIT);
    assert_eq!(program.reasons()[..2], ["each-other"; 2]);
}

// CT-15
#[test]
fn only_a_waiting_intake_could_spawn_more_jobs() {
    let intake = |waits: SiteId| {
        let mut program = Program::new();
        program.spawn(1, "intake");
        for id in 2..12 {
            program.spawn_on(id, "job", 1);
            program.is_given(1, PERMIT, id, 1);
            program.end(id);
        }
        program.spawn_on(12, "job", 1);
        program.wait(1, PERMIT);
        program.wait(12, waits);
        program
    };
    assert_eq!(intake(PERMIT).reasons(), ["each-other"; 2]);
    assert_eq!(intake(MESSAGE).reasons()[0], "quiet");
    let mut program = intake(PERMIT);
    program.spawn(13, "intake");
    program.end(13);
    assert_eq!(program.reasons()[0], "quiet", "there may be another intake");
}

// CT-15
#[test]
fn a_job_that_awaits_short_steps_makes_progress() {
    let mut program = Program::new();
    program.spawn(1, "intake");
    for id in 2..10 {
        program.spawn_on(id, "job", 1);
        program.is_given(1, PERMIT, id, 1);
        program.end(id);
    }
    program.spawn_on(10, "job", 1);
    for id in 11..18 {
        program.spawn_on(id, "step", 10);
        program.is_given(10, REPLY, id, 1);
        program.end(id);
    }
    program.wait(1, PERMIT);
    program.now += 20_000;
    program.spawn_on(18, "step", 10);
    program.wait(10, REPLY);
    assert_eq!(program.reasons_after(100)[0], "quiet");
}

// CT-15
#[test]
fn new_requests_take_permits_before_they_give_some() {
    let mut program = Program::new();
    program.spawn(1, "cleaner");
    for id in 2..12 {
        program.spawn(id, "request");
        program.is_given(id, PERMIT, if id == 2 { 1 } else { id - 1 }, 1);
        program.is_given(1, SECOND_PERMIT, id, 1);
    }
    (2..12).for_each(|id| program.end(id));
    program.wait(1, SECOND_PERMIT);
    program.spawn(12, "request");
    program.wait(12, PERMIT);
    assert_eq!(program.reasons(), ["each-other"; 2]);
}

/// Workers share a lock. The first waits here, and the others for the lock.
fn workers_before_a_lock(waits: SiteId, others_work: bool) -> Vec<&'static str> {
    let mut program = Program::new();
    for id in 1..4 {
        program.spawn(id, "worker");
    }
    for (id, by) in [(1, 2), (2, 1), (3, 1)] {
        program.is_given(id, LOCK, by, 10);
    }
    program.wait(1, waits);
    program.wait(2, if others_work { waits } else { LOCK });
    program.wait(3, LOCK);
    program.reasons()
}

// CT-15
#[test]
fn the_only_worker_that_wants_no_lock_keeps_it() {
    let far = "far-beyond";
    assert_eq!(
        workers_before_a_lock(UNKNOWN, false),
        ["keeps-lock", far, far]
    );
    assert_eq!(workers_before_a_lock(MESSAGE, false)[0], "only-coarse");
    assert_eq!(workers_before_a_lock(LOCK, false), [far; 3]);
}

// CT-15
#[test]
fn a_lock_that_was_handed_on_is_held_by_another() {
    let mut program = Program::new();
    for id in 1..4 {
        program.spawn(id, "worker");
    }
    for (id, by) in [(1, 2), (2, 1), (2, 3), (3, 1), (3, 2)] {
        program.is_given(id, LOCK, by, 10);
    }
    program.wait(1, UNKNOWN);
    program.is_given(3, LOCK, 2, 1);
    program.wait(2, LOCK);
    program.wait(3, LOCK);
    assert_ne!(program.reasons()[0], "keeps-lock");
}

// CT-15
#[test]
fn a_child_may_have_got_a_permit() {
    for is_free in [false, true] {
        let mut program = two_workers();
        program.spawn_on(3, "child", 1);
        program.wait(3, if is_free { MESSAGE } else { PERMIT });
        program.wait(1, PERMIT);
        program.wait(2, SECOND_PERMIT);
        let reasons = program.reasons();
        let expected = if is_free { "quiet" } else { "each-other" };
        assert_eq!(reasons[..2], [expected; 2], "{reasons:?}");
    }
}

// CT-15
#[test]
fn those_that_await_a_stuck_task_may_not_release_their_permits() {
    let mut program = two_workers();
    program.spawn(3, "child");
    program.is_given(1, JOIN, 3, 10);
    program.is_given(3, PERMIT, 1, 10);
    program.wait(1, JOIN);
    program.wait(2, SECOND_PERMIT);
    program.wait(3, PERMIT);
    assert_eq!(program.reasons(), ["each-other"; 3]);
}

// CT-15
#[test]
fn a_wait_beside_others_may_end_otherwise() {
    let mut program = two_workers();
    program.wait(1, PERMIT);
    let marks = WaitMarks {
        has_others: true,
        ..WaitMarks::default()
    };
    program.add(2, EventKind::Suspend, SECOND_PERMIT, marks);
    assert!(!program.reasons().contains(&"each-other"));
}

// CT-15
#[test]
fn a_woken_worker_may_release_its_permit() {
    let mut program = two_workers();
    program.wait(1, PERMIT);
    program.wait(2, SECOND_PERMIT);
    program.is_woken(2);
    assert!(!program.reasons().contains(&"each-other"));
}

// CT-15
#[test]
fn an_unusual_permit_without_history_may_come_from_anywhere() {
    let mut program = two_workers();
    program.wait(1, PERMIT);
    program.wait(2, UNKNOWN);
    assert!(!program.reasons().contains(&"each-other"));
}
