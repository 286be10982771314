//! Who spawned whom: a tree of kinds of coroutines. It has one family for all that are alike, are
//! spawned at one place, and descend from one family; what a trace tells of them adds up there, so
//! that the tree stays small however many there are.
//!
//! Those that spawn their like belong to one family, whose children are of it too: a tree of
//! recursions would be as deep as they go.

use super::Census;
use super::coroutine::Coroutine;
use super::names::NameId;
use crate::hash::Map;
use crate::record::{CoroutineId, Event, EventKind, SiteId};

/// Families at most; those beyond have one of their own.
const MOST: usize = 1 << 16;

/// So many generations are told apart: below these, nobody is said to have a parent.
const GENERATIONS: u8 = 16;

/// Number of a family; 0 is that of those for whom there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyId(u32);

/// Coroutines that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// That of those who spawned them; `None` if that was no coroutine, or is not known.
    pub parent: Option<FamilyId>,
    /// The name of the first of them.
    pub name: NameId,
    /// Another one has another name, that differs in its number.
    pub names_differ: bool,
    /// Where they were spawned.
    pub spawn_site: SiteId,
    /// How many generations there are before them.
    pub generation: u8,
    /// How many there were, those that are over included.
    pub coroutines: u64,
    /// Some of them descend from others of them.
    pub spawns_its_like: bool,
}

/// The coroutine that ran where another one was born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Which.
    pub id: CoroutineId,
    /// Its name.
    pub name: NameId,
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
    stems: Vec<NameId>,
    index: Map<Key, FamilyId>,
}

impl Default for Families {
    fn default() -> Self {
        Families {
            all: vec![Family::default()],
            stems: vec![NameId::default()],
            index: Map::default(),
        }
    }
}

impl Families {
    /// One more coroutine of this name and place, spawned by one of that family.
    fn join(&mut self, parent: Option<FamilyId>, one: &Coroutine, stem: NameId) -> FamilyId {
        let generation = |id: &FamilyId| self.all[id.0 as usize].generation;
        let parent = parent.filter(|id| generation(id) + 1 < GENERATIONS);
        let key = Key {
            parent,
            spawn_site: one.spawn_site,
            stem,
        };
        let id = match self.index.get(&key) {
            Some(&id) => id,
            None => self.add(key),
        };
        let family = &mut self.all[id.0 as usize];
        if family.coroutines == 0 {
            family.name = one.name;
        }
        family.names_differ |= family.name != one.name;
        family.coroutines += 1;
        family.spawns_its_like |= id != FamilyId::default() && family.parent != parent;
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
            (family.spawn_site, self.stems[id.0 as usize]) == (key.spawn_site, key.stem)
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
            ..Family::default()
        });
        self.stems.push(key.stem);
        // There are no more than `MOST`.
        FamilyId((self.all.len() - 1) as u32)
    }
}

impl Census {
    /// Who spawned whom: each family after the one from which it descends.
    pub fn families(&self) -> impl Iterator<Item = (FamilyId, &Family)> {
        let all = self.families.all.iter().enumerate();
        let all = all.map(|(index, family)| (FamilyId(index as u32), family));
        all.filter(|(_, family)| family.coroutines > 0)
    }

    /// The coroutine that runs, at the moment that was read last, on the thread of this event, as far
    /// as nothing speaks against that: no record of its process is missing since it began to.
    pub fn runs_there(&self, event: &Event) -> Option<Parent> {
        let process = self.get(event.coroutine)?.process;
        let innermost = self.runners.get(&process)?.innermost(event.tid)?;
        let one = self.get(innermost)?;
        let since = one.runs_since()?;
        let is_there = one.last.is_some_and(|last| last.tid == event.tid);
        let is_known = self.is_told(process, event.tid, since)
            && !self.losses.any_since(process, since)
            && !self.filtering.was_in_force_since(since);
        (is_there && is_known).then_some(Parent {
            id: one.id,
            name: one.name,
        })
    }

    /// The first that is told of it: if that is its birth, whoever runs there has spawned it.
    pub(super) fn meet(&mut self, id: CoroutineId, event: Option<&Event>) {
        if self.coroutines.of(id).family.is_some() {
            return;
        }
        let birth = event.filter(|event| event.kind == EventKind::Birth);
        let parent = birth.and_then(|birth| self.runs_there(birth));
        let family = parent.and_then(|parent| self.get(parent.id)?.family);
        let one = self.coroutines.of(id);
        let stem = self.names.stem(one.name);
        one.parent = parent;
        one.family = Some(self.families.join(family, one, stem));
    }
}
