//! Compares waiting coroutines with the lifetimes of ended coroutines of the same family.
//!
//! This helps where the first waits at a place never end, so that the place has no history. Example: a pool
//! leaks a connection now and then. No coroutine is delayed until the pool is empty; from then on all are.
//! Hundreds of coroutines of the family ended within milliseconds, and the latest do not end.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::full_channels::is_never_woken;
use super::levels::Levels;
use super::named::Named;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{EndedSums, Event, LeafKind, Nanos, SiteId, WaitKind};
use crate::verdict::LivesEvidence;

/// Per family, the coroutines that ran to completion.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives(Map<FamilyId, Ended>);

#[derive(Clone, Debug, Default)]
struct Ended {
    lives: Histogram,
    /// The latest birth among the ended coroutines.
    youngest: Nanos,
}

/// Coroutines of one family that wait at one place, for the same kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct WaitGroup {
    family: FamilyId,
    site: SiteId,
    wait: WaitKind,
}

/// How many coroutines wait, by groups and families.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingCounts {
    groups: Map<WaitGroup, Counts>,
    /// Per family, the coroutines that were born after all ended coroutines of the family.
    families: Map<FamilyId, FamilyWaits>,
}

/// How many of the newest coroutines of a family wait for something that other members may hold, such as a
/// connection of a pool. Each has waited far longer than the ended coroutines of the family lived.
#[derive(Clone, Copy, Debug, Default)]
struct FamilyWaits {
    coroutines: u64,
    /// At least one of the newest coroutines does not wait like this.
    may_continue: bool,
}

/// How many coroutines of a group wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    all: u64,
    /// How many coroutines were born after all ended coroutines of the family.
    newest: u64,
}

impl FamilyWaits {
    fn note(&mut self, is_overdue: bool) {
        self.coroutines += u64::from(is_overdue);
        self.may_continue |= !is_overdue;
    }
}

impl Lives {
    /// Takes a death. Coroutines that were dropped during a wait do not count, nor those that lived before
    /// the recording.
    pub(super) fn ended(&mut self, coroutine: &Coroutine, death: &Event) {
        let is_whole_life = !coroutine.waits.cancelled && !coroutine.lived_before;
        let Some(family) = separate_family(coroutine).filter(|_| is_whole_life) else {
            return;
        };
        let ended = self.0.entry(family).or_default();
        ended.lives.add(coroutine.born.until(death.at));
        ended.youngest = ended.youngest.max(coroutine.born);
    }
}

/// The family of the coroutine. `None` for the common family of all coroutines for which there was no room.
fn separate_family(coroutine: &Coroutine) -> Option<FamilyId> {
    coroutine
        .family
        .filter(|family| *family != FamilyId::default())
}

/// The group of a coroutine that waits.
fn wait_group(coroutine: &Coroutine) -> Option<WaitGroup> {
    let wait = coroutine
        .suspend()
        .filter(|_| coroutine.caveat().is_none())?;
    Some(WaitGroup {
        family: separate_family(coroutine)?,
        site: wait.site,
        wait: wait.wait,
    })
}

impl TraceModel {
    pub(super) fn count_waiting(&self) -> WaitingCounts {
        let mut counts = WaitingCounts::default();
        for coroutine in self.coroutines.all() {
            let Some(family) = separate_family(coroutine) else {
                continue;
            };
            let ended = self.lives.0.get(&family);
            let ended = ended.filter(|ended| ended.youngest < coroutine.born);
            if let Some(ended) = ended.filter(|_| coroutine.is_alive()) {
                let is_overdue = self.is_overdue_for_family(coroutine, ended);
                counts.families.entry(family).or_default().note(is_overdue);
            }
            if let Some(group) = wait_group(coroutine) {
                let in_group = counts.groups.entry(group).or_default();
                in_group.all += 1;
                in_group.newest += u64::from(ended.is_some());
            }
        }
        counts
    }

    /// Whether a coroutine has waited far longer than others of its family lived, and not for a message, for
    /// I/O or for a time of its own.
    fn is_overdue_for_family(&self, coroutine: &Coroutine, ended: &Ended) -> bool {
        let far = evidence_of(&ended.lives).far_beyond();
        let Some(wait) = coroutine.suspend().filter(|wait| !wait.marks.idle) else {
            return false;
        };
        let may_lack_work = |kind: LeafKind| {
            matches!(
                kind,
                LeafKind::Message | LeafKind::TimeOrMessage | LeafKind::Io
            )
        };
        let mut branches = self.branches(coroutine.id);
        let leaf = self.leaf_kind(coroutine);
        wait.wait == WaitKind::Unknown
            && far <= wait.at.until(self.end_of(coroutine.process))
            && !may_lack_work(leaf)
            && leaf != LeafKind::Timer
            && !branches.any(|(site, _)| may_lack_work(self.socket_waits.kind(site)))
            && coroutine.caveat().is_none()
            && !is_never_woken(coroutine)
    }

    /// The lifetimes of similar coroutines that have ended. `None` if coroutines may have ended that are
    /// not in the trace.
    pub(super) fn lives_evidence(
        &self,
        coroutine: &Coroutine,
        counts: &WaitingCounts,
        levels: &Levels,
    ) -> Option<LivesEvidence> {
        if self.extent.has_refused() {
            return None;
        }
        let of_family = self.lives_of_family(coroutine, counts);
        match levels.named(coroutine.group_key()) {
            Some(named) if coroutine.is_known() && self.has_totals_only(coroutine) => {
                Some(lives_of_name(named, of_family.unwrap_or_default()))
            }
            _ => of_family,
        }
    }

    fn lives_of_family(
        &self,
        coroutine: &Coroutine,
        counts: &WaitingCounts,
    ) -> Option<LivesEvidence> {
        let group = wait_group(coroutine)?;
        let Ended { lives, youngest } = self.lives.0.get(&group.family)?;
        let in_group = counts.groups.get(&group).copied().unwrap_or_default();
        let family_waits = counts.families.get(&group.family);
        let family_waits =
            family_waits.filter(|waits| !waits.may_continue && *youngest < coroutine.born);
        let in_family = family_waits.map_or(0, |waits| waits.coroutines);
        Some(LivesEvidence {
            newest: in_group.newest.max(in_family),
            here: in_group.all,
            ..evidence_of(lives)
        })
    }
}

fn evidence_of(lives: &Histogram) -> LivesEvidence {
    LivesEvidence {
        ended: lives.count(),
        p99: lives.bound(99).unwrap_or_default(),
        longest: lives.max().unwrap_or_default(),
        ..LivesEvidence::default()
    }
}

/// Lifetimes from the totals of this name. Totals also cover coroutines without events in the trace.
fn lives_of_name(named: &Named, of_family: LivesEvidence) -> LivesEvidence {
    let of_name = evidence_of(&named.lives);
    let lives = LivesEvidence {
        ended: of_name.ended.max(of_family.ended),
        p99: of_name.p99.max(of_family.p99),
        longest: of_name.longest.max(of_family.longest),
        newest: of_family.newest,
        here: of_family.here,
        alike: None,
    };
    LivesEvidence {
        alike: Some(named.open.at_least(lives.far_beyond())),
        ..lives
    }
}

/// The lifetime of an ended coroutine, by its totals. `None` if the coroutine has not ended, was dropped
/// during a wait, or has no totals.
pub(super) fn lifetime_from_totals(coroutine: &Coroutine) -> Option<Nanos> {
    let is_over = !coroutine.is_alive() && !coroutine.waits.cancelled;
    let totals = coroutine.account.aggregate.as_ref().filter(|_| is_over)?;
    let life = totals.waiting.sum.0.saturating_add(totals.running.sum.0);
    Some(Nanos(life))
}

/// Adds estimated lifetimes of coroutines of which only common totals are known: the mean number of waits
/// times the 99th percentile of a wait, plus the same for runs. For one coroutine, the longest wait and
/// the longest run replace the percentiles.
pub(super) fn add_estimates(ended_sums: &EndedSums, lives: &mut Histogram) {
    let EndedSums {
        coroutines,
        bins,
        ref waiting,
        ref running,
        ..
    } = *ended_sums;
    let Some(others) = coroutines.checked_sub(1) else {
        return;
    };
    let parts = [waiting, running];
    let longest = parts.map(|part| times(part.max, part.count.div_ceil(coroutines)));
    let usual = parts.map(|part| {
        let p99 = part.bound(99, bins).unwrap_or_default();
        times(p99, part.count.div_ceil(coroutines))
    });
    lives.add_many(sum(usual), others);
    lives.add(sum(longest));
}

fn times(duration: Nanos, count: u64) -> Nanos {
    Nanos(duration.0.saturating_mul(count))
}

fn sum([waits, runs]: [Nanos; 2]) -> Nanos {
    Nanos(waits.0.saturating_add(runs.0))
}
