//! Runs the requested view.

use std::io::{self, Write};

use anyhow::Result;

use crate::config::{Config, ManPages, View};
use crate::findings::gate::ReportStatus;
use crate::views::{
    check, diff, dump, export, flame, histogram, last_words, sites, stacks, stuck, timeline,
    tracks, tree, why,
};
use crate::{ctf, html, output, tables, top};

/// Runs the requested view.
///
/// # Errors
/// If the trace cannot be read, `out` or a file cannot be written, or a file is the trace itself.
pub fn run(config: &Config, out: &mut dyn Write) -> Result<ReportStatus> {
    output::refuse_inputs(&config.output_files(), &config.input_files())?;
    match &config.view {
        View::Fixed(text) => out.write_all(text)?,
        View::ManPages(manual) => write_pages(manual, out)?,
        View::Sites(view) => sites::show(config, view, out)?,
        View::Stacks(view) => stacks::show(config, view, out)?,
        View::Stuck(view) => return stuck::show(config, view, out),
        View::Flame(view) => flame::show(config, view, out)?,
        View::Html(view) => html::show(config, view, out)?,
        View::Timeline(view) => timeline::show(config, view, out)?,
        View::Top(view) => top::show(config, view, out)?,
        View::LastWords { all_ids } => last_words::show(config, *all_ids, out)?,
        View::Tree { threshold, all_ids } => tree::show(config, *threshold, *all_ids, out)?,
        View::Why(view) => why::show(config, view, out)?,
        View::Check(view) => return check::show(config, view, out),
        View::Diff(view) => diff::show(config, view, out)?,
        View::Histogram => histogram::show(config, out)?,
        View::Dump => dump::show(config, out)?,
        View::Export(view) => export::show(config, view, out)?,
        View::Tracks(view) => tracks::show(config, view, out)?,
        View::Profile(view) => flame::export(config, view, out)?,
        View::Tables(view) => tables::show(config, view, out)?,
        View::Ctf(view) => ctf::show(config, view, out)?,
    }
    Ok(ReportStatus::Fine)
}

fn write_pages(manual: &ManPages, out: &mut dyn Write) -> Result<()> {
    for (name, page) in &manual.pages {
        output::save(&manual.directory.join(name), page, out)?;
    }
    Ok(())
}

/// Whether the error is only a closed output pipe.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind);
        let io = cause.downcast_ref().map(io::Error::kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
