//! How the program or the recording ended, for the first of the closing lines.

use ctp_trace::record::ExitReason;

use super::{ClosingLines, signal_name};
use crate::cli::words::seconds;

impl ClosingLines<'_> {
    /// How the program or the recording ended, and when.
    pub(super) fn exit_description(&self) -> String {
        let after = self.after();
        let subject = &self.subject;
        match self.end.how {
            ExitReason::Exited(code) => format!("{subject} exited with status {code} {after}"),
            ExitReason::Signalled(signal) => format!(
                "{subject} ended by {} {after}, exit {}",
                signal_name(signal),
                128 + signal
            ),
            ExitReason::Image => format!("read {subject}"),
            _ if self.capacity.is_static => {
                format!("recorded {subject} for {}", seconds(self.end.at.0))
            }
            _ if self.processes.program_ended.is_some() => format!("{subject} ended {after}"),
            _ => format!("stopped {after}; {subject} goes on without being recorded"),
        }
    }

    /// Whether the program ended by itself, and the recorder did not wait for its descendants.
    pub(super) fn ended_without_waiting(&self) -> bool {
        let has_ended = matches!(
            self.end.how,
            ExitReason::Exited(_) | ExitReason::Signalled(_)
        );
        has_ended && self.processes.program_ended.is_none()
    }

    /// The time of the program's end, and the length of the recording if that was longer.
    fn after(&self) -> String {
        let recorded = seconds(self.end.at.0);
        let program = seconds(self.processes.program_ended.unwrap_or(self.end.at).0);
        if program == recorded {
            format!("after {recorded}")
        } else {
            format!("after {program} (recorded for {recorded})")
        }
    }
}
