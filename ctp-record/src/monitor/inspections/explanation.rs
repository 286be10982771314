//! Why an inspection found nothing, as records.

use ctp_inspect::TargetError;
use ctp_trace::record::{Inspection, InspectionEnd, Record};

use crate::monitor::inspections::background::{Request, Scope};

/// The records of an inspection that found nothing, with the reason.
pub fn explanation(request: Request, error: &TargetError) -> Vec<Record> {
    let Request { process, scope, .. } = request;
    let unread = match scope {
        Scope::Threads | Scope::TasksAndThreads => "threads",
        Scope::Stacks => "stacks of coroutines",
    };
    vec![
        Record::Inspection(Inspection {
            process,
            number: 1,
            only_threads: true,
            ..Inspection::default()
        }),
        Record::InspectionEnd(InspectionEnd {
            process,
            number: 1,
            gaps: vec![format!("The {unread} cannot be read: {error}.")],
            ..InspectionEnd::default()
        }),
    ]
}

#[cfg(test)]
mod tests {
    use ctp_inspect::Denial;
    use ctp_trace::record::ProcessId;

    use super::*;

    // STB-24
    #[test]
    fn explanation_names_what_makes_stacks_unreadable() {
        let request = Request {
            process: ProcessId(1),
            pid: 7,
            scope: Scope::Stacks,
        };
        let records = explanation(request, &TargetError::Denied(Denial::PtraceScope(1)));
        let [Record::Inspection(_), Record::InspectionEnd(end)] = &records[..] else {
            panic!("{records:?}");
        };
        let expected = "The stacks of coroutines cannot be read: /proc/sys/kernel/yama/ptrace_scope \
                        is 1, which lets only its parents and root read this process.";
        assert_eq!(end.gaps, [expected]);
    }
}
