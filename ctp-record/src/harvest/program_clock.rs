//! Finds the clock by which the programs of a memory state times.
//!
//! Usually this is the recorder's clock: this project's probe reads the processor's counter, which the
//! recorder has calibrated. Other probes ask the kernel, and so does this project's probe where the kernel
//! keeps time without the counter. A program in a time namespace then gets another clock. The memory does not
//! state which clock was used. But the first timestamp that a program writes is recent on only one of the
//! possible clocks.

use std::collections::HashMap;

use ctp_trace::record::ProcessId;

use super::{Harvest, Pass, StationProcess};

/// How far a time may lie outside of the recording: probes may read a coarse clock, and a counter may be
/// slightly ahead of the kernel's clock.
const LEEWAY_NS: u64 = 10_000_000;

/// The clocks of the processes of a memory, as nanoseconds by which each is ahead of the recorder's.
#[derive(Debug, Default)]
pub(super) struct KnownClocks {
    /// The clock by which all times in the memory are converted, once that clock is known.
    of_memory: Option<i64>,
    of_processes: HashMap<ProcessId, i64>,
}

impl Harvest {
    /// Finds the clock of the first process that attached, before any of its events is read. V1 peers
    /// do not attach: their clock is found when their first coroutine is introduced.
    pub(super) fn find_clock(&mut self, pass: &mut Pass<'_>) {
        if self.clocks.of_memory.is_some() {
            return;
        }
        let first = pass.region.attaches.first();
        let attached = first.and_then(|row| Some((row.pid()?, row.attached_ns())));
        if let Some((pid, attached_ns)) = attached {
            let ahead_ns = self.fitting_clock(StationProcess::Process(pid), attached_ns, pass);
            self.read_by(ahead_ns);
        }
    }

    /// Whether the times of the memory are converted by the clock of this process. If not, the times of its
    /// coroutines are wrong. The first call for a process finds its clock from `latest_ns`, the latest time in
    /// the station of its first coroutine.
    pub(super) fn is_read_by_clock_of(
        &mut self,
        process: ProcessId,
        (peer, latest_ns): (StationProcess, u64),
        pass: &mut Pass<'_>,
    ) -> bool {
        if let Some(ahead_ns) = self.clocks.of_processes.get(&process) {
            return self.clocks.of_memory == Some(*ahead_ns);
        }
        let ahead_ns = self.fitting_clock(peer, latest_ns, pass);
        self.clocks.of_processes.insert(process, ahead_ns);
        if ahead_ns != 0 {
            pass.sink.take_clock(process, ahead_ns);
        }
        if self.clocks.of_memory.is_none() {
            self.read_by(ahead_ns);
        }
        self.clocks.of_memory == Some(ahead_ns)
    }

    /// How far the process's clock is ahead of the recorder's, given a time that the process wrote a short
    /// while ago. Returns 0, the recorder's clock, if no possible clock fits.
    fn fitting_clock(&self, peer: StationProcess, written_ns: u64, pass: &mut Pass<'_>) -> i64 {
        let (start_ns, now_ns) = self.horizon.of_recorder();
        let possible = start_ns.saturating_sub(LEEWAY_NS)..=now_ns.saturating_add(LEEWAY_NS);
        let others = pass.outside.clocks_ahead_ns(peer);
        let clocks = [0].into_iter().chain(others).map(|ahead_ns: i64| {
            let our_ns = written_ns.saturating_add_signed(ahead_ns.saturating_neg());
            (ahead_ns, our_ns)
        });
        let fitting = clocks.filter(|(_, our_ns)| possible.contains(our_ns));
        let nearest = fitting.min_by_key(|(_, our_ns)| now_ns.abs_diff(*our_ns));
        nearest.map_or(0, |(ahead_ns, _)| ahead_ns)
    }

    /// Sets the clock by which all times in the memory are converted.
    fn read_by(&mut self, ahead_ns: i64) {
        self.clocks.of_memory = Some(ahead_ns);
        self.horizon.follow_clock(ahead_ns);
        if let Some(stop) = &mut self.stop {
            stop.follow_clock(ahead_ns);
        }
    }

    /// How many nanoseconds the clock of this memory's programs is ahead of the recorder's.
    pub(crate) fn ahead_ns(&self) -> i64 {
        self.clocks.of_memory.unwrap_or(0)
    }

    /// Converts a time of the recorder's clock to the clock of this memory's programs.
    pub(crate) fn program_time(&self, recorder_ns: u64) -> u64 {
        recorder_ns.saturating_add_signed(self.ahead_ns())
    }
}
