//! The closing lines of a recording without coroutines.

use ctp_trace::record::ExitReason;

use super::ClosingLines;
use crate::cli::words::shown;

impl ClosingLines<'_> {
    pub(super) fn nothing_attached(&self) -> String {
        match self.end.how {
            ExitReason::Image => "no coroutine was ever born in that memory".to_owned(),
            _ if 0 < self.end.unrecorded.saturating_add(self.end.refused) => {
                "no coroutine was recorded".to_owned()
            }
            _ if self.went_into_the_background() => {
                "no coroutine was recorded before the program ended, but processes of it live on: \
                 --wait-all records them too. Where they attach no probe either, link ctp-nostd and \
                 call ctp_nostd::attach() first thing in main"
                    .to_owned()
            }
            _ => "no coroutine was recorded: the program attached no probe, or spawned none. \
                  Link ctp-nostd and call ctp_nostd::attach() first thing in main, or inspect the \
                  running program with -p PID"
                .to_owned(),
        }
    }

    pub(super) fn earlier_trace(&self) -> Option<String> {
        let is_kept = self.written.keeps_earlier;
        is_kept.then(|| {
            format!(
                "{} is still the trace of an earlier run",
                shown(self.output)
            )
        })
    }

    /// Whether the program ended before some of its descendants, and the recorder did not wait for these.
    fn went_into_the_background(&self) -> bool {
        self.ended_without_waiting() && !self.processes.survivors.is_empty()
    }
}

#[cfg(test)]
mod tests {

    use ctp_trace::record::End;

    use super::*;

    // CTP-32, CT-24
    #[test]
    fn unrecorded_processes_do_not_hint_at_a_missing_probe() {
        let end = End {
            unrecorded: 1,
            ..End::default()
        };
        let message = ClosingLines::of_end(end).text(false);
        assert!(message.contains("no coroutine was recorded\n"), "{message}");
        let message = ClosingLines::of_end(End::default()).text(false);
        assert!(message.contains("attached no probe"), "{message}");
    }
}
