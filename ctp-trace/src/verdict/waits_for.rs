//! The wait-for graph. A cycle of coroutines that all wait for each other is a deadlock.
//!
//! The graph is that of R. C. Holt, "Some deadlock properties of computer systems" (ACM Computing
//! Surveys 4, 1972). A coroutine that waits for several others is assumed to need only one of them,
//! unless it is known to need all. This is the safe assumption: a deadlock found under it is also a
//! deadlock if all of them are needed.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::CoroutineId;

/// For each waiting coroutine, what it needs. Coroutines that wait for no other are absent.
pub type WaitsFor = BTreeMap<CoroutineId, Needs>;

/// The coroutines that a waiting coroutine waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The coroutines that must continue first; never empty.
    pub of: Vec<CoroutineId>,
    /// Whether all of them must continue first, or at least one.
    pub all: bool,
}

/// The deadlocked cycles. Each coroutine waits for the next, and the last for the first, which has the
/// smallest id. For a coroutine that waits for several others, the cycle follows the first of those that
/// cannot continue.
pub fn deadlocks(waits: &WaitsFor) -> Vec<Vec<CoroutineId>> {
    let stay = remaining(waits);
    let next = |id: &CoroutineId| {
        let mut blockers = waits[id].of.iter();
        *blockers
            .find(|blocker| stay.contains(blocker))
            .expect("what stays needs something that stays")
    };
    let mut seen = BTreeSet::new();
    let mut cycles = Vec::new();
    for &start in &stay {
        let path = path_from(start, &next, &mut seen);
        let Some(first) = path.last().map(&next) else {
            continue;
        };
        if let Some(begin) = path.iter().position(|id| *id == first) {
            cycles.push(rotate_to_smallest(&path[begin..]));
        }
    }
    cycles.sort_unstable();
    cycles
}

/// The coroutines that can continue only after others of this set: those of cycles, and those that wait
/// for a cycle. They remain after repeatedly removing every coroutine whose need is met by coroutines
/// that wait for none or are removed.
pub(crate) fn remaining(waits: &WaitsFor) -> BTreeSet<CoroutineId> {
    let mut waiters: BTreeMap<CoroutineId, Vec<CoroutineId>> = BTreeMap::new();
    let mut needs = BTreeMap::new();
    for (&id, others) in waits {
        let distinct: BTreeSet<_> = others.of.iter().copied().collect();
        needs.insert(id, if others.all { distinct.len() } else { 1 });
        for other in distinct {
            waiters.entry(other).or_default().push(id);
        }
    }
    let mut stay: BTreeSet<_> = waits.keys().copied().collect();
    let blockers = waiters.keys().copied();
    let mut free: Vec<_> = blockers.filter(|id| !waits.contains_key(id)).collect();
    while let Some(id) = free.pop() {
        let held_up = waiters.get(&id).into_iter().flatten();
        for waiter in held_up {
            let left = needs.entry(*waiter).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 && stay.remove(waiter) {
                free.push(*waiter);
            }
        }
    }
    stay
}

/// Follows the edges from `start` until a coroutine that was seen before.
fn path_from(
    start: CoroutineId,
    next: &impl Fn(&CoroutineId) -> CoroutineId,
    seen: &mut BTreeSet<CoroutineId>,
) -> Vec<CoroutineId> {
    let mut path = Vec::new();
    let mut at = start;
    while seen.insert(at) {
        path.push(at);
        at = next(&at);
    }
    path
}

fn rotate_to_smallest(cycle: &[CoroutineId]) -> Vec<CoroutineId> {
    let smallest = cycle.iter().enumerate().min_by_key(|(_, id)| **id);
    let at = smallest.map_or(0, |(at, _)| at);
    [&cycle[at..], &cycle[..at]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waits(of: &[(u32, &[u32])]) -> WaitsFor {
        let ids = |all: &[u32]| all.iter().copied().map(CoroutineId).collect();
        of.iter()
            .map(|(id, all)| (CoroutineId(*id), needs(ids(all), false)))
            .collect()
    }

    fn needs(of: Vec<CoroutineId>, all: bool) -> Needs {
        Needs { of, all }
    }

    fn cycles(of: &[(u32, &[u32])]) -> Vec<Vec<u32>> {
        let found = deadlocks(&waits(of)).into_iter();
        found
            .map(|ids| ids.into_iter().map(|id| id.0).collect())
            .collect()
    }

    #[test]
    fn cycles_begin_with_the_smallest_id() {
        assert_eq!(cycles(&[(3, &[1]), (1, &[2]), (2, &[3])]), [[1, 2, 3]]);
        assert_eq!(cycles(&[(7, &[7])]), [[7]]);
        let two: &[(u32, &[u32])] = &[(1, &[5]), (5, &[1]), (2, &[9]), (9, &[2])];
        assert_eq!(cycles(two), [[1, 5], [2, 9]]);
    }

    #[test]
    fn chains_are_not_part_of_cycles() {
        assert!(cycles(&[(1, &[2]), (2, &[3])]).is_empty());
        assert_eq!(cycles(&[(4, &[1]), (1, &[2]), (2, &[1])]), [[1, 2]]);
    }

    #[test]
    fn one_free_blocker_suffices() {
        assert!(cycles(&[(1, &[2, 3]), (2, &[1])]).is_empty());
        assert_eq!(cycles(&[(1, &[2, 3]), (2, &[1]), (3, &[1])]), [[1, 2]]);
    }

    #[test]
    fn a_stuck_blocker_suffices_if_all_are_needed() {
        let mut writer = waits(&[(1, &[3, 2]), (2, &[1])]);
        writer.insert(
            CoroutineId(1),
            needs(vec![CoroutineId(3), CoroutineId(2)], true),
        );
        assert_eq!(
            deadlocks(&writer),
            [[CoroutineId(1), CoroutineId(2)]],
            "3 is free"
        );
        writer.remove(&CoroutineId(2));
        assert!(deadlocks(&writer).is_empty());
    }

    /// Reference implementation: repeatedly removes a coroutine that waits for a removed coroutine or
    /// for none.
    fn never_go_on(waits: &WaitsFor) -> BTreeSet<CoroutineId> {
        let mut stay = waits.clone();
        loop {
            let may = |id: &CoroutineId| {
                let mut others = stay[id].of.iter().map(|other| !stay.contains_key(other));
                if stay[id].all {
                    others.all(|is_free| is_free)
                } else {
                    others.any(|is_free| is_free)
                }
            };
            let Some(free) = stay.keys().copied().find(may) else {
                return stay.into_keys().collect();
            };
            stay.remove(&free);
        }
    }

    /// The first blocker that cannot continue.
    fn first_of(waits: &WaitsFor, stay: &BTreeSet<CoroutineId>, id: CoroutineId) -> CoroutineId {
        let mut blockers = waits[&id].of.iter();
        *blockers.find(|other| stay.contains(other)).unwrap()
    }

    /// Whether following the first such edge of each coroutine leads back to `id`.
    fn returns(waits: &WaitsFor, stay: &BTreeSet<CoroutineId>, id: CoroutineId) -> bool {
        let mut at = id;
        (0..waits.len()).any(|_| {
            at = first_of(waits, stay, at);
            at == id && waits.contains_key(&id)
        })
    }

    proptest! {
        #[test]
        fn cycles_match_the_reference(
            edges in prop::collection::btree_map(
                0u32..12, (prop::collection::vec(0u32..12, 1..4), any::<bool>()), 0..12)
        ) {
            let ids = |all: Vec<u32>| all.into_iter().map(CoroutineId).collect();
            let waits: WaitsFor =
                edges.into_iter().map(|(id, (of, all))| (CoroutineId(id), needs(ids(of), all))).collect();
            let stay = never_go_on(&waits);
            prop_assert_eq!(&remaining(&waits), &stay);
            let cycles = deadlocks(&waits);
            let members: Vec<_> = cycles.iter().flatten().copied().collect();
            let expected: BTreeSet<_> =
                stay.iter().copied().filter(|id| returns(&waits, &stay, *id)).collect();
            prop_assert_eq!(members.len(), expected.len());
            prop_assert_eq!(members.into_iter().collect::<BTreeSet<_>>(), expected);
            for cycle in &cycles {
                prop_assert_eq!(cycle.iter().min(), cycle.first());
                let next = cycle.iter().cycle().skip(1);
                for (id, next) in cycle.iter().zip(next) {
                    prop_assert_eq!(&first_of(&waits, &stay, *id), next);
                }
            }
        }
    }
}
