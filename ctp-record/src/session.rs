//! A program under the recorder, from its start to its end: the loop that reads its memory.

use std::io;
use std::time::{Duration, Instant};

use ctp_nostd::{Region, doorbell};
use ctp_trace::record::Ending;

use crate::calibrate::Calibrator;
use crate::harvest::Harvest;
use crate::launch::Running;
use crate::output::Output;
use crate::pace::{Next, Pace};
use crate::processes::Processes;
use crate::rendezvous::Rendezvous;
use crate::signals::{Arrived, Signals};
use crate::wait::{self, Happened, Wait};

/// Everything that takes part.
#[derive(Debug)]
pub struct Session<'s> {
    /// What is read.
    pub region: Region<'s>,
    /// Where programs connect.
    pub rendezvous: &'s Rendezvous,
    /// The program.
    pub running: Running,
    /// What it sends and what is sent to it.
    pub wait: Wait,
    /// Who asks for an end.
    pub signals: Signals,
    /// What time it is for probes, where the processor's counter can tell.
    pub calibrator: Option<Calibrator>,
    /// Who writes.
    pub processes: Processes,
    /// What was read.
    pub harvest: Harvest,
    /// Where it goes.
    pub output: Output,
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
    /// Reads until the program ends, or the user will not wait, then reads the rest.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub fn run(&mut self) -> io::Result<Over> {
        let mut pace = Pace::default();
        let mut flushed = Instant::now();
        let mut asked = false;
        let over = loop {
            let found = self
                .harvest
                .pass(&self.region, &mut self.processes, &mut self.output);
            let happened = match pace.after(found) {
                Next::Again => self.wait.wait(Duration::ZERO)?,
                Next::Nap(pause) => self.wait.wait(pause)?,
                Next::Sleep => self.sleep()?,
            };
            if let Some(over) = self.answer(happened, &mut asked)? {
                break over;
            }
            self.keep_time();
            if flushed.elapsed() >= FLUSH_EVERY {
                self.output.flush(self.harvest.totals().lost);
                flushed = Instant::now();
            }
        };
        self.harvest
            .finish(&self.region, &mut self.processes, &mut self.output);
        Ok(over)
    }

    /// Announces that nobody looks, looks once more, and waits for a bell.
    fn sleep(&mut self) -> io::Result<Happened> {
        let bell = self.region.header.tracer_sleeping();
        doorbell::arm(bell);
        wait::order();
        let found = self
            .harvest
            .pass(&self.region, &mut self.processes, &mut self.output);
        if found.events > 0 {
            doorbell::disarm(bell);
            return Ok(Happened::default());
        }
        self.output.flush(self.harvest.totals().lost);
        let happened = self.wait.wait(self.tick())?;
        let nobody_rang = doorbell::disarm(bell);
        if nobody_rang && happened == Happened::default() {
            self.check_for_rescue();
        }
        Ok(happened)
    }

    /// The tick ended the sleep: an event that is there now and rang nobody was rescued by it.
    fn check_for_rescue(&mut self) {
        let found = self
            .harvest
            .pass(&self.region, &mut self.processes, &mut self.output);
        if found.events > 0 {
            self.region.header.count_rescue();
        }
    }

    fn keep_time(&mut self) {
        let header = self.region.header;
        self.calibrator
            .take_if(|calibrator| !calibrator.keep_right(header));
    }

    fn tick(&self) -> Duration {
        let deaf = self.region.header.counters().wakes_failed > 0 || self.wait.connected() == 0;
        match self.harvest.totals().plain {
            CROWD.. => CROWDED_TICK,
            1.. => QUICK_TICK,
            0 if deaf => QUICK_TICK,
            0 => SAFETY_TICK,
        }
    }

    fn answer(&mut self, happened: Happened, asked: &mut bool) -> io::Result<Option<Over>> {
        if happened.knocked {
            self.let_in()?;
        }
        if happened.ended
            && let Some(ended) = self.running.ended()?
        {
            return Ok(Some(Over::Ended(ended.ending())));
        }
        if happened.signalled {
            for arrived in self.signals.arrived() {
                if std::mem::replace(asked, true) {
                    return Ok(Some(Over::Stopped(arrived.number)));
                }
                self.pass_on(arrived);
            }
        }
        Ok(None)
    }

    fn let_in(&mut self) -> io::Result<()> {
        while let Some(caller) = self.rendezvous.accept() {
            if let Some(pid) = caller.pid {
                self.processes.meet(pid, &mut self.output);
                self.processes.look_again(pid, &mut self.output);
            }
            self.wait.add(caller)?;
        }
        Ok(())
    }

    fn pass_on(&self, arrived: Arrived) {
        if arrived.to_us_alone
            && let Some(signal) = arrived.signal()
        {
            self.running.signal(signal);
        }
    }
}
