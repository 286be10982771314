//! Finds closed groups: coroutines that only coroutines of the same group can wake.
//!
//! An example is a pool of permits from which each worker takes a second permit while it keeps the first.
//! In the end all workers wait for their second permit. The program does not say which coroutines hold
//! permits. But only workers have ever released permits, and all workers wait for permits.
//!
//! The coroutines that may end a wait are those of the families that have ended waits at its site. A
//! family is closed if only closed families can end the waits of all of its coroutines. A coroutine may
//! have passed a permit to its children, so a family with an open descendant is open too. If more
//! coroutines of a family may come, the families that spawn them count as well: connections that have
//! ended, each of which released a permit, can only come from the accept loop that waits for one.

use std::collections::BTreeSet;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::living::Living;
use crate::hash::Map;
use crate::record::{CoroutineId, LeafKind};
use crate::verdict::{State, THRESHOLD};

/// The coroutines that wait for each other and for nothing else.
pub(super) type ClosedGroups = BTreeSet<CoroutineId>;

/// Families of which a coroutine waits for a permit at a place where others have ended that had waited there. Such
/// coroutines take a permit before they give one back.
type Borrowers = BTreeSet<FamilyId>;

/// Which families may continue once others do.
#[derive(Debug, Default)]
struct Dependencies {
    dependents: Map<FamilyId, BTreeSet<FamilyId>>,
    open: BTreeSet<FamilyId>,
}

impl Dependencies {
    /// Notes that `family` may continue once `other` does.
    fn add(&mut self, family: FamilyId, other: FamilyId) {
        self.dependents.entry(other).or_default().insert(family);
    }

    /// The families of which some coroutine may continue.
    fn into_open(mut self) -> BTreeSet<FamilyId> {
        let mut new: Vec<FamilyId> = self.open.iter().copied().collect();
        while let Some(family) = new.pop() {
            for dependent in self.dependents.remove(&family).into_iter().flatten() {
                if self.open.insert(dependent) {
                    new.push(dependent);
                }
            }
        }
        self.open
    }
}

impl TraceModel {
    /// The coroutines that wait for each other. Empty if no coroutine waits for permits: other waits are
    /// judged without knowing the group.
    pub(super) fn closed_groups(&self, living: &Living) -> ClosedGroups {
        let all = self.coroutines.all().iter();
        let alive: Vec<&Coroutine> = all
            .filter(|coroutine| coroutine.is_alive() && !self.is_new(coroutine))
            .collect();
        let mut waits = alive.iter();
        if !waits.any(|coroutine| self.waits_for_permit(coroutine)) {
            return ClosedGroups::default();
        }
        let borrowers = self.borrowers(&alive, living);
        let open = self.dependencies(&alive, living, &borrowers).into_open();
        let closed = alive.into_iter().filter(|coroutine| {
            let waking = self.waking_families(coroutine, living, &borrowers);
            waking.is_some_and(|waking| waking.is_disjoint(&open))
                && !open.contains(&coroutine.family.unwrap_or_default())
        });
        closed.map(|coroutine| coroutine.id).collect()
    }

    /// Whether the coroutine was born so late that it can hold nothing for which another has waited for long.
    /// A parent may have passed something to it that the parent held before.
    fn is_new(&self, coroutine: &Coroutine) -> bool {
        let age = coroutine.born.until(self.end_of(coroutine.process));
        age < THRESHOLD && coroutine.parent.is_none()
    }

    fn waits_for_permit(&self, coroutine: &Coroutine) -> bool {
        self.leaf_kind(coroutine) == LeafKind::Semaphore
    }

    fn borrowers(&self, alive: &[&Coroutine], living: &Living) -> Borrowers {
        let waiting = alive.iter().filter(|coroutine| {
            let wait = coroutine.suspend();
            let number = wait.and_then(|wait| self.places.find_number(wait.site, wait.wait));
            self.waits_for_permit(coroutine)
                && number.is_some_and(|number| {
                    living.have_visitors_ended(number, self.places.get(number))
                })
        });
        waiting.filter_map(|coroutine| coroutine.family).collect()
    }

    fn dependencies(
        &self,
        alive: &[&Coroutine],
        living: &Living,
        borrowers: &Borrowers,
    ) -> Dependencies {
        let mut dependencies = Dependencies::default();
        for coroutine in alive {
            let family = coroutine.family.unwrap_or_default();
            match self.waking_families(coroutine, living, borrowers) {
                Some(waking) => waking
                    .iter()
                    .for_each(|other| dependencies.add(family, *other)),
                None => _ = dependencies.open.insert(family),
            }
        }
        for family in living.families() {
            for (child, parent) in self.families.ancestry(family) {
                dependencies.add(parent, child);
            }
        }
        dependencies
    }

    /// The families of which some coroutine may end the wait, now or after it is spawned. `None` if these
    /// are not all known, or if the coroutine may continue otherwise.
    fn waking_families(
        &self,
        coroutine: &Coroutine,
        living: &Living,
        borrowers: &Borrowers,
    ) -> Option<BTreeSet<FamilyId>> {
        // A coroutine that has just begun to wait makes progress.
        let wait = coroutine.suspend().filter(|wait| {
            let age = wait.at.until(self.end_of(coroutine.process));
            THRESHOLD <= age
        })?;
        let kind = self.leaf_kind(coroutine);
        let number = self.places.find_number(wait.site, wait.wait)?;
        let stats = self.places.get(number);
        let waking = stats.all_waking_families().filter(|all| !all.is_empty())?;
        let may_wait = waits_for_others(coroutine, kind) && self.is_only_wait(coroutine);
        let is_known = self.has_all_wakes(coroutine) && !stats.approximate;
        if !may_wait || !is_known {
            return None;
        }
        // New coroutines are not a task that is awaited already.
        let is_task = kind == LeafKind::Task;
        // New coroutines cannot release what they have not taken.
        let may_be_new = !is_task && !living.have_visitors_ended(number, stats);
        let mut all = BTreeSet::new();
        for family in waking {
            all.insert(*family);
            let is_here = living.has(*family);
            if is_here && (!may_be_new || borrowers.contains(family)) {
                continue;
            }
            if is_task {
                return None;
            }
            all.extend(self.spawning_families(*family, living)?);
        }
        Some(all)
    }

    /// The families that may spawn more coroutines of this family: its ancestors, up to a family of which
    /// no coroutine has ended. `None` if there is no such family.
    fn spawning_families(&self, family: FamilyId, living: &Living) -> Option<Vec<FamilyId>> {
        let mut spawning = Vec::new();
        let mut youngest = family;
        while !living.has(youngest) || !living.is_complete(youngest, &self.families) {
            youngest = self.families.get(youngest)?.parent?;
            spawning.push(youngest);
        }
        Some(spawning)
    }

    /// Whether the coroutine waits for a single thing.
    pub(super) fn is_only_wait(&self, coroutine: &Coroutine) -> bool {
        let is_marked = coroutine
            .suspend()
            .is_some_and(|wait| wait.marks.has_others);
        let has_branches = self.branches(coroutine.id).next().is_some();
        !is_marked && !has_branches && coroutine.wakes.wakers.is_none_or(|wakers| wakers <= 1)
    }

    /// Whether the trace has all wakes of the coroutine.
    fn has_all_wakes(&self, coroutine: &Coroutine) -> bool {
        !coroutine.lived_before
            && coroutine.caveat().is_none()
            && !self.has_totals_only(coroutine)
            && !self.missing.is_any(coroutine.process)
    }
}

/// Whether the coroutine waits for what other coroutines give, and was not woken.
fn waits_for_others(coroutine: &Coroutine, kind: LeafKind) -> bool {
    let is_idle = coroutine.suspend().is_some_and(|wait| wait.marks.idle);
    let is_of_others = matches!(
        kind,
        LeafKind::Lock | LeafKind::Semaphore | LeafKind::Room | LeafKind::Reply | LeafKind::Task
    );
    coroutine.state().0 == State::Suspended
        && coroutine.wakes_since_run() == Some(0)
        && is_of_others
        && !is_idle
}
