//! Processes that connect, and those that request their own memory.

use std::io;

use ctp_trace::record::ProcessExit;
use rustix::io::Errno;

use super::Session;
use crate::connect::rendezvous::{self, Caller};
use crate::connect::turned_away::TurnedAway;
use crate::memory::calibrate::Calibrator;
use crate::memory::memory_set::MemorySet;
use crate::session::wait::PendingRequest;

/// Maximum number of callers handled at the end. The kernel's limit of pending connections is not higher. More can only
/// come from a program that connects in an endless loop.
const MAX_LATE: usize = 1 << 16;

impl Session<'_> {
    /// Admits a single caller: reading a process's maps takes so long that other processes could lose events.
    pub(super) fn let_in(&mut self) {
        let Some(caller) = self.rendezvous.accept() else {
            return;
        };
        if let Some(pid) = caller.pid {
            if self.wait.connections().has_hung_up(pid) {
                self.reap_process(pid, ProcessExit::Exec, self.so_far.liveness.last_alive());
            }
            let is_connected = || caller.is_connected();
            match self.processes.id_of(pid) {
                Some(_) => {
                    self.processes
                        .describe_modules_while(pid, is_connected, &mut self.output)
                }
                None => drop(
                    self.processes
                        .meet_while(pid, is_connected, &mut self.output),
                ),
            }
            self.watch(pid);
        }
        if let Err(refused) = self.wait.add(caller) {
            let turned_away = &mut self.so_far.turned_away;
            turned_away.add(refused.requested, &refused.error);
        }
    }

    /// Watches for the end of a process other than the program, which is watched already.
    fn watch(&mut self, pid: u32) {
        if pid != self.running.pid() {
            self.wait.watch(pid);
        }
    }

    /// Grants memory to each process that requested it. A process that hung up or ended meanwhile is counted:
    /// nothing of it is recorded, unless it shares the first memory.
    pub(super) fn grant_memory(&mut self) {
        let calibrator = self.calibrator.as_ref();
        for request in self.wait.connections().requests() {
            if let Err(error) = grant(&request, &mut self.regions, calibrator) {
                let turned_away = &mut self.so_far.turned_away;
                turned_away.add(Some(request.requested), &error);
            }
        }
    }

    /// Counts the callers and requests that are pending at the end.
    pub(super) fn dismiss(&mut self) {
        let rendezvous = self.rendezvous;
        let callers = std::iter::from_fn(|| rendezvous.accept());
        for caller in callers.take(MAX_LATE) {
            self.dismiss_caller(caller);
        }
        self.wait.connections().read_last();
        for request in self.wait.connections().requests() {
            self.so_far.turned_away.add_late(request.requested);
        }
    }

    fn dismiss_caller(&mut self, caller: Caller) {
        let turned_away = &mut self.so_far.turned_away;
        match caller.socket {
            None => turned_away.add(caller.requested, &Errno::MFILE.into()),
            Some(socket) => {
                let requested = rendezvous::last_request(&socket);
                requested
                    .into_iter()
                    .for_each(|requested| turned_away.add_late(requested));
            }
        }
    }

    /// Processes that requested memory and could not use any.
    pub fn turned_away(&self) -> TurnedAway {
        TurnedAway {
            untaken: self.regions.untaken(),
            ..self.so_far.turned_away
        }
    }

    /// Processes of the program that are missing from the trace, or recorded in part because they have overwritten
    /// their memory.
    pub fn unrecorded(&self) -> u64 {
        let turned_away = self.turned_away().count();
        let unreached = self.regions.counters().unreached;
        let damaged = self.regions.damaged();
        let counts = [turned_away, unreached, damaged].map(u64::from);
        counts.into_iter().sum()
    }
}

/// Creates memory for the process and sends it.
fn grant(
    request: &PendingRequest<'_>,
    regions: &mut MemorySet,
    calibrator: Option<&Calibrator>,
) -> io::Result<()> {
    let socket = request.socket.filter(|socket| rendezvous::is_open(socket));
    let socket = socket.ok_or(io::ErrorKind::NotFound)?;
    let memory = request
        .pid
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    let memory = memory
        .and_then(|pid| regions.grant(pid, request.requested))
        .inspect_err(|_| {
            // Fails if the process has hung up or ended.
            let _ = rendezvous::answer(socket, None);
        })?;
    if let Some(calibrator) = calibrator {
        calibrator.publish(memory.region().header);
    }
    rendezvous::answer(socket, Some(memory.file())).inspect_err(|_| regions.revoke_last())
}
