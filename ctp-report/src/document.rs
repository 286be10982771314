//! What the pages and JSON documents of all views share: the selected part of the trace with its names, the header of
//! every page, and the messages about written files.

pub mod flame_graph;
pub mod header;
pub mod hints;
pub mod inspection;
pub mod json;
mod links;
pub mod messages;
pub mod selected_trace;
pub mod trace_names;
pub mod whole_trace;

use std::io::{self, Write};

use anyhow::Result;
use serde_json::Value;

use crate::config::Config;
use crate::findings::ON_EVERY_PAGE;
use crate::load::Model;
use crate::names::Names;
use crate::text::Page;

/// The output of a view.
pub enum Output<'o> {
    /// A JSON document.
    Json(&'o mut dyn Write),
    /// A page.
    Page(Page<'o>),
}

impl<'o> Output<'o> {
    /// The output that the user requested: JSON, or a page for a terminal.
    pub fn of(config: &Config, out: &'o mut dyn Write) -> Self {
        if config.json {
            Output::Json(out)
        } else {
            Output::Page(Page::terminal(out, config.width))
        }
    }
}

/// Writes a page below the common header, or a JSON document with `fields` added to the common
/// fields. `write_body` writes the rest of the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    config: &Config,
    about: (&Model, &Names),
    out: &mut dyn Write,
    fields: impl FnOnce() -> Value,
    write_body: impl FnOnce(&mut Page) -> io::Result<()>,
) -> Result<()> {
    write_to(Output::of(config, out), config, about, fields, write_body)
}

/// Like [`write()`], for any output.
///
/// # Errors
/// If the output cannot be written.
pub fn write_to(
    output: Output,
    config: &Config,
    (model, names): (&Model, &Names),
    fields: impl FnOnce() -> Value,
    write_body: impl FnOnce(&mut Page) -> io::Result<()>,
) -> Result<()> {
    let mut page = match output {
        Output::Json(out) => {
            return Ok(json::write(
                json::trace_with_findings(model, names),
                fields(),
                out,
            )?);
        }
        Output::Page(page) => page,
    };
    if config.has_links {
        page.set_links(links::of(model, names));
    }
    if !config.is_quiet() {
        header::write(&mut page, model, names, config.detail)?;
    }
    for kind in &ON_EVERY_PAGE {
        (kind.write)(model, names, &mut page)?;
    }
    write_body(&mut page)?;
    Ok(page.end()?)
}
