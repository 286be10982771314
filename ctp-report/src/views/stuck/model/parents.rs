//! Who spawned coroutines that stand together, as far as that is known.

use std::collections::BTreeMap;

use ctp_trace::record::CoroutineId;
use ctp_trace::trace_model::{Coroutine, NameId, Parent};
use serde::Serialize;

use crate::load::Model;
use crate::names::{Names, label};
use crate::text::{self, units};

/// So many are told of by name.
const MOST: usize = 4;

/// Coroutines of one name, which spawned others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spawner {
    /// Their name: `conn-*` of several that are numbered.
    pub name: String,
    /// Their ids.
    pub ids: Vec<u32>,
    /// So many of them have ended since.
    pub ended: usize,
    /// So many of the coroutines were spawned by them.
    pub children: usize,
}

/// A parent, and how many of the coroutines are its children.
type Counted = BTreeMap<CoroutineId, (NameId, usize)>;

/// Those that spawned these, with the most children first. Of those that were not spawned by a
/// coroutine, or of which it is not known, nothing is said.
pub fn of<'c>(
    model: &Model,
    names: &Names,
    children: impl Iterator<Item = &'c Coroutine>,
) -> Vec<Spawner> {
    let mut by_name: BTreeMap<String, Counted> = BTreeMap::new();
    for Parent { id, name } in children.filter_map(|coroutine| coroutine.parent) {
        let key = label::numbered(model.trace_model.name(name));
        let them = by_name.entry(key).or_default();
        them.entry(id).or_insert((name, 0)).1 += 1;
    }
    let all = by_name
        .iter()
        .map(|(name, them)| spawner(model, names, name, them));
    let mut all: Vec<Spawner> = all.collect();
    all.sort_by_key(|spawner| std::cmp::Reverse(spawner.children));
    all
}

fn spawner(model: &Model, names: &Names, all_of: &str, them: &Counted) -> Spawner {
    let mut given = them.values().map(|(name, _)| *name);
    let first = given.next().unwrap_or_default();
    let name = match given.all(|name| name == first) {
        true => model.trace_model.name(first),
        false => all_of,
    };
    let is_alive = |id: &&CoroutineId| model.trace_model.get(**id).is_some_and(Coroutine::is_alive);
    Spawner {
        name: names
            .called(name)
            .unwrap_or_else(|| label::NO_NAME.to_owned()),
        ids: them.keys().map(|id| id.0).collect(),
        ended: them.len() - them.keys().filter(is_alive).count(),
        children: them.values().map(|(_, children)| children).sum(),
    }
}

/// In words, a line each, of so many coroutines.
pub fn describe(spawners: &[Spawner], of: usize) -> Vec<String> {
    let lines = spawners
        .iter()
        .take(MOST)
        .map(|spawner| spawner.describe(of));
    let more = spawners.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!("and {} more", units::counted(more as u64, "name")));
    lines.chain(more).collect()
}

impl Spawner {
    fn describe(&self, of: usize) -> String {
        let name = text::cut_middle(&self.name, 40);
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
            all if all == of => String::new(),
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
    fn who_spawned_how_many_and_whether_they_have_ended() {
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
    fn of_very_many_names_a_few_are_told() {
        let many = vec![spawner(1..2, 0, 1); 300];
        let lines = describe(&many, 300);
        assert_eq!((lines.len(), lines[4].as_str()), (5, "and 296 names more"));
    }
}
