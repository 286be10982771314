//! Findings: what went wrong in a trace, apart from verdicts. Each kind of finding has a file.
//!
//! A new kind implements [`Finding`] and is listed in [`ON_EVERY_PAGE`], or shown by views.
//! A new lint is a file in `lints/` and a line in [`lints::LINTS`].

pub mod contradictions;
pub mod crash;
pub mod gate;
pub mod leaks;
pub mod lints;
pub mod notes;

use std::io;

use serde::Serialize;
use serde_json::{Value, json};

use crate::findings::contradictions::BrokenCoroutine;
use crate::findings::crash::Crash;
use crate::load::Model;
use crate::names::Names;
use crate::text::{Page, units};

/// All findings of a kind in a trace.
pub trait Finding: Serialize + Sized {
    /// The field in JSON documents.
    const NAME: &'static str;

    /// Finds all findings of this kind.
    fn find(model: &Model, names: &Names) -> Self;

    /// Writes the section of a page, or nothing if there are no findings.
    fn write(&self, page: &mut Page) -> io::Result<()>;
}

/// A kind of finding, as an entry of a table.
pub struct FindingKind {
    /// The field in JSON documents.
    pub name: &'static str,
    /// Returns the value of this field.
    pub json: fn(&Model, &Names) -> Value,
    /// Finds the findings and writes the section of a page.
    pub write: fn(&Model, &Names, &mut Page) -> io::Result<()>,
}

/// Kinds that are so serious that every page and document reports them, in the order of a page.
pub const ON_EVERY_PAGE: [FindingKind; 2] =
    [kind::<Option<Crash>>(), kind::<Vec<BrokenCoroutine>>()];

const fn kind<F: Finding>() -> FindingKind {
    FindingKind {
        name: F::NAME,
        json: |model, names| json!(F::find(model, names)),
        write: |model, names, page| F::find(model, names).write(page),
    }
}

/// Maximum number of coroutines that a section lists.
const LISTED: usize = 8;

/// Writes how many coroutines the section does not list.
fn and_more(page: &mut Page, all: usize) -> io::Result<()> {
    match all.saturating_sub(LISTED) {
        0 => Ok(()),
        more => page.line(&format!(
            "  and {} more (--json lists all)",
            units::grouped(more as u64)
        )),
    }
}
