//! How groups of coroutines that are not stuck relate to stuck groups.

use std::collections::BTreeSet;

use super::Group;

/// Groups that stopped within this time of a stuck group stopped together with it.
const TOGETHER_NS: u64 = 1_000_000_000;

/// How a group relates to the stuck groups, closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// A stuck group names a member of this group: as a blocker, as the last waker, or as a
    /// coroutine that probably waits for the end of the stuck coroutines.
    Named,
    /// The group stopped when a stuck group stopped.
    StoppedTogether,
    /// No relation is known.
    Other,
}

/// The coroutines that stuck groups name, and when these groups stopped.
#[derive(Clone, Debug, Default)]
pub struct Relations {
    named: BTreeSet<u32>,
    /// For each stuck group, how long ago its latest and its first member stopped.
    stops: Vec<(u64, u64)>,
}

impl Relations {
    /// Collects what the stuck groups name.
    pub fn of(groups: &[Group]) -> Self {
        let mut relations = Relations::default();
        for group in groups.iter().filter(|group| group.verdict().is_stuck()) {
            let evidence = &group.evidence;
            let blockers = evidence.blockers.iter().filter_map(|blocker| blocker.id);
            let waker = evidence.last_waker.iter().map(|waker| waker.id);
            relations.named.extend(blockers.chain(waker));
            relations.named.extend(&evidence.roots);
            relations.named.extend(&evidence.joined_by);
            let members = &group.members;
            relations
                .stops
                .push((members.youngest_ns, members.oldest_ns));
        }
        relations
    }

    /// The relation of a group.
    pub fn of_group(&self, group: &Group) -> Relation {
        let members = &group.members;
        let mut stops = self.stops.iter();
        if members.ids.iter().any(|id| self.named.contains(id)) {
            Relation::Named
        } else if stops.any(|(latest, first)| {
            latest.saturating_sub(TOGETHER_NS) <= members.oldest_ns
                && members.youngest_ns <= first.saturating_add(TOGETHER_NS)
        }) {
            Relation::StoppedTogether
        } else {
            Relation::Other
        }
    }
}
