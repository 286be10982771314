//! Where the closing lines go, once the trace is whole.

use std::fs::File;

use ctp_trace::record::End;

use super::Closing;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::closing::post_run::{self, StuckSummary};
use crate::error::TraceError;
use crate::output::Output;
use crate::session::processor_limit;

/// Ends the trace and says what is in it. Nothing of that is read back where nothing is to be said.
///
/// # Errors
/// The trace could not be written to its end.
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
            // A pipe or a device does not tell how much went into it, and cannot be looked at.
            let file = metadata.filter(std::fs::Metadata::is_file);
            closing.written.bytes = file.map(|metadata| metadata.len());
            closing.stuck_summary = closing.stuck_summary_of(trace, closing.end.events);
        }
        say(&closing, verbosity);
    }
    written.map(drop)
}

impl Closing<'_> {
    /// What is to be said of a trace of so many events, unless there is no time to read it back.
    pub fn stuck_summary_of(&self, trace: &File, events: u64) -> Option<StuckSummary> {
        let has_time = !self.written.is_out_of_time && processor_limit::has_time_to_read_back();
        has_time.then(|| post_run::stuck_summary(trace, events))?
    }
}

/// Says the closing lines, if anything but errors is to be said.
pub fn say(closing: &Closing<'_>, verbosity: Verbosity) {
    if verbosity > Verbosity::Quiet {
        stderr::say(&closing.text(verbosity == Verbosity::Verbose));
    }
}
