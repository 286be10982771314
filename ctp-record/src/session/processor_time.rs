//! The recorder's own processor time: the recording ends while there is time to write what waits.

use rustix::process::{Signal, getpid, kill_process};

use super::Session;
use crate::session::processor_limit;

impl Session<'_> {
    /// Ends the recording, as the kernel does at the soft limit, where what waits to be written takes
    /// all the time that is left until the hard limit.
    pub(super) fn mind_processor_time(&mut self) {
        let is_too_much = |left: u64| left < self.regions.waiting_records();
        if processor_limit::records_left().is_some_and(is_too_much) {
            // The recorder catches this signal, and may send it to itself.
            let _ = kill_process(getpid(), Signal::XCPU);
        }
    }
}
