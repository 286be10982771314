//! Images that were replaced by one without a probe: nobody calls any more, and the process lives on.

use ctp_trace::record::ProcessExit;

use super::Session;
use crate::proc::namespace;

impl Session<'_> {
    /// Buries those whose connections an exec has closed.
    pub(super) fn reap_replaced(&mut self) {
        for pid in self.wait.lines().hung_up() {
            if self.is_replaced(pid) {
                self.reap_process(pid, ProcessExit::Exec, self.so_far.liveness.last_alive());
            }
        }
    }

    /// An exec replaces the maps before it closes descriptors. Who only closed descriptors has our memory
    /// still; who ends has no maps, and that is noticed by itself. One that found no room for the memory
    /// hung up too, but has left nothing that could be over.
    fn is_replaced(&mut self, pid: u32) -> bool {
        if !namespace::has_other_maps(pid, self.regions.inodes()) {
            return false;
        }
        // What it wrote last may not have been read yet.
        self.regions.pass(&mut self.processes, &mut self.output);
        self.processes.has_written(pid)
    }
}
