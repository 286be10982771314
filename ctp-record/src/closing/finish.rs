//! Ends the trace and prints the closing lines.

use std::fs::File;

use ctp_trace::record::End;

use super::ClosingLines;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::closing::post_run::{self, StuckSummary};
use crate::error::TraceError;
use crate::output::Output;
use crate::session::processor_limit;

/// Ends the trace and prints the closing lines. `closing` is `None` in quiet mode; then the trace is not read back.
///
/// # Errors
/// The trace could not be completed.
pub fn finish_trace(
    mut output: Output,
    end: &End,
    closing: Option<ClosingLines<'_>>,
    verbosity: Verbosity,
) -> Result<(), TraceError> {
    let keeps_earlier = output.keeps_earlier(end);
    let written = output.finish(end);
    if let Some(mut closing) = closing {
        closing.written.keeps_earlier = keeps_earlier;
        closing.written.is_cut = matches!(written, Err(TraceError::CutShort(..)));
        if let Ok(trace) = &written {
            let metadata = trace.metadata().ok();
            // A pipe or a device has no size and cannot be read back.
            let file = metadata.filter(std::fs::Metadata::is_file);
            closing.written.bytes = file.map(|metadata| metadata.len());
            closing.stuck_summary = closing.stuck_summary_of_recording(trace);
        }
        print_closing(&closing, verbosity);
    }
    written.map(drop)
}

/// Prints the closing lines. Not to be called in quiet mode.
pub fn print_closing(closing: &ClosingLines<'_>, verbosity: Verbosity) {
    stderr::say(&closing.text(verbosity == Verbosity::Verbose));
}

impl ClosingLines<'_> {
    /// The stuck and busy coroutines of a recording. The trace is read only if any coroutine may be stuck.
    fn stuck_summary_of_recording(&self, trace: &File) -> Option<StuckSummary> {
        if self.have_all_finished() {
            return Some(StuckSummary::default());
        }
        self.stuck_summary_within_time(trace, self.end.events)
    }

    /// Whether every coroutine was running when it ended, and no data is missing from the trace. Such a trace has no stuck
    /// coroutine, and no gap that may hide a stuck coroutine.
    fn have_all_finished(&self) -> bool {
        let (end, totals) = (&self.end, &self.totals);
        let missing = [
            end.lost,
            end.refused,
            end.unrecorded,
            end.quarantined,
            totals.filtered,
            totals.summed_up,
        ];
        u64::from(totals.finished) == end.coroutines
            && missing.iter().all(|count| *count == 0)
            && self.damaged_regions == 0
            && totals.damaged_lanes == 0
            && totals.doubtful == 0
            && self.v1_coroutines == 0
            && self.written.bytes.is_some()
    }

    /// The stuck and busy coroutines of a trace of this many events. `None` if there is no time to read it back.
    pub fn stuck_summary_within_time(&self, trace: &File, events: u64) -> Option<StuckSummary> {
        if self.written.is_out_of_time || !processor_limit::has_time_to_read_back() {
            return None;
        }
        post_run::read_back(trace, events)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;
    use crate::closing::Written;
    use crate::harvest::Totals;

    /// A recording of four coroutines. `finished` of them were running when they ended.
    fn closing(finished: u32, lost: u64) -> ClosingLines<'static> {
        let end = End {
            coroutines: 4,
            lost,
            ..End::default()
        };
        ClosingLines {
            totals: Totals {
                finished,
                coroutines: 4,
                ..Totals::default()
            },
            written: Written {
                bytes: Some(1),
                ..Written::default()
            },
            ..ClosingLines::of_end(end)
        }
    }

    // CTP-21
    #[test]
    fn finished_coroutines_need_no_second_reading() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let unreadable = OpenOptions::new().write(true).open(file.path());
        let unreadable = unreadable.expect("a file that can only be written");
        let summary =
            |finished, lost| closing(finished, lost).stuck_summary_of_recording(&unreadable);
        assert_eq!(summary(4, 0), Some(StuckSummary::default()));
        assert_eq!(summary(3, 0), None, "one may be stuck");
        assert_eq!(summary(4, 1), None, "an event of one is missing");
    }
}
