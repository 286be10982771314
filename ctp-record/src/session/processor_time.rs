//! Ends the recording before the limit of processor time (`ulimit -t`), while there is time left to write the backlog.

use rustix::process::{Signal, getpid, kill_process};

use super::Session;
use crate::session::processor_limit;

impl Session<'_> {
    /// Ends the recording if writing the backlog would need more than half of the time left until the hard limit. Does so
    /// with the signal that the kernel sends at the soft limit.
    pub(super) fn end_before_time_limit(&mut self) {
        let left = processor_limit::records_left();
        if left.is_some_and(|left| left < self.regions.waiting_records()) {
            // The recorder catches this signal and ends the recording.
            let _ = kill_process(getpid(), Signal::XCPU);
        }
    }
}
