//! Random programs whose coroutines take and release locks, join each other, and end. The program
//! knows which coroutines can still go on; the trace model sees only the records.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::Act;
use ctp_trace::verdict::Confidence;
use proptest::prelude::*;

use crate::recording::Recording;

const COROUTINES: u32 = 6;
const LOCKS: u64 = 4;

/// What a coroutine does next, if it runs.
#[derive(Clone, Debug)]
enum Step {
    Take(u64),
    Give,
    Join(u32),
    End { forgets: bool },
}

fn any_step() -> impl Strategy<Value = (u32, Step, bool)> {
    let step = prop_oneof![
        8 => (1..=LOCKS).prop_map(Step::Take),
        3 => Just(Step::Give),
        1 => (1..=COROUTINES).prop_map(Step::Join),
        1 => prop::bool::weighted(0.3).prop_map(|forgets| Step::End { forgets }),
    ];
    (1..=COROUTINES, step, prop::bool::weighted(0.2))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanActivity {
    Runs,
    Wants(u64),
    Joins(u32),
    Ended,
}

#[derive(Clone)]
struct Program {
    recording: Recording,
    activity: BTreeMap<u32, SpanActivity>,
    holders: BTreeMap<u64, u32>,
    at: u64,
    /// The next thread event is lost.
    loses: bool,
}

impl Program {
    fn new() -> Self {
        Program {
            recording: Recording::of(COROUTINES),
            activity: (1..=COROUTINES)
                .map(|id| (id, SpanActivity::Runs))
                .collect(),
            holders: BTreeMap::new(),
            at: 10,
            loses: false,
        }
    }

    fn step(&mut self, task_id: u32, step: &Step, loses: bool) {
        if self.activity[&task_id] != SpanActivity::Runs {
            return;
        }
        self.at += 5;
        self.loses |= loses;
        match *step {
            Step::Take(lock) => self.take(task_id, lock),
            Step::Give => {
                let held = self.holders.iter().find(|(_, holder)| **holder == task_id);
                if let Some(lock) = held.map(|(lock, _)| *lock) {
                    self.give(task_id, lock);
                }
            }
            Step::Join(other) if self.activity[&other] != SpanActivity::Ended => {
                self.activity.insert(task_id, SpanActivity::Joins(other));
                self.recording.joins(task_id, self.at, other);
            }
            Step::Join(_) => {}
            Step::End { forgets } => self.end(task_id, forgets),
        }
    }

    fn record_thread_event(&mut self, emit: impl FnOnce(&mut Recording, u64)) {
        if std::mem::take(&mut self.loses) {
            return self.recording.thread_event(self.at, Act::Loss(1));
        }
        emit(&mut self.recording, self.at);
    }

    fn take(&mut self, task_id: u32, lock: u64) {
        if self.holders.contains_key(&lock) {
            self.activity.insert(task_id, SpanActivity::Wants(lock));
            return self.recording.wants(task_id, self.at, lock);
        }
        self.holders.insert(lock, task_id);
        self.record_thread_event(|recording, at| recording.takes(task_id, at, lock));
    }

    fn give(&mut self, task_id: u32, lock: u64) {
        self.holders.remove(&lock);
        self.record_thread_event(|recording, at| recording.gives(task_id, at, lock));
        let waiting = self
            .activity
            .iter()
            .find(|(_, activity)| **activity == SpanActivity::Wants(lock));
        if let Some(next) = waiting.map(|(id, _)| *id) {
            self.resume(next);
            self.take(next, lock);
        }
    }

    fn resume(&mut self, task_id: u32) {
        self.at += 5;
        self.recording.woken(task_id, self.at);
        self.at += 2;
        self.recording.runs(task_id, self.at);
        self.activity.insert(task_id, SpanActivity::Runs);
    }

    fn end(&mut self, task_id: u32, forgets: bool) {
        let held = self
            .holders
            .iter()
            .filter(|(_, holder)| **holder == task_id);
        let held: Vec<u64> = held.map(|(lock, _)| *lock).collect();
        held.into_iter()
            .filter(|_| !forgets)
            .for_each(|lock| self.give(task_id, lock));
        self.activity.insert(task_id, SpanActivity::Ended);
        self.recording.ends(task_id, self.at);
        let joins = self
            .activity
            .iter()
            .filter(|(_, activity)| **activity == SpanActivity::Joins(task_id));
        let joined: Vec<u32> = joins.map(|(id, _)| *id).collect();
        joined.into_iter().for_each(|id| self.resume(id));
    }

    /// Coroutines that wait even after all others have run to their end.
    fn never_go_on(&self) -> BTreeSet<u32> {
        let mut rest = self.clone();
        while let Some(pair) = rest
            .activity
            .iter()
            .find(|(_, activity)| **activity == SpanActivity::Runs)
        {
            let number = *pair.0;
            rest.end(number, false);
        }
        let waits = |activity: &&SpanActivity| {
            matches!(activity, SpanActivity::Wants(_) | SpanActivity::Joins(_))
        };
        rest.activity
            .iter()
            .filter(|(_, activity)| waits(activity))
            .map(|(id, _)| *id)
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // CT-15, CT-24
    #[test]
    fn exactly_the_blocked_coroutines_are_stuck(
        steps in prop::collection::vec(any_step(), 0..60),
        loses in any::<bool>(),
    ) {
        let mut program = Program::new();
        for (task_id, step, is_lost) in &steps {
            program.step(*task_id, step, loses && *is_lost);
        }
        let stay = program.never_go_on();
        let mut stuck = program.recording.stuck();
        // A wait far beyond the usual is likely stuck even where the holder could go on.
        stuck.retain(|id, entry| stay.contains(id) || entry.2.word() != "far-beyond");
        for (id, (_, confidence, reason)) in &stuck {
            let is_certain = *confidence == Confidence::Certain;
            prop_assert!(!is_certain || stay.contains(id), "{}: {:?}", id, reason);
        }
        if !loses {
            let message: BTreeSet<u32> = stuck.keys().copied().collect();
            prop_assert_eq!(&message, &stay);
            prop_assert!(stuck.values().all(|entry| entry.1 == Confidence::Certain), "{:?}", stuck);
        }
    }
}
