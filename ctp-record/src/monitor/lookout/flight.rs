//! A look at what a flight recorder has: a snapshot is composed as if to be written, and counted
//! instead.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use ctp_trace::record::{Nanos, Record};

use super::{Sighting, Watch};
use crate::flight::{Plan, SnapshotInput, assemble};
use crate::harvest::{IdleReport, Sink};
use crate::memory::clock::processor_time;
use crate::session::promptness;

/// Looks at it on a thread of its own.
///
/// # Errors
/// Those of the kernel: there are too many threads.
pub fn look(
    mut gathered: SnapshotInput,
    thresholds: Vec<Nanos>,
    sender: Sender<Sighting>,
) -> io::Result<()> {
    let work = move || {
        promptness::step_back();
        let mut watch = Watch::new(&gathered.start, thresholds);
        let plan = Plan::of(&mut gathered);
        let at = assemble(gathered, plan, &mut watch).end.at;
        let sighting = watch.look(at, IdleReport::default());
        drop(watch); // which takes its time too
        let cost = processor_time();
        // Nobody listens when it is over.
        let _ = sender.send(Sighting { cost, ..sighting });
    };
    let thread = thread::Builder::new().name("lookout".into());
    thread.spawn(work).map(drop)
}

impl Sink for Watch {
    fn take(&mut self, record: Record) {
        Watch::take(self, &record);
    }
}
