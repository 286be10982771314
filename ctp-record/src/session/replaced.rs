//! Finds images that an exec replaced by an image without a probe: the process lives on but does not connect again.

use ctp_trace::record::ProcessExit;

use super::Session;
use crate::proc::namespace;

impl Session<'_> {
    /// Removes images whose connections an exec has closed.
    pub(super) fn reap_replaced(&mut self) {
        for pid in self.wait.connections().hung_up() {
            if self.is_replaced(pid) {
                self.reap_process(pid, ProcessExit::Exec, self.so_far.liveness.last_alive());
            }
        }
    }

    /// Whether an exec has replaced the image. An exec replaces the maps before it closes descriptors. A process that
    /// only closed its descriptors still maps the recorder's memory. A process that is ending has no maps, and its end
    /// is noticed separately. A process that could not map the memory hung up too, but has recorded nothing.
    fn is_replaced(&mut self, pid: u32) -> bool {
        if !namespace::has_other_maps(pid, self.regions.inodes()) {
            return false;
        }
        // Its last events may not have been read yet.
        self.regions.pass(&mut self.processes, &mut self.output);
        self.processes.has_written(pid)
    }
}
