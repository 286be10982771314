//! Where the coroutines of a group are, and who awaits them there.

use ctp_trace::census::Coroutine;
use ctp_trace::record::SiteId;
use serde::Serialize;

use super::Context;
use crate::names::Names;
use crate::names::label::Label;
use crate::names::twins;

/// Where the coroutines of a group are.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The function where they are, else their name: `conn-*` of several that are numbered.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// That is where the function begins; where in it is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_function: bool,
    /// Column in that line.
    pub column: Option<u32>,
    /// Module and offset, where there is no source position.
    pub module: Option<String>,
    /// The function of a library in which it waits there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Who awaits what waits there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<AwaitedBy>,
    /// Another group would look the same without its column.
    #[serde(skip)]
    pub is_twin: bool,
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
            function: context.names.of_all(context.model, site, all),
            awaited_by: awaited_by(context.names, site, &label),
            file: label.file,
            line: label.line,
            in_function: label.in_function,
            column: label.column,
            module: label.module,
            within: label.within,
            is_twin: false,
            site,
        }
    }

    /// File and line, or what is known instead.
    pub fn at(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                twins::place((file, line), self.in_function, self.column, self.is_twin)
            }
            _ => self
                .module
                .clone()
                .unwrap_or_else(|| "(place not recorded)".to_owned()),
        }
    }

    /// Whether anything is known of where they are.
    pub fn is_placed(&self) -> bool {
        self.file.is_some() && self.line.is_some() || self.module.is_some()
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
