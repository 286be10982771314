//! The last closing lines: the file that was written, and what to type next.

use std::fmt::Write as _;
use std::path::Path;

use super::ClosingLines;
use super::post_run::StuckSummary;
use crate::cli::words::{shell_word, shown, size};

impl ClosingLines<'_> {
    pub(super) fn what_was_written(&self) -> Option<String> {
        let bytes = self.written.bytes.filter(|_| !self.written.keeps_earlier)?;
        let mut line = format!("wrote {} ({}", shown(self.output), size(bytes));
        if self.end.events > 0 && self.totals.summed_up == 0 {
            let each = bytes as f64 / self.end.events as f64;
            let _ = write!(line, ", {each:.1} B an event");
        }
        line.push(')');
        Some(line)
    }

    pub(super) fn what_next(&self) -> Option<String> {
        if self.coroutines() == 0 || self.written.bytes.is_none() {
            return None;
        }
        let input = if self.output == Path::new("ctp.data") {
            String::new()
        } else {
            format!(" -i {}", shell_word(self.output))
        };
        Some(match &self.stuck_summary {
            _ if self.end.how.is_crash() => {
                format!("what ran last: ctp-report --last-words{input}")
            }
            Some(stuck_summary) if *stuck_summary == StuckSummary::default() => {
                format!("{stuck_summary}; next: ctp-report{input}")
            }
            Some(stuck_summary) => format!("{stuck_summary}; next: ctp-report --stuck{input}"),
            None => format!("next: ctp-report --stuck{input}"),
        })
    }
}
