//! What is said of processes that are not in the trace, and what may help.

use ctp_trace::record::ExitReason;

use super::Closing;
use crate::cli::words::grouped;

impl Closing<'_> {
    pub(super) fn turned_away(&self) -> impl Iterator<Item = String> {
        let away = &self.processes.turned_away;
        let reasons = [
            for_descriptors(away.for_descriptors),
            unanswered(
                away.late,
                "the recording was over",
                self.how_to_wait(away.late),
            ),
            unanswered(
                away.otherwise,
                "there was no room for memory, or the recorder did not answer within half a second",
                "",
            ),
            unanswered(
                away.untaken,
                "a process may end first, or have no room or no descriptor for the memory",
                "",
            ),
        ];
        reasons.into_iter().flatten()
    }

    /// Why not, only the forks themselves could know.
    pub(super) fn unreached(&self) -> Option<String> {
        let subject = match self.counters.unreached {
            0 => return None,
            1 => "1 fork".to_owned(),
            many => format!("{} forks", grouped(many.into())),
        };
        Some(match self.no_doorbell {
            true => format!(
                "{subject} went unrecorded: a fork would have to ask for memory, and with --no-bell it \
                 makes no system call for that"
            ),
            false => format!(
                "{subject} could not reach the recorder and went unrecorded: they had changed their user \
                 or their root, had no descriptor left, or found the recorder's queue full; run \
                 ctp-record as that user or within that root, or raise the program's ulimit -n"
            ),
        })
    }

    /// It is of use only where they came from one that ended by itself, and were not waited for.
    fn how_to_wait(&self, count: u32) -> &'static str {
        let has_ended = matches!(
            self.end.how,
            ExitReason::Exited(_) | ExitReason::Signalled(_)
        );
        match has_ended && self.processes.program_ended.is_none() {
            true if count == 1 => "; --wait-all waits for it",
            true => "; --wait-all waits for them",
            false => "",
        }
    }
}

/// Without a descriptor, the recorder may not have heard what they ask for.
fn for_descriptors(count: u32) -> Option<String> {
    let (subject, forks) = match count {
        0 => return None,
        1 => ("1 process was".to_owned(), "if it is a fork, it was"),
        many => (
            format!("{many} processes were"),
            "those of them that are forks were",
        ),
    };
    Some(format!(
        "{subject} not let in, since no descriptor was left: {forks} not recorded; a higher ulimit -n \
         may help"
    ))
}

fn unanswered(count: u32, why: &str, remedy: &str) -> Option<String> {
    let (subject, they) = match count {
        0 => return None,
        1 => ("1 process was".to_owned(), "it was"),
        many => (format!("{many} processes were"), "they were"),
    };
    Some(format!(
        "{subject} not let in, or too late ({why}): {they} not recorded{remedy}"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctp_nostd::inspect::Counters;
    use ctp_trace::record::{End, Nanos};

    use super::*;
    use crate::closing::OtherProcesses;
    use crate::connect::turned_away::TurnedAway;

    fn of(turned_away: TurnedAway) -> Closing<'static> {
        Closing {
            processes: OtherProcesses {
                turned_away,
                ..OtherProcesses::default()
            },
            ..Closing::new(
                "app".to_owned(),
                Path::new("x"),
                End::default(),
                Counters::default(),
            )
        }
    }

    // CTP-18, CTP-32
    #[test]
    fn each_that_was_not_let_in_is_told_of_with_what_may_help_there() {
        let message = |closing: &Closing<'_>| closing.turned_away().collect::<Vec<_>>();
        let full = of(TurnedAway {
            for_descriptors: 3,
            ..TurnedAway::default()
        });
        let line = "3 processes were not let in, since no descriptor was left: those of them that \
                    are forks were not recorded; a higher ulimit -n may help";
        assert_eq!(message(&full), [line]);
        let otherwise = of(TurnedAway {
            otherwise: 1,
            ..TurnedAway::default()
        });
        assert!(!message(&otherwise)[0].contains("ulimit"));
        assert_eq!(message(&of(TurnedAway::default())), [""; 0]);
    }

    // CTP-18, CTP-32
    #[test]
    fn forks_that_could_not_reach_the_recorder_are_told_of_with_what_helps_them() {
        let mut closing = of(TurnedAway::default());
        assert_eq!(closing.unreached(), None);
        closing.counters.unreached = 4;
        let message = closing.unreached().expect("there are such");
        assert!(
            message.starts_with("4 forks could not reach the recorder"),
            "{message}"
        );
        assert!(!message.contains("--inherit-fd"), "{message}");
        closing.no_doorbell = true;
        let message = closing.unreached().expect("there are such");
        assert!(message.contains("with --no-bell"), "{message}");
    }

    // CTP-18, CTP-32
    #[test]
    fn it_helps_to_wait_for_all_only_where_that_was_not_done() {
        let mut closing = of(TurnedAway {
            late: 1,
            ..TurnedAway::default()
        });
        closing.end.how = ExitReason::Exited(0);
        let says_wait = |closing: &Closing<'_>| {
            closing
                .turned_away()
                .any(|line| line.contains("--wait-all"))
        };
        assert!(says_wait(&closing));
        closing.processes.program_ended = Some(Nanos(1));
        assert!(!says_wait(&closing));
    }
}
