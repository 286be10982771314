//! Processes that connect, and those that ask for memory of their own.

use std::io;

use ctp_trace::record::ProcessEnding;

use super::Session;
use crate::rendezvous;

/// Callers that are still let in at the end: more are the work of one who connects without end.
const MOST_LATE: usize = 4096;

impl Session<'_> {
    /// One at a time: to look at its maps takes long enough for others to lose events.
    pub(super) fn let_in(&mut self) {
        let Some(caller) = self.rendezvous.accept() else {
            return;
        };
        if let Some(pid) = caller.pid {
            if self.wait.lines().has_hung_up(pid) {
                self.bury(pid, ProcessEnding::Exec, self.so_far.vigil.last_alive());
            }
            let is_there = || caller.is_there();
            match self.processes.id_of(pid) {
                Some(_) => self.processes.look_while(pid, is_there, &mut self.output),
                None => drop(self.processes.meet_while(pid, is_there, &mut self.output)),
            }
            self.watch(pid);
        }
        if let Err(error) = self.wait.add(caller) {
            self.so_far.turned_away.add(&error);
        }
    }

    /// The program is waited for anyway.
    fn watch(&mut self, pid: u32) {
        if pid != self.running.pid() {
            self.wait.watch(pid);
        }
    }

    /// Each further process gets memory of its own. One that waits no longer shares that of others.
    pub(super) fn grant_memory(&mut self) {
        for (socket, pid) in self.wait.lines().requests() {
            let nobody = || io::Error::from(io::ErrorKind::NotFound);
            let memory = pid
                .ok_or_else(nobody)
                .and_then(|pid| self.memories.grant(pid));
            if let (Ok(memory), Some(calibrator)) = (&memory, &self.calibrator) {
                calibrator.publish(memory.region().header);
            }
            let file = memory.as_ref().ok().map(|memory| memory.file());
            let answered = rendezvous::answer(socket, file);
            let refused = memory.err();
            if refused.is_none() && answered.is_err() {
                self.memories.take_back();
            }
            if let Some(error) = refused.or(answered.err()) {
                self.so_far.turned_away.add(&error);
            }
        }
    }

    /// Counts those who still ask when it is over.
    pub(super) fn dismiss(&mut self) {
        let callers = std::iter::from_fn(|| self.rendezvous.accept());
        for caller in callers.take(MOST_LATE) {
            self.so_far.turned_away.for_descriptors += u32::from(caller.socket.is_none());
            let socket = caller.socket.into_iter();
            socket.for_each(|socket| self.wait.lines().add(socket, caller.pid));
        }
        self.wait.lines().hear_all();
        self.so_far.turned_away.late += self.wait.lines().requests().count() as u32;
    }

    /// Processes of the program that are not in the trace, as far as that is known.
    pub fn unrecorded(&self) -> u64 {
        let unreached = self.memories.counters().unreached;
        u64::from(self.so_far.turned_away.count()) + u64::from(unreached)
    }
}
