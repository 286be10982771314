//! Locks that several coroutines hold at the same time, and fair queues of readers and writers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ctp_trace::record::*;
use ctp_trace::verdict::{Caveat, Confidence, Reason, Verdict};
use proptest::prelude::*;

use crate::recording::Recording;

const A: u64 = 0x1000;
const B: u64 = 0x2000;

const CERTAIN: (Verdict, Confidence, Reason) = (
    Verdict::Deadlock,
    Confidence::Certain,
    Reason::Deadlock { caveat: None },
);

/// Coroutine 1 reads, coroutine 2 waits to write, and coroutine 1 wants to read again.
fn read_twice() -> Recording {
    let mut recording = Recording::of(3);
    recording.reads(1, 10, A);
    recording.wants(2, 20, A);
    recording.wants(1, 30, A);
    recording.wants(3, 40, A);
    recording
}

// CT-15
#[test]
fn reading_twice_around_a_writer_is_a_deadlock() {
    let recording = read_twice();
    let blocks = recording.trace_model(&[]).blocks();
    assert_eq!(blocks.cycles(), [[CoroutineId(1), CoroutineId(2)]]);
    let stuck = recording.stuck();
    assert_eq!((stuck[&1], stuck[&2]), (CERTAIN, CERTAIN));
    assert!(matches!(stuck[&3].2, Reason::Behind { .. }), "{stuck:?}");
}

// CT-15
#[test]
fn a_reader_that_wants_to_write_is_a_deadlock() {
    let mut recording = Recording::of(2);
    recording.reads(1, 10, A);
    recording.reads(2, 11, A);
    recording.wants(1, 20, A);
    recording.waits(2, 21, WaitKind::Timer, 0);
    assert_eq!(recording.stuck()[&1], CERTAIN, "2 is free, 1 is not");
    assert!(!recording.stuck().contains_key(&2));
}

// CT-15
#[test]
fn waiters_behind_a_long_reader_are_fine() {
    let mut recording = Recording::of(4);
    recording.reads(1, 10, A);
    recording.reads(2, 11, A);
    recording.waits(1, 20, WaitKind::Timer, 0);
    recording.gives(2, 21, A);
    recording.wants(3, 30, A);
    recording.wants(4, 31, A);
    assert!(recording.stuck().is_empty(), "{:?}", recording.stuck());
}

// CT-15
#[test]
fn a_second_half_may_still_release_the_lock() {
    let mut recording = read_twice();
    recording.wakers = BTreeMap::from([(1, 2), (2, 1), (3, 1)]);
    assert!(recording.stuck().is_empty(), "{:?}", recording.stuck());
}

// CT-15
#[test]
fn a_reader_that_ended_blocks_the_writer() {
    let mut recording = Recording::of(3);
    recording.reads(1, 10, A);
    recording.reads(2, 11, A);
    recording.ends(2, 12);
    recording.waits(1, 13, WaitKind::Timer, 0);
    recording.wants(3, 20, A);
    let holder = CoroutineId(2);
    let reason = Reason::NeverReleased {
        holder,
        caveat: None,
    };
    let expected = (Verdict::Stuck, Confidence::Certain, reason);
    assert_eq!(recording.stuck(), BTreeMap::from([(3, expected)]));
}

// CT-15
#[test]
fn an_exclusive_holder_among_readers_is_a_caveat() {
    let mut recording = Recording::of(2);
    recording.reads(1, 10, A);
    recording.takes(2, 11, A);
    recording.takes(2, 12, B);
    recording.wants(1, 20, B);
    recording.wants(2, 21, A);
    let caveats: Vec<_> = recording
        .stuck()
        .values()
        .map(|entry| entry.2.caveat())
        .collect();
    assert_eq!(caveats, [Some(Caveat::Shared), Some(Caveat::Shared)]);
}

const COROUTINES: u32 = 6;

/// A lock that serves its waiters in order.
#[derive(Clone, Debug, Default)]
struct FairLock {
    readers: Vec<u32>,
    writer: Option<u32>,
    queue: VecDeque<(u32, bool)>,
}

impl FairLock {
    /// Whether the lock is free for a reader, or for a writer.
    fn admits(&self, writes: bool) -> bool {
        self.writer.is_none() && (!writes || self.readers.is_empty())
    }

    fn hold(&mut self, id: u32, writes: bool) {
        if writes {
            self.writer = Some(id);
        } else {
            self.readers.push(id);
        }
    }

    fn release(&mut self, id: u32) -> bool {
        if self.writer == Some(id) {
            self.writer = None;
            return true;
        }
        let own = self.readers.iter().position(|reader| *reader == id);
        own.map(|at| self.readers.remove(at)).is_some()
    }

    /// The next waiter that the lock admits.
    fn next(&mut self) -> Option<(u32, bool)> {
        let (_, writes) = *self.queue.front()?;
        if self.admits(writes) {
            self.queue.pop_front()
        } else {
            None
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Lock(u64, bool),
    Release(u64),
}

#[derive(Clone)]
struct Program {
    recording: Recording,
    locks: BTreeMap<u64, FairLock>,
    waits: BTreeSet<u32>,
    at: u64,
}

impl Program {
    fn new() -> Self {
        Program {
            recording: Recording::of(COROUTINES),
            locks: [A, B].map(|lock| (lock, FairLock::default())).into(),
            waits: BTreeSet::new(),
            at: 10,
        }
    }

    fn step(&mut self, id: u32, step: &Step) {
        if self.waits.contains(&id) {
            return;
        }
        self.at += 5;
        match *step {
            Step::Lock(lock, writes) => self.lock(id, lock, writes),
            Step::Release(lock) => self.release(id, lock),
        }
    }

    fn lock(&mut self, id: u32, lock: u64, writes: bool) {
        let state = self.locks.get_mut(&lock).expect("a lock");
        if state.queue.is_empty() && state.admits(writes) {
            self.hold(id, lock, writes);
        } else {
            state.queue.push_back((id, writes));
            self.waits.insert(id);
            self.recording.wants(id, self.at, lock);
        }
    }

    fn hold(&mut self, id: u32, lock: u64, writes: bool) {
        self.locks.entry(lock).or_default().hold(id, writes);
        if writes {
            self.recording.takes(id, self.at, lock);
        } else {
            self.recording.reads(id, self.at, lock);
        }
    }

    fn release(&mut self, id: u32, lock: u64) {
        if !self.locks.entry(lock).or_default().release(id) {
            return;
        }
        self.recording.gives(id, self.at, lock);
        while let Some((next, writes)) = self.locks.entry(lock).or_default().next() {
            self.at += 5;
            self.recording.woken(next, self.at);
            self.recording.runs(next, self.at + 2);
            self.at += 4;
            self.waits.remove(&next);
            self.hold(next, lock, writes);
        }
    }

    /// Coroutines that still wait after all others have released what they hold.
    fn never_go_on(&self) -> BTreeSet<u32> {
        let mut rest = self.clone();
        loop {
            let held = rest.locks.iter().find_map(|(lock, state)| {
                let holders = state.readers.iter().chain(&state.writer);
                let free = holders.copied().find(|id| !rest.waits.contains(id));
                Some((free?, *lock))
            });
            let Some((id, lock)) = held else {
                return rest.waits;
            };
            rest.release(id, lock);
        }
    }
}

fn any_step() -> impl Strategy<Value = (u32, Step)> {
    let lock = prop_oneof![Just(A), Just(B)];
    let step = prop_oneof![
        3 => (lock.clone(), any::<bool>()).prop_map(|(lock, writes)| Step::Lock(lock, writes)),
        1 => lock.prop_map(Step::Release),
    ];
    (1..=COROUTINES, step)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // CT-15
    #[test]
    fn exactly_the_blocked_readers_and_writers_are_stuck(
        steps in prop::collection::vec(any_step(), 0..40),
    ) {
        let mut program = Program::new();
        for (id, step) in &steps {
            program.step(*id, step);
        }
        let stuck: BTreeSet<u32> = program.recording.stuck().into_keys().collect();
        prop_assert_eq!(stuck, program.never_go_on());
    }
}
