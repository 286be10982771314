//! Where threads are that were inspected during a recording: call stacks below a busy coroutine, and the
//! threads of the blocking pool.

use std::io;

use ctp_trace::record::Nanos;

use crate::evidence::thread_looks::ThreadLook;
use crate::text::{self, Page, units};

/// At most this many threads of the blocking pool are listed.
const MAX_THREADS: usize = 8;

/// `blocked in futex, 5 looks from +2.303161 s to +6.848028 s`
pub fn describe(look: &ThreadLook) -> String {
    let first = units::moment(Nanos(look.first_ns));
    let last = units::moment(Nanos(look.last_ns));
    let when = match look.looks {
        1 => format!("look at {last}"),
        looks => format!("{looks} looks from {first} to {last}"),
    };
    format!("{}, {when}", look.describe())
}

/// Writes the call stack of the thread of a busy coroutine.
pub fn stack(page: &mut Page, look: &ThreadLook) -> io::Result<()> {
    if look.frames.is_empty() {
        return Ok(());
    }
    page.gap()?;
    let last = units::moment(Nanos(look.last_ns));
    page.line(&format!("  stack of tid {} at {last}:", look.tid))?;
    frames(page, look)
}

fn frames(page: &mut Page, look: &ThreadLook) -> io::Result<()> {
    for (at, frame) in look.frames.iter().enumerate() {
        let text = text::cut_middle(&frame.describe(), 90);
        page.line(&format!("     #{at:<3} {text}"))?;
    }
    Ok(())
}

/// Writes the threads of the blocking pool that run a closure of the program.
pub fn blocking_pool(page: &mut Page, looks: &[ThreadLook]) -> io::Result<()> {
    if looks.is_empty() {
        return Ok(());
    }
    let threads = units::counted(looks.len() as u64, "thread");
    page.line(&format!("In closures of the blocking pool: {threads}"))?;
    for look in looks.iter().take(MAX_THREADS) {
        page.line(&format!("  tid {}: {}", look.tid, describe(look)))?;
        frames(page, look)?;
    }
    if MAX_THREADS < looks.len() {
        let more = units::grouped((looks.len() - MAX_THREADS) as u64);
        page.line(&format!(
            "  and {more} more (ctp-report --stacks shows all)"
        ))?;
    }
    page.gap()
}
