//! Random programs that take locks, give them back, wait for each other's end, and end. The program
//! knows who can still go on; the census sees only what was told.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::Act;
use ctp_trace::verdict::{Confidence, Reason};
use proptest::prelude::*;

use crate::told::Told;

const COROUTINES: u32 = 6;
const LOCKS: u64 = 4;

/// What one does next, if it runs.
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
enum Doing {
    Runs,
    Wants(u64),
    Joins(u32),
    Ended,
}

#[derive(Clone)]
struct Program {
    told: Told,
    doing: BTreeMap<u32, Doing>,
    holders: BTreeMap<u64, u32>,
    at: u64,
    /// The next deed is not told.
    loses: bool,
}

impl Program {
    fn new() -> Self {
        Program {
            told: Told::of(COROUTINES),
            doing: (1..=COROUTINES).map(|id| (id, Doing::Runs)).collect(),
            holders: BTreeMap::new(),
            at: 10,
            loses: false,
        }
    }

    fn step(&mut self, who: u32, step: &Step, loses: bool) {
        if self.doing[&who] != Doing::Runs {
            return;
        }
        self.at += 5;
        self.loses |= loses;
        match *step {
            Step::Take(lock) => self.take(who, lock),
            Step::Give => {
                let held = self.holders.iter().find(|(_, holder)| **holder == who);
                if let Some(lock) = held.map(|(lock, _)| *lock) {
                    self.give(who, lock);
                }
            }
            Step::Join(other) if self.doing[&other] != Doing::Ended => {
                self.doing.insert(who, Doing::Joins(other));
                self.told.joins(who, self.at, other);
            }
            Step::Join(_) => {}
            Step::End { forgets } => self.end(who, forgets),
        }
    }

    fn tell_deed(&mut self, tell: impl FnOnce(&mut Told, u64)) {
        if std::mem::take(&mut self.loses) {
            return self.told.deed(self.at, Act::Loss(1));
        }
        tell(&mut self.told, self.at);
    }

    fn take(&mut self, who: u32, lock: u64) {
        if self.holders.contains_key(&lock) {
            self.doing.insert(who, Doing::Wants(lock));
            return self.told.wants(who, self.at, lock);
        }
        self.holders.insert(lock, who);
        self.tell_deed(|told, at| told.takes(who, at, lock));
    }

    fn give(&mut self, who: u32, lock: u64) {
        self.holders.remove(&lock);
        self.tell_deed(|told, at| told.gives(who, at, lock));
        let waiting = self
            .doing
            .iter()
            .find(|(_, doing)| **doing == Doing::Wants(lock));
        if let Some(next) = waiting.map(|(id, _)| *id) {
            self.resume(next);
            self.take(next, lock);
        }
    }

    fn resume(&mut self, who: u32) {
        self.at += 5;
        self.told.woken(who, self.at);
        self.at += 2;
        self.told.runs(who, self.at);
        self.doing.insert(who, Doing::Runs);
    }

    fn end(&mut self, who: u32, forgets: bool) {
        let held = self.holders.iter().filter(|(_, holder)| **holder == who);
        let held: Vec<u64> = held.map(|(lock, _)| *lock).collect();
        held.into_iter()
            .filter(|_| !forgets)
            .for_each(|lock| self.give(who, lock));
        self.doing.insert(who, Doing::Ended);
        self.told.ends(who, self.at);
        let joins = self
            .doing
            .iter()
            .filter(|(_, doing)| **doing == Doing::Joins(who));
        let joined: Vec<u32> = joins.map(|(id, _)| *id).collect();
        joined.into_iter().for_each(|id| self.resume(id));
    }

    /// Those that wait however far all others go on.
    fn never_go_on(&self) -> BTreeSet<u32> {
        let mut rest = self.clone();
        while let Some(one) = rest.doing.iter().find(|(_, doing)| **doing == Doing::Runs) {
            let one = *one.0;
            rest.end(one, false);
        }
        let waits = |doing: &&Doing| matches!(doing, Doing::Wants(_) | Doing::Joins(_));
        rest.doing
            .iter()
            .filter(|(_, it)| waits(it))
            .map(|(id, _)| *id)
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // CT-15, CT-24
    #[test]
    fn those_that_never_go_on_are_stuck_and_for_certain_only_if_nothing_is_lost(
        steps in prop::collection::vec(any_step(), 0..60),
        loses in any::<bool>(),
    ) {
        let mut program = Program::new();
        for (who, step, is_lost) in &steps {
            program.step(*who, step, loses && *is_lost);
        }
        let stay = program.never_go_on();
        let mut stuck = program.told.stuck();
        // Who waits far longer than others did is likely to be stuck, whoever could go on.
        stuck.retain(|id, it| stay.contains(id) || it.2 != Reason::FarBeyond);
        for (id, (_, confidence, reason)) in &stuck {
            let is_certain = *confidence == Confidence::Certain;
            prop_assert!(!is_certain || stay.contains(id), "{}: {:?}", id, reason);
        }
        if !loses {
            let said: BTreeSet<u32> = stuck.keys().copied().collect();
            prop_assert_eq!(&said, &stay);
            let is_certain = |it: &(_, Confidence, Reason)| it.1 == Confidence::Certain;
            prop_assert!(stuck.values().all(is_certain), "{:?}", stuck);
        }
    }
}
