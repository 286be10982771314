//! Where the coroutines of a group are, and who awaits them there.

use ctp_trace::census::Coroutine;
use ctp_trace::record::SiteId;
use serde::Serialize;

use super::Context;
use crate::names::{CodePlace, Label, Names};

/// Where the coroutines of a group are.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The function, and where it is.
    #[serde(flatten)]
    pub code: CodePlace,
    /// Who awaits what waits there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<AwaitedBy>,
    /// The place, to look up more.
    #[serde(skip)]
    pub site: SiteId,
}

/// The functions that await each other, the innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AwaitedBy {
    /// Each awaits the one before, the first what waits.
    pub functions: Vec<Awaiter>,
    /// The last of them is what was spawned; else there are more.
    pub whole: bool,
    /// What was spawned, behind those that are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<Awaiter>,
    /// The functions in words, as pages print them.
    #[serde(skip)]
    pub words: Vec<String>,
}

/// A function that awaits another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Awaiter {
    /// What it is called, if known.
    pub function: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// Where it awaits.
    pub line: Option<u32>,
    /// Column in that line.
    pub column: Option<u32>,
}

impl Place {
    /// Of coroutines that are all at this site.
    pub(super) fn of<'c>(
        context: &Context,
        site: SiteId,
        all: impl Iterator<Item = &'c Coroutine>,
    ) -> Self {
        let label = context.names.of(site).cloned().unwrap_or_default();
        Place {
            awaited_by: awaited_by(context.names, site, &label),
            code: CodePlace::new(context.names.of_all(context.model, site, all), label),
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

fn awaited_by(names: &Names, site: SiteId, label: &Label) -> Option<AwaitedBy> {
    let awaits = names.awaits(site)?;
    let one = |it: &Label| Awaiter {
        function: it.function.clone(),
        file: it.file.clone(),
        line: it.line,
        column: it.column,
    };
    Some(AwaitedBy {
        functions: awaits.frames.iter().map(one).collect(),
        whole: awaits.is_whole,
        spawned: awaits.outermost.as_ref().map(one),
        words: awaits.describe(label.file.as_deref()),
    })
}
