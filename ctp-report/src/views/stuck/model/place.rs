//! Where the coroutines of a group are, and who awaits them there.

use ctp_trace::record::SiteId;
use serde::Serialize;

use super::Context;
use crate::evidence::Member;
use crate::names::CodePlace;
use crate::names::chains::Awaits;

/// Where the coroutines of a group are.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The function, and where it is.
    #[serde(flatten)]
    pub code: CodePlace,
    /// Who awaits what waits there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<Awaits>,
    /// The place, to look up more.
    #[serde(skip)]
    pub site: SiteId,
}

impl Place {
    /// Of coroutines that are all at one site.
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

    /// File and line, or what is known instead.
    pub fn at(&self) -> String {
        let at = self.code.at();
        at.unwrap_or_else(|| "(place not recorded)".to_owned())
    }

    /// Whether anything is known of where they are.
    pub fn is_placed(&self) -> bool {
        self.code.at().is_some()
    }
}
