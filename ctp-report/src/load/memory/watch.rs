//! Ends the report where it would take more memory than it may.
//!
//! What is read of a trace, and of the files that it names, is counted before it is kept. What a view
//! makes of that depends on the view: a row, a proof or a name for each coroutine, site or group. A
//! trace may be made up so that these take many times its own memory. To watch the process bounds
//! all views, also those that are yet to be written.

use std::io::{self, Write as _};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::resident_bytes;

/// The most memory that may be taken; none is set before the trace is opened.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// The time between two looks. A look takes some microseconds.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// What may be taken between two looks, also where other processes keep all processors busy.
const SLACK_BYTES: u64 = 24 << 20;

pub(super) fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Relaxed);
}

/// From now on a thread watches how much memory this process takes, and ends it with a message and
/// status 1 before that is more than is allowed for the trace.
pub fn end_when_too_large() {
    let watch = thread::Builder::new().name("memory".to_owned());
    // Without a thread more memory may be taken, and the report is as good.
    let _ = watch.spawn(|| {
        loop {
            let limit = LIMIT.load(Relaxed);
            let most = limit - SLACK_BYTES.min(limit / 4);
            if resident_bytes().is_some_and(|bytes| most < bytes) {
                end(limit);
            }
            thread::sleep(BETWEEN_LOOKS);
        }
    });
}

fn end(limit: u64) -> ! {
    // Without a standard error the status says it.
    let _ = writeln!(
        io::stderr(),
        "ctp-report: what is shown of the trace takes more than {} MiB of memory, far more than its \
         size suggests: allow more with --max-memory, or record again",
        limit >> 20
    );
    process::exit(1)
}
