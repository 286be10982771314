//! A look at what a flight recorder has: a snapshot is composed as if to be written, and counted
//! instead.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use ctp_trace::record::{Nanos, Record};

use super::{StuckObservation, Watch};
use crate::flight::{Plan, SnapshotInput, assemble};
use crate::harvest::{IdleReport, Sink};
use crate::memory::clock::processor_time;
use crate::session::scheduling_priority;

/// Looks at it on a thread of its own.
///
/// # Errors
/// Those of the kernel: there are too many threads.
pub fn look(
    mut gathered: SnapshotInput,
    thresholds: Vec<Nanos>,
    sender: Sender<StuckObservation>,
) -> io::Result<()> {
    let work = move || {
        scheduling_priority::step_back();
        let mut watch = Watch::new(&gathered.start, thresholds);
        let plan = Plan::of(&mut gathered);
        let at = assemble(gathered, plan, &mut watch).end.at;
        let stuck_observation = watch.look(at, IdleReport::default());
        drop(watch); // which takes its time too
        let cost = processor_time();
        // Nobody listens when it is over.
        let _ = sender.send(StuckObservation {
            cost,
            ..stuck_observation
        });
    };
    let thread = thread::Builder::new().name("stuck-monitor".into());
    thread.spawn(work).map(drop)
}

impl Sink for Watch {
    fn take(&mut self, record: Record) {
        Watch::take(self, &record);
    }
}
