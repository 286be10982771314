//! Processes that connect, and those that ask for memory of their own.

use std::io;

use ctp_trace::record::ProcessExit;
use rustix::io::Errno;

use super::Session;
use crate::connect::rendezvous::{self, Caller};
use crate::connect::turned_away::TurnedAway;
use crate::memory::calibrate::Calibrator;
use crate::memory::memory_set::MemorySet;
use crate::session::wait::Request;

/// Callers that are heard at the end, at least as many as the kernel ever keeps waiting: more are the work
/// of a program that connects without end.
const MOST_LATE: usize = 1 << 16;

impl Session<'_> {
    /// One at a time: to look at its maps takes long enough for others to lose events.
    pub(super) fn let_in(&mut self) {
        let Some(caller) = self.rendezvous.accept() else {
            return;
        };
        if let Some(pid) = caller.pid {
            if self.wait.lines().has_hung_up(pid) {
                self.reap_process(pid, ProcessExit::Exec, self.so_far.liveness.last_alive());
            }
            let is_there = || caller.is_there();
            match self.processes.id_of(pid) {
                Some(_) => self.processes.look_while(pid, is_there, &mut self.output),
                None => drop(self.processes.meet_while(pid, is_there, &mut self.output)),
            }
            self.watch(pid);
        }
        let requested = caller.requested;
        if let Err(error) = self.wait.add(caller) {
            self.so_far.turned_away.add(requested, &error);
        }
    }

    /// The program is waited for anyway.
    fn watch(&mut self, pid: u32) {
        if pid != self.running.pid() {
            self.wait.watch(pid);
        }
    }

    /// Each further process gets memory of its own. A process that asked, and waits no longer or has ended,
    /// is counted: nothing is recorded of it, unless it shares the first memory.
    pub(super) fn grant_memory(&mut self) {
        let calibrator = self.calibrator.as_ref();
        for request in self.wait.lines().requests() {
            if let Err(error) = grant(&request, &mut self.regions, calibrator) {
                let turned_away = &mut self.so_far.turned_away;
                turned_away.add(Some(request.requested), &error);
            }
        }
    }

    /// Counts those that still ask when it is over.
    pub(super) fn dismiss(&mut self) {
        let rendezvous = self.rendezvous;
        let callers = std::iter::from_fn(|| rendezvous.accept());
        for caller in callers.take(MOST_LATE) {
            self.dismiss_caller(caller);
        }
        self.wait.lines().hear_all();
        for request in self.wait.lines().requests() {
            self.so_far.turned_away.add_late(request.requested);
        }
    }

    /// Keeps the connection only if the process may still be about to ask.
    fn dismiss_caller(&mut self, caller: Caller) {
        match (caller.socket, caller.requested) {
            (None, requested) => {
                let error = Errno::MFILE.into();
                self.so_far.turned_away.add(requested, &error);
            }
            (Some(socket), _) => match rendezvous::heard(&socket) {
                Some(requested) => self.so_far.turned_away.add_late(requested),
                None => self.wait.lines().add(socket, caller.pid),
            },
        }
    }

    /// Processes that asked for memory, and could not use any.
    pub fn turned_away(&self) -> TurnedAway {
        TurnedAway {
            untaken: self.regions.untaken(),
            ..self.so_far.turned_away
        }
    }

    /// Processes of the program that are not in the trace, as far as that is known, or only in part, since
    /// they have overwritten their memory.
    pub fn unrecorded(&self) -> u64 {
        let turned_away = self.turned_away().count();
        let unreached = self.regions.counters().unreached;
        let damaged = self.regions.damaged();
        let counts = [turned_away, unreached, damaged].map(u64::from);
        counts.into_iter().sum()
    }
}

/// Makes memory for the process that asked, and sends it.
fn grant(
    request: &Request<'_>,
    regions: &mut MemorySet,
    calibrator: Option<&Calibrator>,
) -> io::Result<()> {
    let unknown = || io::Error::from(io::ErrorKind::NotFound);
    let socket = request.socket.filter(|socket| rendezvous::is_open(socket));
    let socket = socket.ok_or_else(unknown)?;
    let memory = request.pid.ok_or_else(unknown);
    let memory = memory
        .and_then(|pid| regions.grant(pid, request.requested))
        .inspect_err(|_| {
            // The process may wait no longer, or be gone.
            let _ = rendezvous::answer(socket, None);
        })?;
    if let Some(calibrator) = calibrator {
        calibrator.publish(memory.region().header);
    }
    rendezvous::answer(socket, Some(memory.file())).inspect_err(|_| regions.revoke_last())
}
