//! The coroutines of a group, and what they wait for.

use std::collections::BTreeSet;

use ctp_trace::record::SiteId;
use serde::Serialize;

use super::{Context, oldest};
use crate::evidence::Member;
use crate::evidence::leaf_wait::LeafWait;
use crate::evidence::resource::{self, WaitsFor};
use crate::names::Names;
use crate::views::stuck::model::parents::{self, Spawner};

/// The coroutines of a group.
#[derive(Clone, Debug, Serialize)]
pub struct Members {
    /// How many coroutines the group has.
    pub count: usize,
    /// Their ids.
    pub ids: Vec<u32>,
    /// The distinct names that the program gave. Empty if the group's title already has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Where the oldest member was spawned.
    pub spawned: Option<Spawned>,
    /// The coroutines that spawned the members, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spawned_by: Vec<Spawner>,
    /// The longest time that a member has been in this state.
    pub oldest_ns: u64,
    /// The shortest time that a member has been in this state.
    pub youngest_ns: u64,
    /// The resources that the members wait for.
    pub waits_for: Vec<WaitsFor>,
    /// What the members wait for, if they did not announce it and the kind of the leaf future is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<LeafWait>,
    /// Whether the oldest member may also wait for a resource that was not recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_of_several: bool,
    /// The threads on which the members were last seen.
    pub threads: Vec<u64>,
    /// How many events of the members were lost.
    pub lost: u64,
}

/// Where coroutines were spawned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spawned {
    /// The spawning function, if known.
    pub function: Option<String>,
    /// The file and line of the spawn, or the best known substitute.
    pub at: String,
}

impl Members {
    /// Creates the members of a group that has the title `called`.
    pub(super) fn of(context: &Context, members: &[Member], called: &str) -> Self {
        let Context { model, names, .. } = *context;
        let all = || members.iter().map(|(coroutine, _)| *coroutine);
        let ages = || members.iter().map(|(_, judgement)| judgement.age);
        let (oldest, _) = oldest(members);
        let threads: BTreeSet<u64> = all()
            .filter_map(|coroutine| Some(coroutine.last?.tid))
            .collect();
        Members {
            count: members.len(),
            ids: all().map(|coroutine| coroutine.id.0).collect(),
            names: names.given_to_all(model, all(), called),
            spawned: spawned(names, oldest.spawn_site),
            spawned_by: parents::of(model, names, all()),
            oldest_ns: ages().max().unwrap_or_default().0,
            youngest_ns: ages().min().unwrap_or_default().0,
            waits_for: resource::waits_for(
                model,
                all().filter_map(|coroutine| coroutine.suspend()),
            ),
            leaf: LeafWait::of(&model.trace_model, &context.children, oldest, all()),
            one_of_several: oldest.suspend().is_some_and(|event| event.marks.has_others),
            threads: threads.into_iter().collect(),
            lost: all().fold(0, |sum: u64, coroutine| {
                sum.saturating_add(coroutine.account.lost())
            }),
        }
    }
}

fn spawned(names: &Names, site: SiteId) -> Option<Spawned> {
    let label = names.of(site)?;
    Some(Spawned {
        function: label.function.clone(),
        at: label.at()?,
    })
}
