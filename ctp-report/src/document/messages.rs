//! Messages beside the output of a view: which files were written, and what is missing from the trace.

use std::fmt::Display;
use std::io::{self, Write};

use anyhow::Result;
use ctp_trace::escape::escaped;

use crate::config::Config;
use crate::findings::notes;
use crate::load::Model;

/// Prints which files were written, unless `--quiet` is given.
///
/// # Errors
/// If `out` cannot be written.
pub fn confirm(
    config: &Config,
    lines: impl IntoIterator<Item = String>,
    out: &mut dyn Write,
) -> Result<()> {
    if config.is_quiet() {
        return Ok(());
    }
    for line in lines {
        writeln!(out, "{}", escaped(&line))?;
    }
    Ok(())
}

/// Prints on standard error what is missing from the trace. Files and exports have no header that
/// could report this.
pub fn print_unread(model: &Model) {
    print_notes(notes::unread(model));
}

/// Prints notes on standard error.
pub fn print_notes(notes: impl IntoIterator<Item = impl Display>) {
    for note in notes {
        // If standard error is closed, the note cannot be shown.
        let _ = writeln!(
            io::stderr(),
            "ctp-report: note: {}",
            escaped(&note.to_string())
        );
    }
}
