//! Who spawned whom: the families of coroutines, and how those stand that belong to them.

use std::collections::BTreeMap;

use ctp_trace::record::Nanos;
use ctp_trace::trace_model::{Family, FamilyId};
use serde::Serialize;

use crate::evidence;
use crate::load::Model;
use crate::names::{Names, label};

/// Coroutines that are alike, and those that were spawned by them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Their name: `conn-*` of several that are numbered.
    pub name: String,
    /// Where they were spawned.
    pub spawned_at: Option<String>,
    /// How many of them are not over.
    pub alive: u64,
    /// How many of these are stuck, for certain or likely.
    pub stuck: u64,
    /// How many are over.
    pub ended: u64,
    /// Ids of those that are not over.
    pub ids: Vec<u32>,
    /// Some of them descend from others of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_recursive: bool,
    /// How many of them and of their descendants are stuck, alive, over.
    #[serde(skip)]
    weight: [u64; 3],
    /// Who was spawned by them.
    pub children: Vec<Branch>,
}

/// All for whom there was no room in the tree.
const OTHERS: &str = "(others)";

/// Members of a family that are not over.
#[derive(Clone, Debug, Default)]
struct Members {
    ids: Vec<u32>,
    stuck: u64,
}

/// All of them: those of whom no parent is known, and below each its children.
pub fn tree(model: &Model, names: &Names, threshold: Nanos) -> Vec<Branch> {
    let mut members = members(model, threshold);
    let families: Vec<(FamilyId, &Family)> = model.trace_model.families().collect();
    let mut grown: BTreeMap<Option<FamilyId>, Vec<Branch>> = BTreeMap::new();
    // Each family comes after the one from which it descends.
    for (id, family) in families.into_iter().rev() {
        let mut branch = branch(
            model,
            names,
            family,
            members.remove(&id).unwrap_or_default(),
        );
        if id == FamilyId::default() {
            (branch.name, branch.spawned_at) = (OTHERS.to_owned(), None);
        }
        branch.adopt(grown.remove(&Some(id)).unwrap_or_default());
        if branch.weight != [0; 3] {
            grown.entry(family.parent).or_default().push(branch);
        }
    }
    sorted(grown.remove(&None).unwrap_or_default())
}

fn members(model: &Model, threshold: Nanos) -> BTreeMap<FamilyId, Members> {
    let mut members: BTreeMap<FamilyId, Members> = BTreeMap::new();
    for (coroutine, judged) in evidence::members(&model.trace_model, threshold) {
        let Some(family) = coroutine.family else {
            continue;
        };
        let of_it = members.entry(family).or_default();
        of_it.ids.push(coroutine.id.0);
        of_it.stuck += u64::from(judged.verdict.is_stuck());
    }
    members
}

fn branch(model: &Model, names: &Names, family: &Family, members: Members) -> Branch {
    let Members { ids, stuck } = members;
    let name = model.trace_model.name(family.name);
    let name = if family.names_differ {
        label::numbered(name)
    } else {
        name.to_owned()
    };
    let alive = ids.len() as u64;
    Branch {
        name: names
            .called(&name)
            .unwrap_or_else(|| label::NO_NAME.to_owned()),
        spawned_at: names.at(family.spawn_site),
        alive,
        stuck,
        ended: family.coroutines.saturating_sub(alive),
        weight: [0; 3],
        ids,
        is_recursive: family.is_recursive,
        children: Vec::new(),
    }
}

impl Branch {
    fn adopt(&mut self, children: Vec<Branch>) {
        self.weight = [self.stuck, self.alive, self.ended];
        for child in &children {
            let sums = self.weight.iter_mut().zip(child.weight);
            sums.for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
        self.children = sorted(children);
    }
}

/// Those first of which most are stuck, else alive, else were there at all, with their descendants.
fn sorted(mut branches: Vec<Branch>) -> Vec<Branch> {
    let rank = |branch: &Branch| std::cmp::Reverse(branch.weight);
    branches.sort_by(|a, b| (rank(a), &a.name).cmp(&(rank(b), &b.name)));
    branches
}
