//! Who spawned whom: a tree of kinds of coroutines. It has one family for all that are alike, are
//! spawned at one place, and descend from one family; what a trace tells of them adds up there, so
//! that the tree stays small however many there are.
//!
//! Those that spawn their like belong to one family, whose children are of it too: a tree of
//! recursions would be as deep as they go.

use super::TraceModel;
use super::named::GroupKey;
use super::names::NameId;
use crate::hash::Map;
use crate::record::{CoroutineId, Event, EventKind, Nanos, ProcessId, SiteId};

/// Families at most; those beyond have one of their own.
const MOST: usize = 1 << 16;

/// So many generations are told apart: below these, nobody is said to have a parent.
const GENERATIONS: u8 = 16;

/// Number of a family; the default is that of all for whom there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyId(u32);

/// Coroutines that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// That of those who spawned them; `None` if that was no coroutine, or is not known.
    pub parent: Option<FamilyId>,
    /// The name of the first of them.
    pub name: NameId,
    /// What their names have in common.
    stem: NameId,
    /// Another one has another name, that differs in its number.
    pub names_differ: bool,
    /// Where they were spawned.
    pub spawn_site: SiteId,
    /// How many generations there are before them.
    pub generation: u8,
    /// How many there were, those that are over included.
    pub coroutines: u64,
    /// Some of them descend from others of them.
    pub is_recursive: bool,
}

/// The coroutine that ran where another one was born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Which coroutine it is.
    pub id: CoroutineId,
    /// Its name.
    pub name: NameId,
}

/// Who ran on a thread at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadOccupancy {
    /// This one; of those that ran inside of each other, the innermost.
    Coroutine(Parent),
    /// No coroutine.
    Empty,
    /// Something speaks against saying so: what the thread did is not told in its order, or records of
    /// its process are missing.
    NotRecorded,
}

/// What tells two children of one family apart.
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
    /// So many more coroutines of this name and place, spawned by one of that family.
    fn join(
        &mut self,
        parent: Option<FamilyId>,
        group_key: GroupKey,
        stem: NameId,
        count: u64,
    ) -> FamilyId {
        let generation = |id: &FamilyId| self.all[id.0 as usize].generation;
        let parent = parent.filter(|id| generation(id) + 1 < GENERATIONS);
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
        let id = self.ancestor(&key).unwrap_or_else(|| self.found(&key));
        if self.index.len() < MOST {
            self.index.insert(key, id);
        }
        id
    }

    /// The one of that name and place from which those would descend.
    fn ancestor(&self, key: &Key) -> Option<FamilyId> {
        let before = |id: &FamilyId| self.all[id.0 as usize].parent;
        let is_like = |id: &FamilyId| {
            let family = &self.all[id.0 as usize];
            (family.spawn_site, family.stem) == (key.spawn_site, key.stem)
        };
        std::iter::successors(key.parent, before).find(is_like)
    }

    fn found(&mut self, key: &Key) -> FamilyId {
        if self.all.len() == MOST {
            return FamilyId::default();
        }
        let generation = |id: FamilyId| self.all[id.0 as usize].generation + 1;
        self.all.push(Family {
            generation: key.parent.map_or(0, generation),
            parent: key.parent,
            spawn_site: key.spawn_site,
            stem: key.stem,
            ..Family::default()
        });
        // There are no more than `MOST`.
        FamilyId((self.all.len() - 1) as u32)
    }

    /// Of so many more it is not known who spawned them.
    fn miss_parents(&mut self, coroutines: u64) {
        self.parents_unknown = self.parents_unknown.saturating_add(coroutines);
    }

    fn leave(&mut self, id: Option<FamilyId>) {
        if let Some(id) = id {
            let family = &mut self.all[id.0 as usize];
            family.coroutines = family.coroutines.saturating_sub(1);
        }
    }
}

impl TraceModel {
    /// Who spawned whom: each family after the one from which it descends.
    pub fn families(&self) -> impl Iterator<Item = (FamilyId, &Family)> {
        let all = self.families.all.iter().enumerate();
        let all = all.map(|(index, family)| (FamilyId(index as u32), family));
        // One whose members were all put in doubt may have children.
        all.skip_while(|(id, family)| *id == FamilyId::default() && family.coroutines == 0)
    }

    /// Who runs, at the moment that was read last, on the thread of this event.
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
            None if self.is_fully_recorded(process, event.tid, Nanos(0)) => ThreadOccupancy::Empty,
            _ => ThreadOccupancy::NotRecorded,
        }
    }

    /// Who runs there as far as is told, and since when.
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

    /// Whether all that a thread did since then is told in its order, and no record is missing of its
    /// process.
    fn is_fully_recorded(&self, process: ProcessId, tid: u64, since: Nanos) -> bool {
        let is_whole = self.window().is_none_or(|window| window.unattributed == 0);
        self.is_recorded(process, tid, since)
            && is_whole
            && !self.missing.losses.any_since(process, since)
            && !self.missing.filtering.was_in_force_since(since)
    }

    /// Coroutines of which it is not known who spawned them, or whether anybody did.
    pub fn parents_unknown(&self) -> u64 {
        self.families.parents_unknown
    }

    /// The first that is told of it: if that is its birth, whoever runs there has spawned it.
    pub(super) fn meet(&mut self, id: CoroutineId, event: Option<&Event>) {
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

    /// Those that a loss puts in doubt are not said to have a parent; those that are over stay where
    /// they stand in the tree.
    pub(super) fn distrust_births(&mut self, process: ProcessId, tid: u64) {
        let runners = self.runners.of(process);
        for id in runners.lost(tid) {
            let Some(coroutine) = self
                .coroutines
                .known(id)
                .filter(|other_coroutine| other_coroutine.parent.is_some())
            else {
                continue;
            };
            coroutine.parent = None;
            self.families.leave(coroutine.family);
            self.families.miss_parents(1);
            self.register(id, None);
        }
    }

    /// So many of which nothing else is in the trace.
    pub(super) fn meet_ended(&mut self, group_key: GroupKey, coroutines: u64) {
        let stem = self.names.stem(group_key.name);
        self.families.join(None, group_key, stem, coroutines);
        self.families.miss_parents(coroutines);
    }
}
