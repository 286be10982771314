//! Where the coroutines of a group are, and which functions await there.

use ctp_trace::record::SiteId;
use serde::Serialize;

use super::Context;
use crate::evidence::Member;
use crate::names::CodePlace;
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
    /// The site, for the source excerpt.
    #[serde(skip)]
    pub site: SiteId,
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
