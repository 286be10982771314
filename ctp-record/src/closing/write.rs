//! Where the closing lines go, once the trace is whole.

use ctp_trace::record::End;

use super::Closing;
use crate::config::Verbosity;
use crate::error::TraceError;
use crate::hindsight;
use crate::output::Output;
use crate::stderr;

/// Ends the trace and says what is in it. Nothing of that is read back where nothing is to be said.
///
/// # Errors
/// The trace could not be written to its end.
pub fn close(
    output: Output,
    end: &End,
    closing: Option<Closing<'_>>,
    verbosity: Verbosity,
) -> Result<(), TraceError> {
    let written = output.finish(end);
    if let Some(mut closing) = closing {
        closing.is_cut = written.is_err();
        if let Ok(trace) = &written {
            let metadata = trace.metadata().ok();
            // A pipe or a device does not tell how much went into it, and cannot be looked at.
            let file = metadata.filter(std::fs::Metadata::is_file);
            closing.bytes = file.map(|metadata| metadata.len());
            if !closing.is_out_of_time {
                closing.outlook = hindsight::outlook(trace, closing.end.events);
            }
        }
        say(&closing, verbosity);
    }
    written.map(drop)
}

/// Says the closing lines, if anything but errors is to be said.
pub fn say(closing: &Closing<'_>, verbosity: Verbosity) {
    if verbosity > Verbosity::Quiet {
        stderr::say(&closing.text(verbosity == Verbosity::Verbose));
    }
}
