//! Where the closing lines go, once the trace is whole.

use super::Closing;
use crate::config::{Config, Verbosity};
use crate::error::TraceError;
use crate::hindsight;
use crate::output::Output;
use crate::stderr;

/// Ends the trace and says what is in it.
///
/// # Errors
/// The trace could not be written to its end.
pub fn close(config: &Config, output: Output, mut closing: Closing<'_>) -> Result<(), TraceError> {
    let written = output.finish(&closing.end);
    closing.is_cut = written.is_err();
    if let Ok(trace) = &written {
        let metadata = trace.metadata().ok();
        // A pipe or a device does not tell how much went into it, and cannot be looked at.
        let file = metadata.filter(std::fs::Metadata::is_file);
        closing.bytes = file.map(|metadata| metadata.len());
        closing.outlook = hindsight::outlook(trace, closing.end.events);
    }
    say(&closing, config.verbosity);
    written.map(drop)
}

/// Says the closing lines, if anything but errors is to be said.
pub fn say(closing: &Closing<'_>, verbosity: Verbosity) {
    if verbosity > Verbosity::Quiet {
        stderr::say(&closing.text(verbosity == Verbosity::Verbose));
    }
}
