//! The coroutines that a census knows, by id.

use super::coroutine::Coroutine;
use crate::hash::Map;
use crate::record::CoroutineId;

/// Coroutines side by side, and where each is. A map of them alone would take twice the room:
/// half of it is empty, and while it grows there are two.
#[derive(Clone, Debug, Default)]
pub(super) struct Population {
    coroutines: Vec<Coroutine>,
    index: Map<CoroutineId, u32>,
    /// Where the one is that was asked for last: a trace tells several things of it in a row.
    latest: usize,
}

impl Population {
    pub(super) fn get(&self, id: CoroutineId) -> Option<&Coroutine> {
        self.coroutines.get(self.find(id)?)
    }

    /// The coroutine of this id, of which nothing is known yet if it was never asked for.
    #[inline]
    pub(super) fn of(&mut self, id: CoroutineId) -> &mut Coroutine {
        self.latest = self.find(id).unwrap_or_else(|| self.add(id));
        &mut self.coroutines[self.latest]
    }

    /// The coroutine of this id, if it is known and not yet forgotten.
    pub(super) fn known(&mut self, id: CoroutineId) -> Option<&mut Coroutine> {
        self.latest = self.find(id)?;
        self.coroutines.get_mut(self.latest)
    }

    #[inline]
    fn find(&self, id: CoroutineId) -> Option<usize> {
        match self.coroutines.get(self.latest) {
            Some(latest) if latest.id == id => Some(self.latest),
            _ => self.index.get(&id).map(|at| *at as usize),
        }
    }

    fn add(&mut self, id: CoroutineId) -> usize {
        let at = self.coroutines.len();
        self.coroutines.push(Coroutine::named(id));
        // Ids have 32 bits, so there are no more coroutines than that.
        self.index.insert(id, at as u32);
        at
    }

    /// Forgets one. The last one takes its place.
    pub(super) fn remove(&mut self, id: CoroutineId) -> Option<Coroutine> {
        let at = self.index.remove(&id)?;
        let removed = self.coroutines.swap_remove(at as usize);
        if let Some(moved) = self.coroutines.get(at as usize) {
            self.index.insert(moved.id, at);
        }
        Some(removed)
    }

    /// In no order.
    pub(super) fn all(&self) -> &[Coroutine] {
        &self.coroutines
    }

    /// In no order.
    pub(super) fn all_mut(&mut self) -> &mut [Coroutine] {
        &mut self.coroutines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_id_whoever_is_forgotten() {
        let mut population = Population::default();
        for id in 1..=5 {
            population.of(CoroutineId(id)).events = id.into();
        }
        for gone in [5, 2, 1] {
            let removed = population.remove(CoroutineId(gone));
            assert_eq!(removed.map(|one| one.events), Some(gone.into()));
        }
        assert!(population.remove(CoroutineId(2)).is_none());
        let events = |id| population.get(CoroutineId(id)).map(|one| one.events);
        assert_eq!(
            [1, 2, 3, 4, 5].map(events),
            [None, None, Some(3), Some(4), None]
        );
        assert_eq!(population.all().len(), 2);
    }
}
