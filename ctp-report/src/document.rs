//! What the pages and JSON documents of all views have in common: a trace with names, the header
//! above every page, and what is said of a file that was written.

pub mod header;
pub mod hints;
pub mod json;

use std::fmt::Display;
use std::io::{self, Write};

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::escape::escaped;
use ctp_trace::record::Record;
use ctp_trace::trace_model::Span;
use serde_json::Value;

use crate::config::Config;
use crate::findings::{ON_EVERY_PAGE, notes};
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::text::Page;

/// Reads a trace that is not empty, and names its places.
///
/// # Errors
/// If the trace cannot be read, or has no coroutine.
pub fn read(config: &Config) -> Result<(Model, Names)> {
    read_with(config, |_, _| {}, |_, _| {})
}

/// The same. `see` gets every record before the census does, `each` every stretch of time that ended.
///
/// # Errors
/// If the trace cannot be read, or has no coroutine.
pub fn read_with(
    config: &Config,
    see: impl FnMut(&TraceModel, &Record),
    each: impl FnMut(&TraceModel, &Span),
) -> Result<(Model, Names)> {
    let input = load::open(config)?;
    let model = input.model(see, each)?;
    model.check_not_empty()?;
    let names = names(config, &input, &model);
    Ok((model, names))
}

/// Names the places of a trace, with what the trace left of the memory that may be used.
pub fn names(config: &Config, input: &Input, model: &Model) -> Names {
    let mut places = config.places.clone();
    if config.most_module.is_none() {
        let most = places.most_bytes().min(input.allowance().left());
        places = places.with_most_bytes(most);
    }
    Names::resolve(model, &places)
}

/// Writes a page below what stands above every page; or as a JSON document, `fields` beside what is in
/// every document.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    config: &Config,
    (model, names): (&Model, &Names),
    out: &mut dyn Write,
    fields: impl FnOnce() -> Value,
    page: impl FnOnce(&mut Page) -> io::Result<()>,
) -> Result<()> {
    if config.json {
        return Ok(json::write(json::reported(model, names), fields(), out)?);
    }
    let mut below = Page::new(out);
    if !config.is_quiet() {
        header::write(&mut below, model, names, config.detail)?;
    }
    for kind in &ON_EVERY_PAGE {
        (kind.write)(model, names, &mut below)?;
    }
    Ok(page(&mut below)?)
}

/// Says which files were written, unless with `--quiet`.
///
/// # Errors
/// If `out` cannot be written.
pub fn confirm(
    config: &Config,
    message: impl IntoIterator<Item = String>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut message = message.into_iter().filter(|_| !config.is_quiet());
    Ok(message.try_for_each(|line| writeln!(out, "{}", escaped(&line)))?)
}

/// Says on standard error what is missing of a trace that goes into a file or to another program,
/// where no page says it.
pub fn warn(model: &Model) {
    notice(notes::unread(model));
}

/// Writes notes to standard error.
pub fn notice(notes: impl IntoIterator<Item = impl Display>) {
    for note in notes {
        // Without a standard error there is no place to say it.
        let _ = writeln!(
            io::stderr(),
            "ctp-report: note: {}",
            escaped(&note.to_string())
        );
    }
}
