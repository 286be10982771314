//! The order of stuck groups: a group that should have woken another comes before that group.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Coroutine, FamilyId, TraceModel};
use ctp_trace::record::{CoroutineId, Nanos};

use super::Group;

/// Moves each stuck group behind the groups of the same verdict whose coroutines usually wake it.
/// Otherwise the order stays, also among groups that wake each other.
pub(super) fn put_first(model: &TraceModel, groups: &mut [Group]) {
    let are_alike = |a: &Group, b: &Group| {
        let roots = |group: &Group| group.evidence.roots.is_empty();
        (a.verdict(), roots(a)) == (b.verdict(), roots(b))
    };
    let stuck = groups
        .chunk_by_mut(are_alike)
        .filter(|groups| groups[0].verdict().is_stuck());
    for groups in stuck {
        let order = dependencies_first(&dependencies(model, groups));
        let of_proof: BTreeMap<u32, usize> = order
            .iter()
            .enumerate()
            .map(|(position, node)| (groups[*node].evidence.proof.id, position))
            .collect();
        groups.sort_by_key(|group| of_proof.get(&group.evidence.proof.id).copied());
    }
}

/// A graph of the groups. A group depends on each group with a coroutine that may have been meant to end
/// the wait: of a family that usually wakes the group, and born before the wait began. A group that joins
/// a coroutine of another group depends on that group.
fn dependencies(model: &TraceModel, groups: &[Group]) -> Vec<Vec<usize>> {
    let (families, joined) = (by_family(model, groups), by_joining(groups));
    let edges = groups.iter().map(|group| {
        let oldest = model.get(CoroutineId(group.evidence.proof.id));
        let wakers = oldest.map_or(&[][..], |oldest| model.families_of_wakers(oldest));
        let since = oldest.and_then(Coroutine::suspend).map(|wait| wait.at);
        let waking = wakers.iter().filter_map(|family| families.get(family));
        let waking = waking
            .flatten()
            .filter(|(_, born)| since.is_none_or(|since| *born < since))
            .map(|(node, _)| *node);
        let ids = group.members.ids.iter();
        let awaited = ids.filter_map(|id| joined.get(id)).flatten().copied();
        let others: BTreeSet<usize> = waking.chain(awaited).collect();
        others.into_iter().collect()
    });
    edges.collect()
}

/// The groups with coroutines of each family, and when the first of these coroutines was born.
fn by_family(model: &TraceModel, groups: &[Group]) -> BTreeMap<FamilyId, Vec<(usize, Nanos)>> {
    let mut families: BTreeMap<FamilyId, Vec<(usize, Nanos)>> = BTreeMap::new();
    for (node, group) in groups.iter().enumerate() {
        for (family, born) in earliest_births(model, group) {
            families.entry(family).or_default().push((node, born));
        }
    }
    families
}

/// The groups with coroutines for whose end each coroutine probably waits.
fn by_joining(groups: &[Group]) -> BTreeMap<u32, Vec<usize>> {
    let mut joined: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (node, group) in groups.iter().enumerate() {
        for joining in &group.evidence.joined_by {
            joined.entry(*joining).or_default().push(node);
        }
    }
    joined
}

/// For each family in the group, when its first coroutine of the group was born.
fn earliest_births(model: &TraceModel, group: &Group) -> BTreeMap<FamilyId, Nanos> {
    let mut earliest = BTreeMap::new();
    for coroutine in coroutines(model, group) {
        if let Some(family) = coroutine.family {
            let born: &mut Nanos = earliest.entry(family).or_insert(coroutine.born);
            *born = coroutine.born.min(*born);
        }
    }
    earliest
}

fn coroutines<'m>(model: &'m TraceModel, group: &'m Group) -> impl Iterator<Item = &'m Coroutine> {
    let ids = group.members.ids.iter();
    ids.filter_map(|id| model.get(CoroutineId(*id)))
}

/// The nodes of a graph, each after all nodes that it depends on, directly or through others. Nodes
/// that depend on each other stay in the order of their numbers, and so do unrelated nodes.
fn dependencies_first(edges: &[Vec<usize>]) -> Vec<usize> {
    let finished = visit(edges, 0..edges.len()).concat();
    let mut reversed = vec![Vec::new(); edges.len()];
    for (from, to) in edges.iter().enumerate() {
        to.iter().for_each(|to| reversed[*to].push(from));
    }
    // Each set has the nodes that depend on each other. Dependents come first (Kosaraju's
    // algorithm).
    let mut sets = visit(&reversed, finished.into_iter().rev());
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets.reverse();
    sets.concat()
}

/// Visits the graph depth first. Returns, for each start, the nodes that were first reached from this
/// start, each after the nodes reached from that node.
fn visit(edges: &[Vec<usize>], starts: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut is_visited = vec![false; edges.len()];
    let mut sets = Vec::new();
    for start in starts {
        let mut set = Vec::new();
        // Each node on the path, and how many of its edges were followed.
        let mut path = vec![(start, 0)];
        while let Some((node, followed)) = path.pop() {
            if followed == 0 && std::mem::replace(&mut is_visited[node], true) {
                continue;
            }
            match edges[node].get(followed) {
                Some(&next) => path.extend([(node, followed + 1), (next, 0)]),
                None => set.push(node),
            }
        }
        sets.push(set);
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(edges: &[&[usize]]) -> Vec<usize> {
        let edges: Vec<Vec<usize>> = edges.iter().map(|to| to.to_vec()).collect();
        dependencies_first(&edges)
    }

    #[test]
    fn unrelated_nodes_stay() {
        assert_eq!(order(&[&[], &[], &[]]), [0, 1, 2]);
        assert_eq!(order(&[]), [0; 0]);
    }

    #[test]
    fn dependencies_come_first() {
        assert_eq!(order(&[&[2], &[], &[3], &[]]), [3, 2, 0, 1]);
        assert_eq!(order(&[&[1, 2], &[2], &[]]), [2, 1, 0]);
    }

    #[test]
    fn a_ring_stays_before_its_dependents() {
        assert_eq!(order(&[&[1], &[2], &[3], &[1]]), [1, 2, 3, 0]);
        assert_eq!(order(&[&[1], &[0], &[0], &[]]), [0, 1, 2, 3]);
        assert_eq!(order(&[&[0], &[1]]), [0, 1]);
    }

    #[test]
    fn long_chains_need_no_stack() {
        let edges: Vec<Vec<usize>> = (1..100_000)
            .map(|next| vec![next])
            .chain([Vec::new()])
            .collect();
        let order = dependencies_first(&edges);
        assert!(order.iter().copied().eq((0..100_000).rev()));
    }
}
