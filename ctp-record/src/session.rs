//! A program under the recorder, from its start to its end: the loop that reads its memory.

mod control;
mod failure;
mod lookout;
mod looks;
mod replaced;
mod snapshot;
mod vigil;

use std::io;
use std::time::{Duration, Instant};

use ctp_trace::record::{Ending, Nanos, ProcessEnding, Record};

use crate::alarms::Alarms;
use crate::args::Talk;
use crate::backlog::Backlog;
use crate::calibrate::Calibrator;
use crate::clock::Clock;
use crate::control::desk::Desk;
use crate::crash::Crashes;
use crate::harvest::Sink as _;
use crate::launch::{Ended, Running};
use crate::lookout::Lookout;
use crate::looks::Looks;
use crate::memories::Memories;
use crate::pace::{Found, Next, Pace};
use crate::processes::Processes;
use crate::rate::Rate;
use crate::rendezvous::{self, Rendezvous};
use crate::signals::{Arrived, Signals};
use crate::status::{Progress, Status};
use crate::store::Store;
use crate::survivors;
use crate::turned_away::TurnedAway;
use crate::wait::{self, Happened, Wait};
use crate::watermark::Watermark;
pub use vigil::Vigil;

/// Everything that takes part.
#[derive(Debug)]
pub struct Session<'s> {
    /// What is read.
    pub memories: Memories,
    /// Where programs connect.
    pub rendezvous: &'s Rendezvous,
    /// The program.
    pub running: Running,
    /// What it sends and what is sent to it.
    pub wait: Wait,
    /// What of that was in vain.
    pub alarms: Alarms,
    /// Who wants to control it.
    pub desk: Desk,
    /// Who wants to know what is stuck.
    pub lookout: Option<Lookout>,
    /// What was seen from outside.
    pub looks: Looks,
    /// How much to say.
    pub talk: Talk,
    /// Who asks for an end.
    pub signals: Signals,
    /// What time it is for probes, unless the processor's counter cannot tell.
    pub calibrator: Option<Calibrator>,
    /// Who writes.
    pub processes: Processes,
    /// What the kernel tells of crashes.
    pub crashes: Crashes,
    /// Where it goes.
    pub output: Store,
    /// Snapshots that were begun before the end.
    pub snapshots: u32,
    /// What is not there yet.
    pub backlog: Backlog,
    /// Was it told that nothing more can be written?
    pub has_told_of_failure: bool,
    /// How fast events come.
    pub rate: Rate,
    /// Up to when the trace says that all is told; nothing where it has no history, or is not written
    /// meanwhile.
    pub watermark: Option<Watermark>,
    /// What the user sees of it meanwhile.
    pub status: Option<Status>,
    /// What time it is in the trace.
    pub clock: Clock,
    /// Until when the programs lived.
    pub vigil: Vigil,
    /// How the program ended, and when.
    pub ended: Option<(Ended, Nanos)>,
    /// Never make the program ring: look at every tick instead.
    pub no_bell: bool,
    /// Processes that could not be let in, or got no memory, or too late.
    pub turned_away: TurnedAway,
    /// Go on until all processes that came from the program have ended.
    pub wait_all: bool,
}

/// How often a sleeping memory is looked at all the same.
const SAFETY_TICK: Duration = Duration::from_secs(1);
/// The same while some peer cannot ring, or may swallow the bell (a plain v1 peer may): half of
/// what eight slots last at an event every two milliseconds.
const QUICK_TICK: Duration = Duration::from_millis(8);
/// The same with so many plain stations that a look at them takes long.
const CROWDED_TICK: Duration = Duration::from_millis(50);
const CROWD: u32 = 1_000;
/// The file holds what is older than this.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// Callers that are still let in at the end: more are the work of one who connects without end.
const MOST_LATE: usize = 4096;

/// Why the loop goes no further.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// The program ended.
    Ended(Ending),
    /// A second signal, this one: the user does not want to wait for the program.
    Stopped(i32),
}

impl Over {
    /// For the trace.
    pub fn ending(self) -> Ending {
        match self {
            Over::Ended(ending) => ending,
            Over::Stopped(_) => Ending::Stopped,
        }
    }

    /// The recorder's exit status: the program's, 128+n if signal n ended it or the wait for it.
    pub fn status(self) -> u8 {
        match self {
            Over::Ended(Ending::Exited(code)) => code as u8,
            Over::Ended(Ending::Signalled(signal)) | Over::Stopped(signal) => 128 + signal as u8,
            Over::Ended(_) => 1,
        }
    }
}

impl Session<'_> {
    /// Reads until the program ends, or the user will not wait, then reads the rest. Gives how that
    /// was, and when: what there is to be read then may take a while, in which nobody waited.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub fn run(&mut self) -> io::Result<(Over, Nanos)> {
        let mut pace = Pace::default();
        let mut flushed = Instant::now();
        let mut asked = false;
        let (over, at) = loop {
            let before = self.clock.now();
            let found = match self.memories.should_wait() {
                true => self.memories.get_ready(),
                false => self.memories.pass(&mut self.processes, &mut self.output),
            };
            self.alarms.passed(found.events);
            self.mark_time(before, found);
            self.look_out(before, found);
            self.look_from_outside();
            let happened = match pace.after(found) {
                Next::Again => self.wait(Duration::ZERO, false)?,
                Next::Nap(pause) => self.wait(pause, false)?,
                Next::Sleep => self.sleep()?,
            };
            if let Some(over) = self.answer(happened, &mut asked)? {
                break over;
            }
            self.take_wanted();
            self.keep_time();
            self.tell_of_failure();
            self.show_status();
            if flushed.elapsed() >= FLUSH_EVERY {
                self.output.flush(self.memories.totals().lost);
                self.rate.note(self.clock.now().0, self.memories.events());
                self.crashes.hear();
                flushed = Instant::now();
            }
        };
        let over_by = self.clock.now();
        self.output.be_patient();
        self.tell_last_looks();
        self.memories.finish(&mut self.processes, &mut self.output);
        self.status = None;
        self.dismiss();
        self.crashes.hear();
        Ok((over, vigil::end(at, self.memories.latest(), over_by)))
    }

    /// The thread at which the program crashed; else that of another process that it started and
    /// that was recorded; 0 if none did, or if the kernel did not tell.
    pub fn faulting_tid(&self) -> u64 {
        let of_the_program = self.crashes.latest_in(|pid| pid == self.running.pid());
        let of_others = || self.crashes.latest_in(|pid| self.processes.has_met(pid));
        of_the_program.or_else(of_others).map_or(0, u64::from)
    }

    /// If nothing from before `at` is still to be read, the trace may say so.
    fn mark_time(&mut self, at: Nanos, found: Found) {
        let latest = self.memories.latest();
        let is_due = |it: &mut Watermark| it.is_due(at, latest);
        if !found.is_behind() && self.watermark.as_mut().is_some_and(is_due) {
            self.output.take(Record::Watermark(at));
        }
    }

    /// Announces that nobody looks, looks once more, and waits for a bell.
    fn sleep(&mut self) -> io::Result<Happened> {
        if self.no_bell {
            self.output.flush(self.memories.totals().lost);
            return self.wait(QUICK_TICK, false);
        }
        self.memories.arm();
        wait::order();
        let found = self.memories.pass(&mut self.processes, &mut self.output);
        if found.events > 0 || found.is_held {
            self.memories.disarm();
            return Ok(Happened::default());
        }
        self.output.flush(self.memories.totals().lost);
        let tick = self.tick();
        let happened = self.wait(tick, true)?;
        let nobody_rang = self.memories.disarm();
        if nobody_rang && happened == Happened::default() {
            self.memories.rescue(&mut self.processes, &mut self.output);
        }
        Ok(happened)
    }

    /// Waits, at first without hearing anything if there were too many false alarms.
    fn wait(&mut self, at_most: Duration, announced: bool) -> io::Result<Happened> {
        let deaf = self.alarms.deaf_for(at_most);
        std::thread::sleep(deaf);
        let mut happened = self.look()?;
        if happened == Happened::default() && deaf < at_most {
            self.wait.sit_out(at_most - deaf)?;
            self.vigil.was_woken(at_most - deaf, self.clock.now());
            happened = self.look()?;
        }
        self.alarms
            .waited(happened.rang || happened.knocked, announced);
        Ok(happened)
    }

    fn look(&mut self) -> io::Result<Happened> {
        let at = self.clock.now();
        let happened = self.wait.look()?;
        if !happened.ended && !happened.departed {
            self.vigil.none_had_ended(at);
        }
        Ok(happened)
    }

    fn show_status(&mut self) {
        let Some(status) = &mut self.status else {
            return;
        };
        status.show(|| {
            let totals = self.memories.totals();
            Progress {
                events: totals.events,
                lost: totals.lost,
                backlog_bytes: self.backlog.bytes(),
                written_bytes: self.output.written_bytes(),
                failure: self.output.failure(),
            }
        });
    }

    fn keep_time(&mut self) {
        let headers = self.memories.headers();
        self.calibrator
            .take_if(|calibrator| !calibrator.keep_right(headers));
    }

    fn tick(&mut self) -> Duration {
        let tick = self.tick_of_memories();
        let pauses = [
            self.lookout.as_ref().map(Lookout::pause),
            self.looks.pause(),
        ];
        pauses.into_iter().flatten().fold(tick, Duration::min)
    }

    fn tick_of_memories(&mut self) -> Duration {
        let connected = self.wait.lines().connected();
        let deaf = self.memories.counters().wakes_failed > 0 || connected == 0;
        match self.memories.totals().plain {
            CROWD.. => CROWDED_TICK,
            1.. => QUICK_TICK,
            0 if deaf => QUICK_TICK,
            // Deaths that are kept out do not ring, and their stations are wanted.
            0 if self.memories.are_controlled() => CROWDED_TICK,
            0 => SAFETY_TICK,
        }
    }

    fn answer(
        &mut self,
        happened: Happened,
        asked: &mut bool,
    ) -> io::Result<Option<(Over, Nanos)>> {
        if happened.knocked {
            self.let_in();
        }
        if happened.rang {
            self.bury_replaced();
        }
        // Whoever looked whether a process has hung up has heard what its new image wants.
        if happened.rang || happened.knocked {
            self.grant_memory();
        }
        if happened.asked {
            self.serve();
        }
        if happened.departed {
            for pid in self.wait.departed() {
                self.bury(pid, ProcessEnding::Gone, self.vigil.last_alive());
            }
        }
        if happened.ended
            && let Some(ended) = self.running.ended()?
        {
            self.wait.forget_program(&self.running)?;
            self.ended = Some((ended, self.vigil.last_alive()));
        }
        if let Some((ended, at)) = self.ended {
            let over = Over::Ended(ended.ending());
            if !self.wait_all {
                return Ok(Some((over, at)));
            }
            let at = self.bury(self.running.pid(), ended.process_ending(), at);
            self.ended = Some((ended, at));
            if self.nobody_is_left() {
                return Ok(Some((over, self.vigil.last_alive())));
            }
        }
        let asked_for = happened.signalled.then(|| self.obey(asked)).flatten();
        Ok(asked_for.map(|over| (over, self.clock.now())))
    }

    /// The first signal that asks for an end is the program's, the second one the recorder's. One that comes when only
    /// others are waited for ends that.
    fn obey(&mut self, asked: &mut bool) -> Option<Over> {
        for arrived in self.signals.arrived() {
            if let Some(recorder) = self.output.flight()
                && recorder.heeds(arrived.number)
            {
                recorder.want();
                continue;
            }
            if !arrived.asks_for_an_end() {
                self.pass_on(arrived);
                continue;
            }
            if let Some((ended, _)) = self.ended {
                return Some(Over::Ended(ended.ending()));
            }
            if std::mem::replace(asked, true) {
                return Some(Over::Stopped(arrived.number));
            }
            self.pass_on(arrived);
        }
        None
    }

    /// One at a time: to look at its maps takes long enough for others to lose events.
    fn let_in(&mut self) {
        let Some(caller) = self.rendezvous.accept() else {
            return;
        };
        if let Some(pid) = caller.pid {
            if self.wait.lines().has_hung_up(pid) {
                self.bury(pid, ProcessEnding::Exec, self.clock.now());
            }
            let is_there = || caller.is_there();
            match self.processes.id_of(pid) {
                Some(_) => self.processes.look_while(pid, is_there, &mut self.output),
                None => drop(self.processes.meet_while(pid, is_there, &mut self.output)),
            }
            self.watch(pid);
        }
        if let Err(error) = self.wait.add(caller) {
            self.turned_away.add(&error);
        }
    }

    /// The program is waited for anyway.
    fn watch(&mut self, pid: u32) {
        if pid != self.running.pid() {
            self.wait.watch(pid);
        }
    }

    /// Each further process gets memory of its own. One that waits no longer shares that of others.
    fn grant_memory(&mut self) {
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
                self.turned_away.add(&error);
            }
        }
    }

    /// Counts those who still ask when it is over.
    fn dismiss(&mut self) {
        let callers = std::iter::from_fn(|| self.rendezvous.accept());
        for caller in callers.take(MOST_LATE) {
            self.turned_away.for_descriptors += u32::from(caller.socket.is_none());
            let socket = caller.socket.into_iter();
            socket.for_each(|socket| self.wait.lines().add(socket, caller.pid));
        }
        self.wait.lines().hear_all();
        self.turned_away.late += self.wait.lines().requests().count() as u32;
    }

    /// Processes of the program that are not in the trace, as far as that is known.
    pub fn unrecorded(&self) -> u64 {
        let unreached = self.memories.counters().unreached;
        u64::from(self.turned_away.count()) + u64::from(unreached)
    }

    /// A process, or the image that ran in it, is no more; it was last known to live then. Gives when
    /// it ended, which is not before its latest event.
    fn bury(&mut self, pid: u32, how: ProcessEnding, alive: Nanos) -> Nanos {
        self.wait.lines().forget(pid);
        let Some(process) = self.processes.id_of(pid) else {
            return alive;
        };
        let by = self.clock.now();
        let latest = self
            .memories
            .bury(pid, process, &mut self.processes, &mut self.output);
        let at = vigil::end(alive, latest, by);
        self.processes.part_with(pid, at, how, &mut self.output);
        at
    }

    /// No process that came from the program lives on. Those that do are waited for from now on.
    fn nobody_is_left(&mut self) -> bool {
        if self.wait.watched() == 0 {
            for (pid, _) in survivors::of(&self.rendezvous.path()) {
                self.wait.watch(pid);
            }
        }
        self.wait.watched() == 0
    }

    fn pass_on(&self, arrived: Arrived) {
        if arrived.to_us_alone
            && let Some(signal) = arrived.signal()
        {
            self.running.signal(signal);
        }
    }
}
