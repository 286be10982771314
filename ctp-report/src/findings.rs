//! What went wrong in a trace, found whatever the user asks for: one file for each kind.
//!
//! A new kind implements [`Finding`], and stands in [`ON_EVERY_PAGE`] or in the views that show it.
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

use crate::findings::contradictions::Broken;
use crate::findings::crash::Crash;
use crate::load::Model;
use crate::names::Names;
use crate::text::{Page, units};

/// All of one kind that is wrong in a trace, which may be nothing.
pub trait Finding: Serialize + Sized {
    /// The field of a JSON document.
    const NAME: &'static str;

    /// Looks for it.
    fn find(model: &Model, names: &Names) -> Self;

    /// Writes its section of a page, or nothing.
    fn write(&self, page: &mut Page) -> io::Result<()>;
}

/// One kind of finding, to be listed in a table.
pub struct Kind {
    /// The field of a JSON document.
    pub name: &'static str,
    /// What that field holds.
    pub json: fn(&Model, &Names) -> Value,
    /// Looks for it and writes its section of a page.
    pub write: fn(&Model, &Names, &mut Page) -> io::Result<()>,
}

/// So grave that every page and document says it, in the order of a page.
pub const ON_EVERY_PAGE: [Kind; 2] = [kind::<Option<Crash>>(), kind::<Vec<Broken>>()];

const fn kind<F: Finding>() -> Kind {
    Kind {
        name: F::NAME,
        json: |model, names| json!(F::find(model, names)),
        write: |model, names, page| F::find(model, names).write(page),
    }
}

/// Coroutines that a section lists.
const LISTED: usize = 8;

/// Says how many more there are than a section lists.
fn and_more(page: &mut Page, all: usize) -> io::Result<()> {
    match all.saturating_sub(LISTED) {
        0 => Ok(()),
        more => page.line(&format!(
            "  and {} more (--json lists all)",
            units::grouped(more as u64)
        )),
    }
}
