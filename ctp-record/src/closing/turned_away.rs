//! Closing lines about processes that are missing from the trace, with remedies.

use super::ClosingLines;
use crate::cli::words::grouped;

impl ClosingLines<'_> {
    /// A line for each reason why processes are missing that asked for memory.
    pub(super) fn turned_away(&self) -> impl Iterator<Item = String> {
        let away = &self.processes.turned_away;
        let reasons = [
            not_recorded(
                away.for_descriptors,
                "got no memory, because no descriptor was left",
                "; a higher ulimit -n may help",
            ),
            not_recorded(
                away.late,
                "asked for memory after the recording was over",
                self.how_to_wait(away.late),
            ),
            not_recorded(
                away.otherwise,
                "got no memory (none was left, or the recorder did not answer within half a second)",
                "",
            ),
            not_recorded(
                away.untaken,
                "got memory and did not use it (ended first, or had no address space or no \
                 descriptor for it)",
                "",
            ),
        ];
        reasons.into_iter().flatten()
    }

    /// The line about forks that found no recorder. It lists all possible causes, because the forks are only counted.
    pub(super) fn unreached(&self) -> Option<String> {
        let subject = match self.counters.unreached {
            0 => return None,
            1 => "1 fork".to_owned(),
            many => format!("{} forks", grouped(many.into())),
        };
        Some(if self.no_doorbell {
            format!(
                "{subject} went unrecorded: a fork must ask for memory, and --no-bell forbids the \
                 system call for that"
            )
        } else {
            format!(
                "{subject} could not reach the recorder and went unrecorded: they had changed their user \
                 or their root, had no descriptor left, or found the recorder's queue full; run \
                 ctp-record as that user or within that root, or raise the program's ulimit -n"
            )
        })
    }

    /// Advises `--wait-all` if the program ended by itself and its descendants were not waited for.
    fn how_to_wait(&self, count: u32) -> &'static str {
        if !self.ended_without_waiting() {
            ""
        } else if count == 1 {
            "; --wait-all waits for it"
        } else {
            "; --wait-all waits for them"
        }
    }
}

/// The line about processes that are not in the trace, if there are any: what each of them did, and the remedy.
fn not_recorded(count: u32, what: &str, remedy: &str) -> Option<String> {
    let (subject, they) = match count {
        0 => return None,
        1 => ("1 process".to_owned(), "it was"),
        many => (format!("{} processes", grouped(many.into())), "they were"),
    };
    Some(format!("{subject} {what}: {they} not recorded{remedy}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctp_nostd::inspect::Counters;
    use ctp_trace::record::{End, ExitReason, Nanos};

    use super::*;
    use crate::closing::OtherProcesses;
    use crate::connect::turned_away::TurnedAway;

    fn of(turned_away: TurnedAway) -> ClosingLines<'static> {
        ClosingLines {
            processes: OtherProcesses {
                turned_away,
                ..OtherProcesses::default()
            },
            ..ClosingLines::new(
                "app".to_owned(),
                Path::new("x"),
                End::default(),
                Counters::default(),
            )
        }
    }

    // CTP-18, CTP-32
    #[test]
    fn a_process_turned_away_is_reported_with_a_remedy() {
        let message = |closing: &ClosingLines<'_>| closing.turned_away().collect::<Vec<_>>();
        let full = of(TurnedAway {
            for_descriptors: 3,
            ..TurnedAway::default()
        });
        let line = "3 processes got no memory, because no descriptor was left: they were not \
                    recorded; a higher ulimit -n may help";
        assert_eq!(message(&full), [line]);
        let otherwise = of(TurnedAway {
            otherwise: 1,
            ..TurnedAway::default()
        });
        assert!(!message(&otherwise)[0].contains("ulimit"));
        let untaken = of(TurnedAway {
            untaken: 1,
            ..TurnedAway::default()
        });
        let line = &message(&untaken)[0];
        assert!(
            line.starts_with("1 process got memory and did not use it"),
            "{line}"
        );
        assert_eq!(message(&of(TurnedAway::default())), [""; 0]);
    }

    // CTP-18, CTP-32
    #[test]
    fn unreached_forks_are_reported_with_a_remedy() {
        let mut closing = of(TurnedAway::default());
        assert_eq!(closing.unreached(), None);
        closing.counters.unreached = 4;
        let message = closing.unreached().expect("unreached forks");
        assert!(
            message.starts_with("4 forks could not reach the recorder"),
            "{message}"
        );
        closing.no_doorbell = true;
        let message = closing.unreached().expect("unreached forks");
        assert!(message.contains("--no-bell forbids"), "{message}");
    }

    // CTP-18, CTP-32
    #[test]
    fn wait_all_is_advised_only_if_not_in_use() {
        let mut closing = of(TurnedAway {
            late: 1,
            ..TurnedAway::default()
        });
        closing.end.how = ExitReason::Exited(0);
        let says_wait = |closing: &ClosingLines<'_>| {
            closing
                .turned_away()
                .any(|line| line.contains("--wait-all"))
        };
        assert!(says_wait(&closing));
        closing.processes.program_ended = Some(Nanos(1));
        assert!(!says_wait(&closing));
    }
}
