//! Checks what a flight recorder keeps: composes a snapshot and judges it instead of writing it.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use ctp_trace::record::{Nanos, Record};

use super::{StuckObservation, Watch};
use crate::flight::{SnapshotInput, SnapshotPlan, assemble};
use crate::harvest::{IdleReport, Sink};
use crate::memory::clock::processor_time;
use crate::session::scheduling_priority;

/// Runs the check on its own thread.
///
/// # Errors
/// Those of the kernel: too many threads.
pub fn judge(
    mut gathered: SnapshotInput,
    thresholds: Vec<Nanos>,
    sender: Sender<StuckObservation>,
) -> io::Result<()> {
    let thread = thread::Builder::new().name("stuck-monitor".into());
    let started = thread.spawn(move || {
        scheduling_priority::step_back();
        let mut watch = Watch::new(&gathered.start, thresholds);
        let plan = SnapshotPlan::of(&mut gathered);
        let at = assemble(gathered, plan, &mut watch).end.at;
        let stuck_observation = watch.judge(at, IdleReport::default());
        drop(watch); // counts as cost, too
        let cost = processor_time();
        // Fails if the recorder has ended.
        let _ = sender.send(StuckObservation {
            cost,
            ..stuck_observation
        });
    });
    started.map(drop)
}

impl Sink for Watch {
    fn take(&mut self, record: Record) {
        Watch::take(self, &record);
    }
}
