//! [`GroupPlace`]: where the coroutines of a group are, and which functions await each other there.

use std::collections::BTreeMap;

use ctp_trace::model::Coroutine;
use ctp_trace::record::{Nanos, SiteId};
use serde::Serialize;

use super::Context;
use crate::evidence::Member;
use crate::names::branches::WaitBranch;
use crate::names::chains::AwaitChain;
use crate::names::{CodePlace, Label, Names};

/// Where the coroutines of a group are.
#[derive(Clone, Debug, Serialize)]
pub struct GroupPlace {
    /// The function and its source location.
    #[serde(flatten)]
    pub code: CodePlace,
    /// The functions that await this wait, if found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<AwaitChain>,
    /// The user's own `poll` function that the place awaits, if the wait is inside such a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<Label>,
    /// The branches, if the coroutines wait for several leaf futures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<WaitBranch>,
    /// The site, for the source excerpt.
    #[serde(skip)]
    pub site: SiteId,
    /// Where the thread of a busy coroutine is, if this is the place of the group instead of the
    /// site.
    #[serde(skip)]
    pub of_thread: Option<Label>,
    /// Where the run of a busy coroutine began: at its last wait, if it has waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<String>,
}

/// The branches of the wait of `members`, with the time for which the oldest member has waited for
/// each branch.
fn branches(context: &Context, members: &[Member]) -> Vec<WaitBranch> {
    let Context { model, names, .. } = *context;
    let (oldest, _) = super::oldest(members);
    let since: BTreeMap<SiteId, Nanos> = model.trace_model.branches(oldest.id).collect();
    let end = model.trace_model.end_of(oldest.process);
    let branches = names.branches(model.trace_model.place_of(oldest)).iter();
    branches
        .map(|branch| WaitBranch {
            waited_ns: since.get(&branch.site).map(|since| since.until(end).0),
            kind: model.trace_model.leaf_kind_at(branch.site),
            longest_ns: model
                .trace_model
                .past_of_branch(branch.site)
                .map(|past| past.longest.0),
            ..branch.clone()
        })
        .collect()
}

/// The place of the wait after which the coroutine has run.
fn resumed_at(context: &Context, coroutine: &Coroutine) -> Option<String> {
    let Context { model, names, .. } = *context;
    let site = model.trace_model.place_of(coroutine);
    names.at(site).filter(|_| site != coroutine.spawn_site)
}

impl GroupPlace {
    /// Creates the place of `members`, which are at the same site.
    pub(super) fn of(context: &Context, members: &[Member]) -> Self {
        let Context { model, names, .. } = *context;
        let site = model.trace_model.place_of(members[0].0);
        if let Some(label) = context.busy_place(super::oldest(members).0) {
            return GroupPlace {
                resumed_at: resumed_at(context, members[0].0),
                ..GroupPlace::of_thread(site, label)
            };
        }
        let label = names.of(site).cloned().unwrap_or_default();
        let all = members.iter().map(|(coroutine, _)| *coroutine);
        GroupPlace {
            awaited_by: names.awaits(site).cloned(),
            leaf: names.leaf(site).cloned(),
            branches: branches(context, members),
            code: CodePlace::new(names.of_all(model, site, all), label),
            site,
            of_thread: None,
            resumed_at: None,
        }
    }

    /// Where the thread of busy coroutines is.
    fn of_thread(site: SiteId, label: Label) -> Self {
        let function = label.function.clone().unwrap_or_default();
        GroupPlace {
            code: CodePlace::new(function, label.clone()),
            awaited_by: None,
            leaf: None,
            branches: Vec::new(),
            site,
            of_thread: Some(label),
            resumed_at: None,
        }
    }

    /// The label of the place, for the source excerpt.
    pub fn label<'l>(&'l self, names: &'l Names) -> Option<&'l Label> {
        let of_thread = self.of_thread.as_ref();
        of_thread.or_else(|| names.of(self.site))
    }

    /// The file and line, or the best known substitute.
    pub fn at(&self) -> String {
        let at = self.code.at();
        at.unwrap_or_else(|| "(place not recorded)".to_owned())
    }

    /// Whether the source location is known.
    pub fn is_placed(&self) -> bool {
        self.code.at().is_some()
    }
}
