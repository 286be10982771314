//! The coroutines of a trace model, by id.

use std::collections::BTreeSet;

use super::coroutine::Coroutine;
use super::names::NameId;
use crate::hash::Map;
use crate::record::{Birth, CoroutineId, ProcessId};

/// Coroutines in a vector, with an index by id. A map of coroutines would take twice the memory: half of
/// it is empty, and it exists twice while it grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Population {
    coroutines: Vec<Coroutine>,
    index: Map<CoroutineId, u32>,
    recent: RecentPlaces,
    /// Index of the coroutine that was last accessed mutably, because consecutive records often concern
    /// the same coroutine. The index never points into the unchanged part.
    latest: usize,
    /// The length of the unchanged part at the front: coroutines that were not accessed mutably since
    /// the last [`take_changed`](Population::take_changed).
    unchanged: usize,
    /// Coroutines by process. Built on first use: most programs never execute another image.
    by_process: Option<BTreeSet<(ProcessId, CoroutineId)>>,
}

/// A cache of the index: places in the vector, selected by the low bits of an id. A place counts only if the
/// coroutine there has the id, so entries of moved and removed coroutines may stay.
#[derive(Clone, Debug)]
struct RecentPlaces(Box<[u32; RECENT]>);

const RECENT: usize = 1024;

impl Default for RecentPlaces {
    fn default() -> Self {
        RecentPlaces(Box::new([0; RECENT]))
    }
}

impl RecentPlaces {
    #[inline]
    fn of(&self, id: CoroutineId) -> usize {
        self.0[id.0 as usize % RECENT] as usize
    }

    #[inline]
    fn note(&mut self, id: CoroutineId, at: usize) {
        // Ids have 32 bits, so the place fits.
        self.0[id.0 as usize % RECENT] = at as u32;
    }
}

impl Population {
    pub(super) fn get(&self, id: CoroutineId) -> Option<&Coroutine> {
        self.coroutines.get(self.find(id)?)
    }

    /// The coroutine with this id; a new id gets an empty coroutine.
    #[inline]
    pub(super) fn of(&mut self, id: CoroutineId) -> &mut Coroutine {
        let latest = self.coroutines.get(self.latest);
        if latest.is_none_or(|latest| latest.id != id) {
            self.latest = self.find_or_add(id);
        }
        &mut self.coroutines[self.latest]
    }

    #[inline]
    fn find_or_add(&mut self, id: CoroutineId) -> usize {
        let recent = self.recent.of(id);
        if self
            .coroutines
            .get(recent)
            .is_some_and(|found| found.id == id)
        {
            return self.change(recent);
        }
        let at = match self.index.get(&id) {
            Some(at) => self.change(*at as usize),
            None => self.add(id),
        };
        self.recent.note(id, at);
        at
    }

    /// The coroutine with this id, if known and not forgotten.
    pub(super) fn known(&mut self, id: CoroutineId) -> Option<&mut Coroutine> {
        let at = self.find(id)?;
        self.latest = self.change(at);
        self.coroutines.get_mut(self.latest)
    }

    /// Takes a birth.
    pub(super) fn describe(&mut self, birth: &Birth, name: NameId) {
        let coroutine = self.of(birth.coroutine);
        let before = coroutine.process;
        coroutine.describe(birth, name);
        if let Some(by_process) = &mut self.by_process {
            by_process.remove(&(before, birth.coroutine));
            by_process.insert((birth.process, birth.coroutine));
        }
    }

    #[inline]
    fn find(&self, id: CoroutineId) -> Option<usize> {
        let cached = [self.latest, self.recent.of(id)];
        let has_id = |at: &usize| self.coroutines.get(*at).is_some_and(|found| found.id == id);
        let found = cached.into_iter().find(has_id);
        found.or_else(|| self.index.get(&id).map(|at| *at as usize))
    }

    fn add(&mut self, id: CoroutineId) -> usize {
        let at = self.coroutines.len();
        self.coroutines.push(Coroutine::named(id));
        // Ids have 32 bits, so the index fits.
        self.index.insert(id, at as u32);
        if let Some(by_process) = &mut self.by_process {
            by_process.insert((ProcessId::default(), id));
        }
        at
    }

    /// Moves the coroutine at this index out of the unchanged part. Returns its new index.
    #[inline]
    fn change(&mut self, at: usize) -> usize {
        if self.unchanged <= at {
            return at;
        }
        self.move_behind_the_unchanged(at)
    }

    #[cold]
    fn move_behind_the_unchanged(&mut self, at: usize) -> usize {
        self.unchanged -= 1;
        self.coroutines.swap(at, self.unchanged);
        for at in [at, self.unchanged] {
            self.index.insert(self.coroutines[at].id, at as u32);
        }
        self.unchanged
    }

    /// Removes a coroutine. The last coroutine takes its index.
    pub(super) fn remove(&mut self, id: CoroutineId) -> Option<Coroutine> {
        let at = *self.index.get(&id)?;
        let at = self.change(at as usize);
        self.index.remove(&id);
        let removed = self.coroutines.swap_remove(at);
        if let Some(moved) = self.coroutines.get(at) {
            self.index.insert(moved.id, at as u32);
        }
        if let Some(by_process) = &mut self.by_process {
            by_process.remove(&(removed.process, id));
        }
        Some(removed)
    }

    /// All coroutines, in no order.
    pub(super) fn all(&self) -> &[Coroutine] {
        &self.coroutines
    }

    /// The coroutines that are new or were accessed mutably since the last call, in no order.
    pub(super) fn take_changed(&mut self) -> &mut [Coroutine] {
        let unchanged = std::mem::replace(&mut self.unchanged, self.coroutines.len());
        self.latest = self.unchanged;
        &mut self.coroutines[unchanged..]
    }

    /// The coroutines of a process, by id.
    pub(super) fn of_process(&mut self, process: ProcessId) -> Vec<CoroutineId> {
        let all = self.coroutines.iter();
        let by_process = self.by_process.get_or_insert_with(|| {
            all.map(|coroutine| (coroutine.process, coroutine.id))
                .collect()
        });
        let of_this_process = (process, CoroutineId(0))..=(process, CoroutineId(u32::MAX));
        by_process
            .range(of_this_process)
            .map(|(_, id)| *id)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Of,
        Describe(u32),
        Get,
        Remove,
        TakeChanged,
        OfProcess,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Of),
            (0u32..3).prop_map(Step::Describe),
            Just(Step::Get),
            Just(Step::Remove),
            Just(Step::TakeChanged),
            Just(Step::OfProcess),
        ]
    }

    /// Reference implementation: all coroutines with their processes, and the changed coroutines.
    #[derive(Debug, Default)]
    struct Plain {
        all: BTreeMap<CoroutineId, ProcessId>,
        changed: BTreeSet<CoroutineId>,
    }

    impl Plain {
        /// Applies the same step to both. Returns whether the results agree.
        fn agrees(&mut self, population: &mut Population, step: Step, id: CoroutineId) -> bool {
            match step {
                Step::Of => {
                    self.changed.insert(id);
                    population.of(id).process == *self.all.entry(id).or_default()
                }
                Step::Describe(process) => {
                    let process = ProcessId(process);
                    let birth = Birth {
                        coroutine: id,
                        process,
                        ..Birth::default()
                    };
                    population.describe(&birth, NameId::default());
                    self.changed.insert(id);
                    self.all.insert(id, process);
                    true
                }
                Step::Get => {
                    let process = population.get(id).map(|population| population.process);
                    process == self.all.get(&id).copied()
                }
                Step::Remove => {
                    self.changed.remove(&id);
                    population.remove(id).map(|coroutine| coroutine.process) == self.all.remove(&id)
                }
                Step::TakeChanged => {
                    let changed = population
                        .take_changed()
                        .iter()
                        .map(|coroutine| coroutine.id);
                    changed.collect::<BTreeSet<_>>() == std::mem::take(&mut self.changed)
                }
                Step::OfProcess => {
                    let process = ProcessId(id.0 % 3);
                    let of_this_process = self.all.iter().filter(|(_, owner)| **owner == process);
                    population
                        .of_process(process)
                        .iter()
                        .eq(of_this_process.map(|(id, _)| id))
                }
            }
        }
    }

    proptest! {
        #[test]
        fn population_agrees_with_plain_maps(
            steps in prop::collection::vec((any_step(), 0u32..12), 0..200),
        ) {
            let (mut population, mut plain) = (Population::default(), Plain::default());
            for (step, id) in steps {
                let id = CoroutineId(id);
                prop_assert!(plain.agrees(&mut population, step, id), "{step:?} {id:?}: {plain:?}");
                let ids: BTreeSet<_> = population.all().iter().map(|coroutine| coroutine.id).collect();
                prop_assert!(ids.iter().eq(plain.all.keys()));
            }
        }
    }

    #[test]
    fn coroutines_are_found_after_removals() {
        let mut population = Population::default();
        for id in 1..=5 {
            population.of(CoroutineId(id)).probe_id = id.into();
        }
        for removed_id in [5, 2, 1] {
            let removed = population.remove(CoroutineId(removed_id));
            assert_eq!(
                removed.map(|removed| removed.probe_id),
                Some(removed_id.into())
            );
        }
        assert!(population.remove(CoroutineId(2)).is_none());
        let probe_id = |id| {
            population
                .get(CoroutineId(id))
                .map(|population| population.probe_id)
        };
        assert_eq!(
            [1, 2, 3, 4, 5].map(probe_id),
            [None, None, Some(3), Some(4), None]
        );
        assert_eq!(population.all().len(), 2);
    }
}
