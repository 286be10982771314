//! The tree of coroutine families, with the numbers of live, stuck and ended members.

use std::collections::BTreeMap;

use ctp_trace::model::{Family, FamilyId};
use ctp_trace::record::Nanos;
use serde::Serialize;

use crate::evidence::{self, selection::Selection};
use crate::load::Model;
use crate::names::{Names, label};

/// A family: coroutines with the same name and spawn site, and the families that they spawned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FamilyBranch {
    /// The name. Numbered names are joined: `conn-*`.
    pub name: String,
    /// The spawn site.
    pub spawned_at: Option<String>,
    /// How many members are alive.
    pub alive: u64,
    /// How many members are stuck, certainly or likely.
    pub stuck: u64,
    /// How many members have ended.
    pub ended: u64,
    /// Ids of the live members.
    pub ids: Vec<u32>,
    /// Whether members descend from other members.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_recursive: bool,
    /// How many members and descendants are stuck, alive, ended.
    #[serde(skip)]
    weight: [u64; 3],
    /// The families that the members spawned.
    pub children: Vec<FamilyBranch>,
}

/// The name of the family that holds all coroutines beyond the limit of the model.
const OTHERS: &str = "(others)";

/// The live members of a family.
#[derive(Clone, Debug, Default)]
struct Members {
    ids: Vec<u32>,
    stuck: u64,
}

/// Returns the families without a known parent, each with its descendants. Of a selection, only the families
/// with selected members that are alive, and their ancestors, are returned.
pub fn tree(
    model: &Model,
    names: &Names,
    threshold: Nanos,
    selection: &Selection,
) -> Vec<FamilyBranch> {
    let mut members = members(model, threshold, selection);
    let families: Vec<(FamilyId, &Family)> = model.trace_model.families().collect();
    let mut grown: BTreeMap<Option<FamilyId>, Vec<FamilyBranch>> = BTreeMap::new();
    // A family comes after its parent, so going backwards completes children first.
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
        if !selection.is_all() {
            branch.ended = 0;
        }
        branch.adopt(grown.remove(&Some(id)).unwrap_or_default());
        if branch.weight != [0; 3] {
            grown.entry(family.parent).or_default().push(branch);
        }
    }
    sorted(grown.remove(&None).unwrap_or_default())
}

fn members(model: &Model, threshold: Nanos, selection: &Selection) -> BTreeMap<FamilyId, Members> {
    let mut members: BTreeMap<FamilyId, Members> = BTreeMap::new();
    let all = evidence::members(&model.trace_model, threshold);
    for (coroutine, judged) in all.filter(|(coroutine, _)| selection.has(coroutine.id)) {
        let Some(family) = coroutine.family else {
            continue;
        };
        let members = members.entry(family).or_default();
        members.ids.push(coroutine.id.0);
        members.stuck += u64::from(judged.verdict.is_stuck());
    }
    members
}

fn branch(model: &Model, names: &Names, family: &Family, members: Members) -> FamilyBranch {
    let Members { ids, stuck } = members;
    let name = model.trace_model.name(family.name);
    let name = if family.names_differ {
        label::numbered(name)
    } else {
        name.to_owned()
    };
    let alive = ids.len() as u64;
    FamilyBranch {
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

impl FamilyBranch {
    fn adopt(&mut self, children: Vec<FamilyBranch>) {
        self.weight = [self.stuck, self.alive, self.ended];
        for child in &children {
            let sums = self.weight.iter_mut().zip(child.weight);
            sums.for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
        self.children = sorted(children);
    }
}

/// Sorts by the number of stuck, then live, then ended coroutines, with descendants.
fn sorted(mut branches: Vec<FamilyBranch>) -> Vec<FamilyBranch> {
    branches.sort_by(|a, b| (b.weight, &a.name).cmp(&(a.weight, &b.name)));
    branches
}
