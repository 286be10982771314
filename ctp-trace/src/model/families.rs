//! The tree of families: which kinds of coroutines spawned which. A family has all coroutines with the
//! same spawn site, parents of the same family, and names that differ at most in a number. Counts are
//! kept per family, so the tree stays small however many coroutines there are.
//!
//! Coroutines that spawn similar coroutines share a family with their children. Otherwise the tree would
//! be as deep as the recursion.

use super::TraceModel;
use super::named::GroupKey;
use super::names::NameId;
use crate::hash::Map;
use crate::record::{CoroutineId, Event, EventKind, Nanos, ProcessId, SiteId};

/// Maximum number of families; all further coroutines share a single family.
const MAX_FAMILIES: usize = 1 << 16;

/// Maximum depth of the tree: coroutines below are treated as if they had no parent.
const GENERATIONS: u8 = 16;

/// Number of a family. The default is the family of all coroutines for which there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyId(pub(super) u32);

/// A group of similar coroutines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// The family of the parents; `None` if they were no coroutines, or are unknown.
    pub parent: Option<FamilyId>,
    /// The name of the first coroutine.
    pub name: NameId,
    /// The name without its number.
    stem: NameId,
    /// The names of the coroutines differ in their number.
    pub names_differ: bool,
    /// Where the coroutines were spawned.
    pub spawn_site: SiteId,
    /// The number of generations above the family.
    pub generation: u8,
    /// The number of coroutines, including those that have ended.
    pub coroutines: u64,
    /// Some coroutines of the family descend from others.
    pub is_recursive: bool,
}

/// The coroutine that was running where another coroutine was born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The coroutine.
    pub id: CoroutineId,
    /// The name of the coroutine.
    pub name: NameId,
}

/// What was running on a thread at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadOccupancy {
    /// This coroutine; for nested runs, the innermost.
    Coroutine(Parent),
    /// No coroutine.
    Empty,
    /// Unknown: the thread's events are not in order, or records of its process are missing.
    NotRecorded,
}

/// What distinguishes the children of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    parent: Option<FamilyId>,
    spawn_site: SiteId,
    /// The name without its number.
    stem: NameId,
}

#[derive(Clone, Debug)]
pub(super) struct Families {
    all: Vec<Family>,
    index: Map<Key, FamilyId>,
    parents_unknown: u64,
}

impl Default for Families {
    fn default() -> Self {
        Families {
            all: vec![Family::default()],
            index: Map::default(),
            parents_unknown: 0,
        }
    }
}

impl Families {
    /// Adds `count` coroutines to the family with this name and place, which is created if it is new.
    fn join(
        &mut self,
        parent: Option<FamilyId>,
        group_key: GroupKey,
        stem: NameId,
        count: u64,
    ) -> FamilyId {
        let parent = parent.filter(|id| self.generation(*id) + 1 < GENERATIONS);
        let key = Key {
            parent,
            spawn_site: group_key.spawn_site,
            stem,
        };
        let id = match self.index.get(&key) {
            Some(&id) => id,
            None => self.add(key),
        };
        let family = &mut self.all[id.0 as usize];
        if family.coroutines == 0 {
            (family.name, family.names_differ) = (group_key.name, false);
        }
        family.names_differ |= family.name != group_key.name;
        family.coroutines = family.coroutines.saturating_add(count);
        family.is_recursive |= id != FamilyId::default() && family.parent != parent;
        id
    }

    fn add(&mut self, key: Key) -> FamilyId {
        let id = self.ancestor(&key).unwrap_or_else(|| self.create(&key));
        if self.index.len() < MAX_FAMILIES {
            self.index.insert(key, id);
        }
        id
    }

    /// The ancestor family with the same name and place.
    fn ancestor(&self, key: &Key) -> Option<FamilyId> {
        std::iter::successors(key.parent, |id| self.all[id.0 as usize].parent).find(|id| {
            let family = &self.all[id.0 as usize];
            (family.spawn_site, family.stem) == (key.spawn_site, key.stem)
        })
    }

    fn create(&mut self, key: &Key) -> FamilyId {
        if self.all.len() == MAX_FAMILIES {
            return FamilyId::default();
        }
        self.all.push(Family {
            generation: key.parent.map_or(0, |id| self.generation(id) + 1),
            parent: key.parent,
            spawn_site: key.spawn_site,
            stem: key.stem,
            ..Family::default()
        });
        // There are at most `MAX_FAMILIES`.
        FamilyId((self.all.len() - 1) as u32)
    }

    pub(super) fn get(&self, id: FamilyId) -> Option<&Family> {
        self.all.get(id.0 as usize)
    }

    /// Pairs of a family and its parent family, from this family up to the root.
    pub(super) fn ancestry(&self, id: FamilyId) -> impl Iterator<Item = (FamilyId, FamilyId)> {
        std::iter::successors(self.with_parent(id), |(_, parent)| {
            self.with_parent(*parent)
        })
    }

    fn generation(&self, id: FamilyId) -> u8 {
        self.all[id.0 as usize].generation
    }

    fn with_parent(&self, id: FamilyId) -> Option<(FamilyId, FamilyId)> {
        Some((id, self.get(id)?.parent?))
    }

    /// Counts coroutines with an unknown parent.
    fn miss_parents(&mut self, coroutines: u64) {
        self.parents_unknown = self.parents_unknown.saturating_add(coroutines);
    }

    /// Removes a coroutine from its family.
    fn leave(&mut self, id: Option<FamilyId>) {
        if let Some(id) = id {
            let family = &mut self.all[id.0 as usize];
            family.coroutines = family.coroutines.saturating_sub(1);
        }
    }
}

impl TraceModel {
    /// The families, each after its parent.
    pub fn families(&self) -> impl Iterator<Item = (FamilyId, &Family)> {
        let all = self.families.all.iter().enumerate();
        let all = all.map(|(index, family)| (FamilyId(index as u32), family));
        // Only the default family is left out if empty: other empty families may have children, because their
        // members were moved elsewhere as uncertain.
        all.skip_while(|(id, family)| *id == FamilyId::default() && family.coroutines == 0)
    }

    /// What is running, at the time of the latest record, on the thread of this event.
    pub fn runs_there(&self, event: &Event) -> ThreadOccupancy {
        let Some(process) = self.get(event.coroutine).map(|coroutine| coroutine.process) else {
            return ThreadOccupancy::NotRecorded;
        };
        let runners = self.runners.get(process);
        let thread = runners.and_then(|runners| runners.thread(event.tid));
        if thread.is_some_and(|thread| event.at < thread.complete_until) {
            return ThreadOccupancy::NotRecorded;
        }
        match self.innermost(process, event.tid) {
            Some((parent, since)) if self.is_fully_recorded(process, event.tid, since) => {
                ThreadOccupancy::Coroutine(parent)
            }
            None if runners.is_some_and(|runners| runners.has_forgotten_runs(event.tid)) => {
                ThreadOccupancy::NotRecorded
            }
            None if self.is_fully_recorded(process, event.tid, Nanos(0)) => ThreadOccupancy::Empty,
            _ => ThreadOccupancy::NotRecorded,
        }
    }

    /// The innermost coroutine that is running on the thread according to the records, and the start of its
    /// run.
    pub(super) fn innermost(&self, process: ProcessId, tid: u64) -> Option<(Parent, Nanos)> {
        let mut inside = self.runners.get(process)?.inside(tid);
        inside.find_map(|id| {
            let coroutine = self.get(id)?;
            let since = coroutine.runs_since()?;
            let (id, name) = (coroutine.id, coroutine.name);
            let is_there = coroutine.last.is_some_and(|last| last.tid == tid);
            is_there.then_some((Parent { id, name }, since))
        })
    }

    /// Whether the trace has all that the thread did since then, in order, and no record of the process
    /// is missing.
    fn is_fully_recorded(&self, process: ProcessId, tid: u64, since: Nanos) -> bool {
        let is_whole = self.window().is_none_or(|window| window.unattributed == 0);
        self.is_recorded(process, tid, since)
            && is_whole
            && !self.missing.losses.any_since(process, since)
            && !self.missing.filtering.was_in_force_since(since)
    }

    /// The number of coroutines with an unknown parent, if any.
    pub fn parents_unknown(&self) -> u64 {
        self.families.parents_unknown
    }

    /// Adds a coroutine, by its first record. If that is its birth, the coroutine that runs on the same
    /// thread is the parent.
    pub(super) fn add_coroutine(&mut self, id: CoroutineId, event: Option<&Event>) {
        let birth = event.filter(|event| event.kind == EventKind::Birth);
        let parent =
            match birth.map_or(ThreadOccupancy::NotRecorded, |birth| self.runs_there(birth)) {
                ThreadOccupancy::Coroutine(parent) => Some(parent),
                ThreadOccupancy::Empty => None,
                ThreadOccupancy::NotRecorded => {
                    self.families.miss_parents(1);
                    None
                }
            };
        let family = parent.and_then(|parent| self.get(parent.id)?.family);
        self.register(id, family);
        let coroutine = self.coroutines.of(id);
        coroutine.parent = parent;
        if let (Some(birth), Some(_)) = (birth, parent) {
            let runners = self.runners.of(coroutine.process);
            runners.born(id, birth.tid);
        }
    }

    fn register(&mut self, id: CoroutineId, parent: Option<FamilyId>) {
        let coroutine = self.coroutines.of(id);
        let group_key = coroutine.group_key();
        let stem = self.names.stem(group_key.name);
        coroutine.family = Some(self.families.join(parent, group_key, stem, 1));
    }

    /// Removes the parents of coroutines that a loss made uncertain. Coroutines that have ended keep
    /// their place in the tree.
    pub(super) fn distrust_births(&mut self, process: ProcessId, tid: u64) {
        let runners = self.runners.of(process);
        for id in runners.lost(tid) {
            let Some(coroutine) = self
                .coroutines
                .known(id)
                .filter(|coroutine| coroutine.parent.is_some())
            else {
                continue;
            };
            coroutine.parent = None;
            self.families.leave(coroutine.family);
            self.families.miss_parents(1);
            self.register(id, None);
        }
    }

    /// Adds coroutines without any other record in the trace.
    pub(super) fn add_ended(&mut self, group_key: GroupKey, coroutines: u64) {
        let stem = self.names.stem(group_key.name);
        self.families.join(None, group_key, stem, coroutines);
        self.families.miss_parents(coroutines);
    }
}
