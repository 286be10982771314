//! Where the coroutines of a group are, and which functions await there.

use std::collections::BTreeMap;

use ctp_trace::record::{Nanos, SiteId};
use serde::Serialize;

use super::Context;
use crate::evidence::Member;
use crate::names::CodePlace;
use crate::names::branches::Branch;
use crate::names::chains::Awaits;

/// Where the coroutines of a group are.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The function and its source location.
    #[serde(flatten)]
    pub code: CodePlace,
    /// The functions that await this wait, if found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<Awaits>,
    /// The branches, if the coroutines wait for several leaf futures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Branch>,
    /// The site, for the source excerpt.
    #[serde(skip)]
    pub site: SiteId,
}

/// The branches of the wait of `members`, with their ages for the oldest member.
fn branches(context: &Context, members: &[Member]) -> Vec<Branch> {
    let Context { model, names, .. } = *context;
    let (oldest, _) = super::oldest(members);
    let since: BTreeMap<SiteId, Nanos> = model.trace_model.branches(oldest.id).collect();
    let end = model.trace_model.end_of(oldest.process);
    let past = |site| model.trace_model.past_of_branch(site);
    let branches = names.branches(model.trace_model.place_of(oldest)).iter();
    branches
        .map(|branch| Branch {
            waited_ns: since.get(&branch.site).map(|since| since.until(end).0),
            longest_ns: past(branch.site).map(|past| past.longest.0),
            ..branch.clone()
        })
        .collect()
}

impl Place {
    /// Creates the place of `members`, which are at the same site.
    pub(super) fn of(context: &Context, members: &[Member]) -> Self {
        let Context { model, names, .. } = *context;
        let site = model.trace_model.place_of(members[0].0);
        let label = names.of(site).cloned().unwrap_or_default();
        let all = members.iter().map(|(coroutine, _)| *coroutine);
        Place {
            awaited_by: names.awaits(site).cloned(),
            branches: branches(context, members),
            code: CodePlace::new(names.of_all(model, site, all), label),
            site,
        }
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
