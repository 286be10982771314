//! Who spawned coroutines that stand together, as far as that is known.

use std::collections::BTreeMap;

use ctp_trace::census::{Coroutine, Parent};
use serde::Serialize;

use crate::model::Model;
use crate::names;
use crate::text;

/// Coroutines of one name, which spawned others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spawner {
    /// Their name: `conn-*` of several that are numbered.
    pub name: String,
    /// Their ids.
    pub ids: Vec<u32>,
    /// So many of them have ended since.
    pub ended: usize,
}

/// Those that spawned these; nobody who did so outside of any coroutine.
pub fn of<'c>(model: &Model, children: impl Iterator<Item = &'c Coroutine>) -> Vec<Spawner> {
    let parents: BTreeMap<u32, Parent> = children
        .filter_map(|one| one.parent)
        .map(|parent| (parent.id.0, parent))
        .collect();
    let mut by_name: BTreeMap<String, Vec<Parent>> = BTreeMap::new();
    for parent in parents.into_values() {
        let key = names::numbered(model.census.name(parent.name));
        by_name.entry(key).or_default().push(parent);
    }
    by_name.values().map(|them| spawner(model, them)).collect()
}

fn spawner(model: &Model, them: &[Parent]) -> Spawner {
    let first = model.census.name(them[0].name);
    let name = match them.iter().all(|one| one.name == them[0].name) {
        true => first.to_owned(),
        false => names::numbered(first),
    };
    let is_alive = |one: &&Parent| model.census.get(one.id).is_some_and(Coroutine::is_alive);
    Spawner {
        name: names::tidy(&name).unwrap_or_else(|| names::NO_NAME.to_owned()),
        ids: them.iter().map(|one| one.id.0).collect(),
        ended: them.len() - them.iter().filter(is_alive).count(),
    }
}

impl Spawner {
    /// The same in words.
    pub fn describe(&self) -> String {
        let name = text::cut_middle(&self.name, 40);
        let ended = match (self.ids.len(), self.ended) {
            (_, 0) => String::new(),
            (1, _) => ", which has ended".to_owned(),
            (all, ended) if all == ended => ", which have ended".to_owned(),
            (_, 1) => ", one of which has ended".to_owned(),
            (_, ended) => format!(", of which {ended} have ended"),
        };
        match self.ids.as_slice() {
            [id] => format!("{name} (id {id}){ended}"),
            ids => format!("{name} (ids {}){ended}", text::few(ids)),
        }
    }
}
