//! What was read from outside during a recording: the call stacks of busy and of waiting coroutines, and
//! the threads of the blocking pool.

use std::io;

use ctp_trace::record::Nanos;

use crate::evidence::coroutine_stacks::WaitCalls;
use crate::evidence::thread_inspections::{StackFrame, ThreadInspection};
use crate::text::{Page, units};

/// At most this many threads of the blocking pool are listed.
const MAX_THREADS: usize = 8;

/// `blocked in futex, 5 inspections from +2.303161 s to +6.848028 s`
pub fn describe(inspection: &ThreadInspection) -> String {
    let first = units::moment(Nanos(inspection.first_ns));
    let last = units::moment(Nanos(inspection.last_ns));
    let when = match inspection.inspections {
        1 => format!("inspected at {last}"),
        several => format!("{several} inspections from {first} to {last}"),
    };
    format!("{}, {when}", inspection.describe())
}

/// Writes the call stack of the thread of a busy coroutine.
pub fn stack(page: &mut Page, inspection: &ThreadInspection) -> io::Result<()> {
    if inspection.frames.is_empty() {
        return Ok(());
    }
    page.gap()?;
    let last = units::moment(Nanos(inspection.last_ns));
    page.line(&format!("  stack of tid {} at {last}:", inspection.tid))?;
    frames(page, &inspection.frames)
}

/// Writes the call stack of a waiting coroutine.
pub fn of_coroutine(page: &mut Page, calls: &WaitCalls) -> io::Result<()> {
    page.gap()?;
    let at = units::moment_ns(calls.at_ns);
    let cut = if calls.whole {
        ""
    } else {
        ", innermost functions"
    };
    page.line(&format!("  stack of id {} at {at}{cut}:", calls.id))?;
    frames(page, &calls.frames)
}

fn frames(page: &mut Page, frames: &[StackFrame]) -> io::Result<()> {
    for (at, frame) in frames.iter().enumerate() {
        page.line(&format!("     #{at:<3} {}", frame.describe()))?;
    }
    Ok(())
}

/// Writes the threads of the blocking pool that run a closure of the program.
pub fn blocking_pool(page: &mut Page, inspections: &[ThreadInspection]) -> io::Result<()> {
    if inspections.is_empty() {
        return Ok(());
    }
    let threads = units::counted(inspections.len() as u64, "thread");
    page.title(&format!("In closures of the blocking pool: {threads}"))?;
    for inspection in inspections.iter().take(MAX_THREADS) {
        page.line(&format!(
            "  tid {}: {}",
            inspection.tid,
            describe(inspection)
        ))?;
        frames(page, &inspection.frames)?;
    }
    if MAX_THREADS < inspections.len() {
        let more = units::grouped((inspections.len() - MAX_THREADS) as u64);
        page.line(&format!(
            "  and {more} more (ctp-report --stacks shows all)"
        ))?;
    }
    page.gap()
}
