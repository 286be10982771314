//! Converts the times of an inspection, which are on the monotonic clock, to times of the trace.

use ctp_trace::record::{Nanos, Record, Resource};

/// The record with times since the start of the trace. A deadline before the start becomes 0.
pub fn relative(mut record: Record, start_ns: u64) -> Record {
    match &mut record {
        Record::Inspection(begin) => shift(&mut begin.at, start_ns),
        Record::InspectionEnd(end) => shift(&mut end.at, start_ns),
        Record::InspectedTask(task) => {
            for wait in &mut task.waits {
                if let Resource::Timer(deadline) = &mut wait.resource {
                    shift(deadline, start_ns);
                }
            }
        }
        _ => {}
    }
    record
}

fn shift(time: &mut Nanos, start_ns: u64) {
    time.0 = time.0.saturating_sub(start_ns);
}
