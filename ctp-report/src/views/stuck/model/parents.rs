//! The coroutines that spawned the members of a group.

use std::collections::BTreeMap;

use ctp_trace::model::{Coroutine, NameId, Parent};
use ctp_trace::record::CoroutineId;
use serde::Serialize;

use crate::load::Model;
use crate::names::{Names, label};
use crate::text::{self, units};

/// How many names of spawners a page shows.
const MAX_SHOWN: usize = 4;

/// Coroutines of the same name that spawned members of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spawner {
    /// Their name. Numbered names are joined: `conn-*`.
    pub name: String,
    /// Their ids.
    pub ids: Vec<u32>,
    /// How many spawners have ended since.
    pub ended: usize,
    /// How many members of the group they spawned.
    pub children: usize,
}

/// By parent: the name, and the number of children.
type Parents = BTreeMap<CoroutineId, (NameId, usize)>;

/// Returns the coroutines that spawned `children`, the most children first. Leaves out children
/// with an unknown parent or none.
pub fn of<'c>(
    model: &Model,
    names: &Names,
    children: impl Iterator<Item = &'c Coroutine>,
) -> Vec<Spawner> {
    let mut by_name: BTreeMap<String, Parents> = BTreeMap::new();
    for Parent { id, name } in children.filter_map(|coroutine| coroutine.parent) {
        let key = label::numbered(model.trace_model.name(name));
        let parents = by_name.entry(key).or_default();
        parents.entry(id).or_insert((name, 0)).1 += 1;
    }
    let all = by_name
        .iter()
        .map(|(name, parents)| spawner(model, names, name, parents));
    let mut all: Vec<Spawner> = all.collect();
    all.sort_by_key(|spawner| std::cmp::Reverse(spawner.children));
    all
}

fn spawner(model: &Model, names: &Names, common_name: &str, parents: &Parents) -> Spawner {
    let mut given = parents.values().map(|(name, _)| *name);
    let first = given.next().unwrap_or_default();
    let name = if given.all(|name| name == first) {
        model.trace_model.name(first)
    } else {
        common_name
    };
    let known = parents.keys().filter_map(|id| model.trace_model.get(*id));
    let alive = known.filter(|parent| parent.is_alive()).count();
    Spawner {
        name: names
            .called(name)
            .unwrap_or_else(|| label::NO_NAME.to_owned()),
        ids: parents.keys().map(|id| id.0).collect(),
        ended: parents.len() - alive,
        children: parents.values().map(|(_, children)| children).sum(),
    }
}

/// Describes the spawners of a group with `members` members, a line each.
pub fn describe(spawners: &[Spawner], members: usize) -> Vec<String> {
    let lines = spawners
        .iter()
        .take(MAX_SHOWN)
        .map(|spawner| spawner.describe(members));
    let more = spawners.len().saturating_sub(MAX_SHOWN);
    let more = (more > 0).then(|| format!("and {} more", units::counted(more as u64, "name")));
    lines.chain(more).collect()
}

impl Spawner {
    fn describe(&self, members: usize) -> String {
        let name = &self.name;
        let ids = match self.ids.as_slice() {
            [id] => format!("id {id}"),
            ids => format!("ids {}", text::few(ids)),
        };
        let ended = match (self.ids.len(), self.ended) {
            (_, 0) => String::new(),
            (1, _) => ", which has ended".to_owned(),
            (all, ended) if all == ended => ", which have ended".to_owned(),
            (_, 1) => ", one of which has ended".to_owned(),
            (_, ended) => format!(", of which {ended} have ended"),
        };
        let share = match self.children {
            all if all == members => String::new(),
            children => format!(": {} of them", units::grouped(children as u64)),
        };
        format!("{name} ({ids}){ended}{share}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawner(ids: std::ops::Range<u32>, ended: usize, children: usize) -> Spawner {
        Spawner {
            name: "conn-*".to_owned(),
            ids: ids.collect(),
            ended,
            children,
        }
    }

    // CT-25
    #[test]
    fn spawners_are_described_with_count_and_state() {
        let all = [
            (spawner(7..8, 0, 200), "conn-* (id 7)"),
            (
                spawner(7..8, 1, 1),
                "conn-* (id 7), which has ended: 1 of them",
            ),
            (spawner(1..3, 2, 200), "conn-* (ids 1, 2), which have ended"),
            (
                spawner(1..3, 1, 200),
                "conn-* (ids 1, 2), one of which has ended",
            ),
            (
                spawner(1..9, 3, 1200),
                "conn-* (ids 1, 2, 3 .. 8), of which 3 have ended: 1 200 of them",
            ),
        ];
        for (spawner, words) in all {
            assert_eq!(describe(&[spawner], 200), [words]);
        }
    }

    // CT-25
    #[test]
    fn only_a_few_spawner_names_are_shown() {
        let many = vec![spawner(1..2, 0, 1); 300];
        let lines = describe(&many, 300);
        assert_eq!((lines.len(), lines[4].as_str()), (5, "and 296 names more"));
    }
}
