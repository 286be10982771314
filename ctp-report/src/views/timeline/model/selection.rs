//! Selects the coroutines to show: all, or samples of each group.

use std::collections::BTreeMap;

use ctp_trace::record::{CoroutineId, Nanos, SiteId};
use ctp_trace::verdict::Verdict;

use super::population::{ObservedPopulation, RowCandidate};
use crate::time_scale::Scale;

/// Up to this many coroutines, all are shown. More are grouped and sampled.
const MAX_UNGROUPED: u64 = 200;

/// How many groups are shown. The others are only counted.
const MAX_GROUPS: usize = 30;

/// How many rows a group of stuck coroutines has, and how many any other group has. Groups get more
/// rows while there is room.
const STUCK_ROWS: usize = 20;
const OTHER_ROWS: usize = 5;

/// How many rows a sampled timeline has, unless it has more groups.
const MAX_ROWS: usize = 60;

/// How many coroutines without a row are kept for a search.
const MAX_HIDDEN: usize = 5_000;

/// The coroutines with the same verdict at the same site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// Where the coroutines are, or ended.
    pub site: SiteId,
    /// Their verdict.
    pub verdict: Verdict,
    /// How many coroutines the group has.
    pub count: u64,
    /// When the first and the last of the coroutines entered their state.
    pub since: (Nanos, Nanos),
    /// The longest time that a coroutine has been in its state.
    pub longest: Nanos,
    /// The shown coroutines: first the crashed coroutine, then the others in the order of
    /// [`RowCandidate::rank`].
    pub members: Vec<RowCandidate>,
}

/// The shown coroutines, and the number of all coroutines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownRows {
    /// The group of the crashed coroutine, then the worst, then the largest.
    pub groups: Vec<RowGroup>,
    /// Whether the groups have headings, because there are too many coroutines to show all.
    pub grouped: bool,
    /// How many coroutines lived in the shown time.
    pub total: u64,
    /// How many groups are not shown, and the number of coroutines in these.
    pub left_out: (u64, u64),
    /// Coroutines without a row, at most [`MAX_HIDDEN`], in the order of the groups.
    pub hidden: Vec<RowCandidate>,
}

impl ShownRows {
    /// How many coroutines are shown.
    pub fn shown(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// How many coroutines are neither shown nor hidden.
    pub fn missing(&self) -> u64 {
        let known = self.shown() + self.hidden.len();
        self.total.saturating_sub(known as u64)
    }

    /// How many coroutines are stuck, certainly or likely, shown or not.
    pub fn stuck(&self) -> u64 {
        let stuck = self.groups.iter().filter(|group| group.verdict.is_stuck());
        stuck.map(|group| group.count).sum()
    }
}

/// Selects among the coroutines that lived in the shown time. The crashed coroutine is always shown.
pub fn pick(
    alive: impl IntoIterator<Item = RowCandidate>,
    observed: ObservedPopulation,
    scale: &Scale,
    crashed: Option<CoroutineId>,
) -> ShownRows {
    let mut groups: BTreeMap<(Verdict, SiteId), RowGroup> = BTreeMap::new();
    for member in alive {
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

fn put(groups: &mut BTreeMap<(Verdict, SiteId), RowGroup>, member: RowCandidate) {
    let key = (member.verdict, member.site);
    let group = groups.entry(key).or_insert_with(|| RowGroup {
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

fn sample(mut groups: Vec<RowGroup>, crashed: Option<CoroutineId>) -> ShownRows {
    let total = groups.iter().map(|group| group.count).sum();
    let grouped = MAX_UNGROUPED < total;
    let is_other = |member: &RowCandidate| Some(member.id) != crashed;
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
    let (mut left_out, mut hidden) = ((0, 0), Vec::new());
    if grouped {
        let rest = groups.split_off(groups.len().min(MAX_GROUPS));
        left_out = (
            rest.len() as u64,
            rest.iter().map(|group| group.count).sum(),
        );
        hidden = cut(&mut groups);
        hidden.extend(rest.into_iter().flat_map(|group| group.members));
        hidden.truncate(MAX_HIDDEN);
        hidden.shrink_to_fit();
    }
    ShownRows {
        groups,
        grouped,
        total,
        left_out,
        hidden,
    }
}

/// Keeps a member of each group, then as many as the group should have, then as many as fit. The
/// worst groups come first. Returns the other members.
fn cut(groups: &mut [RowGroup]) -> Vec<RowCandidate> {
    let mut kept = vec![1; groups.len()];
    let mut room = MAX_ROWS.saturating_sub(groups.len());
    for is_full in [false, true] {
        for (group, kept) in groups.iter().zip(&mut kept) {
            let limit = if is_full {
                usize::MAX
            } else if group.verdict.is_stuck() {
                STUCK_ROWS
            } else {
                OTHER_ROWS
            };
            let more = group.members.len().min(limit).saturating_sub(*kept);
            *kept += more.min(room);
            room -= more.min(room);
        }
    }
    let rest = groups.iter_mut().zip(kept);
    rest.flat_map(|(group, kept)| group.members.split_off(kept.min(group.members.len())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::model::NameId;
    use ctp_trace::record::ProcessId;
    use ctp_trace::verdict::Fact;

    fn group(verdict: Verdict, site: u32, count: u32) -> RowGroup {
        let member = |i: u32| RowCandidate {
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
        RowGroup {
            site: SiteId(site),
            verdict,
            count: u64::from(count),
            since: (Nanos(0), Nanos(u64::from(count))),
            longest: Nanos(1_000_000),
            members: (0..count).rev().map(member).collect(),
        }
    }

    // CT-19: stuck coroutines come first, the longest before the others
    #[test]
    fn few_coroutines_are_all_shown_the_worst_first() {
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

    // CT-18: the crashed coroutine comes first, however many there are
    #[test]
    fn crashed_coroutine_is_always_shown() {
        let groups = (1..50).map(|i| group(Verdict::Waiting, i, 200)).collect();
        let crashed = CoroutineId(49_199);
        let selection = sample(groups, Some(crashed));
        assert_eq!(selection.groups[0].members[0].id, crashed);
        assert_eq!(selection.groups[0].members.len(), OTHER_ROWS);
    }

    // CT-19: as many as fit
    #[test]
    fn a_single_large_group_fills_the_page() {
        let groups = vec![group(Verdict::Waiting, 1, 10_000)];
        assert_eq!(sample(groups, None).shown(), MAX_ROWS);
    }

    // CT-19: 10 000 coroutines are sampled, and each group has a row
    #[test]
    fn many_coroutines_are_sampled() {
        let mut groups: Vec<RowGroup> = (1..50).map(|i| group(Verdict::Waiting, i, 200)).collect();
        groups.push(group(Verdict::Stuck, 99, 47));
        let selection = sample(groups, None);
        assert!(selection.grouped && selection.shown() <= MAX_ROWS);
        assert_eq!(selection.groups[0].members.len(), STUCK_ROWS);
        assert!(
            selection
                .groups
                .iter()
                .all(|group| !group.members.is_empty())
        );
        assert_eq!(selection.left_out, (20, 4_000));
        let counted: u64 = selection.groups.iter().map(|group| group.count).sum();
        assert_eq!(counted + selection.left_out.1, selection.total);
        let known = selection.shown() + selection.hidden.len();
        assert_eq!(selection.hidden.len(), MAX_HIDDEN);
        assert_eq!(known as u64 + selection.missing(), selection.total);
    }
}
