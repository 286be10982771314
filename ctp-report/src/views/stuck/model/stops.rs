//! When stuck groups stopped growing, as a sort key: what caused a stop comes before its victims.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{CoroutineId, LeafKind, WaitKind};
use ctp_trace::verdict::{Fact, Verdict};

use super::Group;

/// What groups below one headline have in common.
pub(super) type Headline = (Fact, &'static str);

/// When a group stopped growing. Of groups that stopped together, those come first that hold something for
/// which others wait: a coroutine that waits for a lock or for a message waits for some other coroutine. The
/// exact time decides last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stop {
    /// The number of the stop among those that are apart from each other, the earliest first.
    number: usize,
    needs: Needs,
    age_ns: Reverse<u64>,
}

/// Groups that stopped within this time after another are taken to have stopped together with it.
const TOGETHER_NS: u64 = 1_000_000_000;

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Needs {
    /// A part of its work, such as a reply or room.
    Work,
    /// A lock that some coroutine holds.
    Lock,
    /// What others send or do.
    Others,
}

/// When each group stopped growing, and the first group below each headline.
#[derive(Debug, Default)]
pub(super) struct Stops {
    groups: BTreeMap<u32, Stop>,
    headlines: BTreeMap<(Verdict, Headline), Stop>,
    /// The groups that wait for the end of tasks, all of which wait for a lock.
    holders: BTreeSet<u32>,
}

impl Stops {
    pub fn of(model: &TraceModel, groups: &[Group]) -> Self {
        let stuck = groups.iter().filter(|group| group.verdict().is_stuck());
        let stuck: Vec<&Group> = stuck.collect();
        let ages = stuck.iter().map(|group| group.members.youngest_ns);
        let numbers = numbers(ages.collect());
        let mut stops = Stops::default();
        for group in stuck {
            let age_ns = group.members.youngest_ns;
            let stop = Stop {
                number: numbers[&age_ns],
                needs: needs(model, group),
                age_ns: Reverse(age_ns),
            };
            stops.groups.insert(group.evidence.proof.id, stop);
            if may_hold_lock(model, group) {
                stops.holders.insert(group.evidence.proof.id);
            }
            let headline = (group.verdict(), group.headline());
            let first = stops.headlines.entry(headline).or_insert(stop);
            *first = stop.min(*first);
        }
        stops
    }

    pub fn of_group(&self, group: &Group) -> Option<Stop> {
        self.groups.get(&group.evidence.proof.id).copied()
    }

    /// Whether the group waits for the end of tasks, and probably holds the lock for which all of them wait.
    pub fn is_holder(&self, group: &Group) -> bool {
        self.holders.contains(&group.evidence.proof.id)
    }

    pub fn of_headline(&self, group: &Group) -> Option<Stop> {
        let headline = (group.verdict(), group.headline());
        self.headlines.get(&headline).copied()
    }
}

/// Numbers ages, the greatest first. Ages that differ little from the greatest of them have the same number.
fn numbers(mut ages_ns: Vec<u64>) -> BTreeMap<u64, usize> {
    ages_ns.sort_unstable_by_key(|age_ns| Reverse(*age_ns));
    let (mut number, mut greatest) = (0, None);
    let numbered = ages_ns.into_iter().map(|age_ns| {
        if *greatest.get_or_insert(age_ns) - age_ns > TOGETHER_NS {
            number += 1;
            greatest = Some(age_ns);
        }
        (age_ns, number)
    });
    numbered.collect()
}

fn needs(model: &TraceModel, group: &Group) -> Needs {
    let oldest = model.get(CoroutineId(group.evidence.proof.id));
    let kind = oldest.map_or(LeafKind::Unknown, |oldest| model.leaf_kind(oldest));
    let announced = oldest.and_then(Coroutine::suspend).map(|wait| wait.wait);
    match (announced, kind) {
        (Some(WaitKind::Lock), _) | (_, LeafKind::Lock) => Needs::Lock,
        (Some(WaitKind::Coroutine), _)
        | (_, LeafKind::Message | LeafKind::Notification | LeafKind::Task) => Needs::Others,
        _ => Needs::Work,
    }
}

/// Whether all tasks that the group joins wait for a lock, which the group may hold.
fn may_hold_lock(model: &TraceModel, group: &Group) -> bool {
    let leaf = group.members.leaf.as_ref();
    let tasks = leaf.filter(|leaf| !leaf.children.is_empty());
    tasks.is_some_and(|leaf| {
        let mut tasks = leaf.children.iter().map(|id| model.get(CoroutineId(*id)));
        tasks.all(|task| task.is_some_and(|task| model.leaf_kind(task) == LeafKind::Lock))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_within_a_second_have_the_same_number() {
        let ms = 1_000_000;
        let numbers = numbers(
            [3_010, 9_990, 10_010, 3_990, 2_900]
                .map(|age| age * ms)
                .to_vec(),
        );
        let of = |age: u64| numbers[&(age * ms)];
        assert_eq!(
            (of(10_010), of(9_990)),
            (0, 0),
            "on both sides of a full second"
        );
        assert_eq!((of(3_990), of(3_010), of(2_900)), (1, 1, 2));
    }
}
