//! Whom to show: everybody, or of each group those that tell most.

use std::collections::BTreeMap;

use ctp_trace::record::{CoroutineId, Nanos, SiteId};
use ctp_trace::trace_model::TraceModel;
use ctp_trace::verdict::Verdict;

use super::population::{self, Member, ObservedPopulation};
use crate::time_scale::Scale;

/// So many rows are read one by one; more are grouped.
pub const ALL: u64 = 200;

/// Groups that are shown; the rest is summed up.
const GROUPS: usize = 30;

/// Rows of a group of stuck ones, and of any other.
const OF_STUCK: usize = 20;
const OF_OTHERS: usize = 5;

/// Rows in all, unless there are more groups than that.
const SAMPLED: usize = 60;

/// Coroutines of one verdict at one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Where they are or ended.
    pub site: SiteId,
    /// What the rule says of them.
    pub verdict: Verdict,
    /// How many there are.
    pub count: u64,
    /// Since when they have been so: the first and the last of them.
    pub since: (Nanos, Nanos),
    /// The longest time that one of them has been so.
    pub longest: Nanos,
    /// Those that are shown: the one that crashed, then the longest.
    pub members: Vec<Member>,
}

/// Who is shown, and of how many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// That of the one that crashed first, then the worst, then the largest.
    pub groups: Vec<Group>,
    /// Whether rows stand under the heading of their group, since there are too many for a look.
    pub grouped: bool,
    /// How many coroutines there are.
    pub total: u64,
    /// Groups that are not shown, and the coroutines in them.
    pub left_out: (u64, u64),
}

impl Selection {
    /// How many are shown.
    pub fn shown(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// How many of them are stuck, certainly or likely, shown or not.
    pub fn stuck(&self) -> u64 {
        let stuck = self.groups.iter().filter(|group| group.verdict.is_stuck());
        stuck.map(|group| group.count).sum()
    }
}

/// Chooses among all that lived in the time that is shown. The one that crashed is always there.
pub fn pick(
    trace_model: &TraceModel,
    observed: ObservedPopulation,
    scale: &Scale,
    threshold: Nanos,
    crashed: Option<CoroutineId>,
) -> Selection {
    let mut groups: BTreeMap<(Verdict, SiteId), Group> = BTreeMap::new();
    for member in population::alive(trace_model, threshold) {
        if member.is_in(scale) {
            put(&mut groups, member);
        }
    }
    for (site, ended) in observed.ended {
        let forgotten = ended.count - ended.longest.len() as u64;
        for member in ended.longest {
            put(&mut groups, member);
        }
        if let Some(group) = groups.get_mut(&(Verdict::Over, site)) {
            group.count += forgotten;
        }
    }
    sample(groups.into_values().collect(), crashed)
}

fn put(groups: &mut BTreeMap<(Verdict, SiteId), Group>, member: Member) {
    let key = (member.verdict, member.site);
    let group = groups.entry(key).or_insert_with(|| Group {
        site: member.site,
        verdict: member.verdict,
        count: 0,
        since: (member.since, member.since),
        longest: Nanos(0),
        members: Vec::new(),
    });
    group.count += 1;
    group.since = (
        group.since.0.min(member.since),
        group.since.1.max(member.since),
    );
    group.longest = group.longest.max(member.since.until(member.until));
    group.members.push(member);
}

fn sample(mut groups: Vec<Group>, crashed: Option<CoroutineId>) -> Selection {
    let total = groups.iter().map(|group| group.count).sum();
    let grouped = ALL < total;
    let is_other = |member: &Member| Some(member.id) != crashed;
    groups.sort_by_key(|group| {
        let others = group.members.iter().all(is_other);
        (
            others,
            group.verdict,
            std::cmp::Reverse(group.count),
            group.site,
        )
    });
    for group in &mut groups {
        group
            .members
            .sort_by_key(|member| (is_other(member), member.rank()));
    }
    let mut left_out = (0, 0);
    if grouped {
        let rest = groups.split_off(groups.len().min(GROUPS));
        left_out = (
            rest.len() as u64,
            rest.iter().map(|group| group.count).sum(),
        );
        cut(&mut groups);
    }
    Selection {
        groups,
        grouped,
        total,
        left_out,
    }
}

/// One of each group, then as many more as a group should have, then as many as there is room for;
/// the worst groups first.
fn cut(groups: &mut [Group]) {
    let mut kept = vec![1; groups.len()];
    let mut room = SAMPLED.saturating_sub(groups.len());
    for is_full in [false, true] {
        for (group, kept) in groups.iter().zip(&mut kept) {
            let most = match group.verdict.is_stuck() {
                _ if is_full => usize::MAX,
                true => OF_STUCK,
                false => OF_OTHERS,
            };
            let more = group.members.len().min(most).saturating_sub(*kept);
            *kept += more.min(room);
            room -= more.min(room);
        }
    }
    for (group, kept) in groups.iter_mut().zip(kept) {
        group.members.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::ProcessId;
    use ctp_trace::trace_model::NameId;
    use ctp_trace::verdict::Fact;

    fn group(verdict: Verdict, site: u32, count: u32) -> Group {
        let member = |i: u32| Member {
            id: CoroutineId(1_000 * site + i),
            process: ProcessId(1),
            name: NameId::default(),
            site: SiteId(site),
            spawned: SiteId(0),
            born: Nanos(0),
            since: Nanos(u64::from(i)),
            until: Nanos(1_000_000),
            verdict,
            fact: Fact::Suspended,
        };
        Group {
            site: SiteId(site),
            verdict,
            count: u64::from(count),
            since: (Nanos(0), Nanos(u64::from(count))),
            longest: Nanos(1_000_000),
            members: (0..count).rev().map(member).collect(),
        }
    }

    // CT-19: stuck ones first, and the longest of them
    #[test]
    fn few_are_all_shown_the_worst_first() {
        let selection = sample(
            vec![
                group(Verdict::Waiting, 1, 150),
                group(Verdict::MaybeStuck, 2, 47),
            ],
            None,
        );
        assert!(!selection.grouped);
        assert_eq!((selection.shown(), selection.stuck()), (197, 47));
        let first = &selection.groups[0].members[0];
        assert_eq!(
            (first.verdict, first.since),
            (Verdict::MaybeStuck, Nanos(0))
        );
    }

    // CT-18: of however many, the one that crashed is shown, and first
    #[test]
    fn the_one_that_crashed_is_always_shown() {
        let groups = (1..50).map(|i| group(Verdict::Waiting, i, 200)).collect();
        let crashed = CoroutineId(49_199);
        let selection = sample(groups, Some(crashed));
        assert_eq!(selection.groups[0].members[0].id, crashed);
        assert_eq!(selection.groups[0].members.len(), OF_OTHERS);
    }

    // CT-19: as many as there is room for
    #[test]
    fn a_single_group_of_many_fills_the_page() {
        let groups = vec![group(Verdict::Waiting, 1, 10_000)];
        assert_eq!(sample(groups, None).shown(), SAMPLED);
    }

    // CT-19: 10 000 are sampled, and no group without a row
    #[test]
    fn many_are_sampled() {
        let mut groups: Vec<Group> = (1..50).map(|i| group(Verdict::Waiting, i, 200)).collect();
        groups.push(group(Verdict::Stuck, 99, 47));
        let selection = sample(groups, None);
        assert!(selection.grouped && selection.shown() <= SAMPLED);
        assert_eq!(selection.groups[0].members.len(), OF_STUCK);
        assert!(
            selection
                .groups
                .iter()
                .all(|group| !group.members.is_empty())
        );
        assert_eq!(selection.left_out, (20, 4_000));
        let counted: u64 = selection.groups.iter().map(|group| group.count).sum();
        assert_eq!(counted + selection.left_out.1, selection.total);
    }
}
