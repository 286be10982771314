//! Ends the trace and prints the closing lines.

use std::fs::File;

use ctp_trace::record::End;

use super::Closing;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::closing::post_run::{self, StuckSummary};
use crate::error::TraceError;
use crate::output::Output;
use crate::session::processor_limit;

/// Ends the trace and prints the closing lines. In quiet mode nothing is read back.
///
/// # Errors
/// The trace could not be completed.
pub fn close(
    mut output: Output,
    end: &End,
    closing: Option<Closing<'_>>,
    verbosity: Verbosity,
) -> Result<(), TraceError> {
    let keeps_earlier = output.keeps_earlier(end);
    let written = output.finish(end);
    if let Some(mut closing) = closing {
        closing.written.keeps_earlier = keeps_earlier;
        closing.written.is_cut = written.is_err();
        if let Ok(trace) = &written {
            let metadata = trace.metadata().ok();
            // A pipe or a device has no size and cannot be read back.
            let file = metadata.filter(std::fs::Metadata::is_file);
            closing.written.bytes = file.map(|metadata| metadata.len());
            closing.stuck_summary = closing.stuck_summary_of(trace, closing.end.events);
        }
        say(&closing, verbosity);
    }
    written.map(drop)
}

impl Closing<'_> {
    /// The stuck and busy coroutines of a trace of this many events, unless there is no time to read it back.
    pub fn stuck_summary_of(&self, trace: &File, events: u64) -> Option<StuckSummary> {
        let has_time = !self.written.is_out_of_time && processor_limit::has_time_to_read_back();
        has_time.then(|| post_run::stuck_summary(trace, events))?
    }
}

/// Prints the closing lines, unless only errors are printed.
pub fn say(closing: &Closing<'_>, verbosity: Verbosity) {
    if verbosity > Verbosity::Quiet {
        stderr::say(&closing.text(verbosity == Verbosity::Verbose));
    }
}
