//! Sleeps between two passes.

use std::io;
use std::time::Duration;

use super::Session;
use crate::monitor::stuck_monitor::StuckMonitor;
use crate::session::pace::Next;
use crate::session::wait::{self, Happened};

/// How often a sleeping memory is read without a ring.
const SAFETY_TICK: Duration = Duration::from_secs(1);
/// How often while a program cannot ring, or may swallow the ring as a v1 program may: half of the time that
/// eight slots last at an event every two milliseconds.
const QUICK_TICK: Duration = Duration::from_millis(8);
/// How often with so many v1 stations that a pass takes long.
const CROWDED_TICK: Duration = Duration::from_millis(50);
const MANY: u32 = 1_000;

impl Session<'_> {
    /// Waits until the next pass is due, and returns what happened meanwhile.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub(super) fn rest(&mut self, next: Next) -> io::Result<Happened> {
        match next {
            Next::Again => self.wait(Duration::ZERO, false),
            Next::Nap(pause) => self.wait(pause, false),
            Next::Sleep => self.sleep(),
        }
    }

    /// Arms the doorbell, reads once more, and waits for a ring.
    fn sleep(&mut self) -> io::Result<Happened> {
        if self.options.no_doorbell {
            self.output.flush(self.regions.totals().lost);
            return self.wait(QUICK_TICK, false);
        }
        self.regions.arm();
        wait::order();
        let found = self.regions.pass(&mut self.processes, &mut self.output);
        if found.events > 0 || found.is_behind() {
            self.regions.disarm();
            return Ok(Happened::default());
        }
        self.output.flush(self.regions.totals().lost);
        let tick = self.tick();
        let happened = self.wait(tick, true)?;
        let no_doorbell_rang = self.regions.disarm();
        if no_doorbell_rang && happened == Happened::default() {
            self.regions.rescue(&mut self.processes, &mut self.output);
        }
        Ok(happened)
    }

    /// Waits. After too many false alarms, the first part of the wait ignores all events.
    fn wait(&mut self, at_most: Duration, announced: bool) -> io::Result<Happened> {
        let deaf = self.so_far.alarms.deaf_for(at_most);
        std::thread::sleep(deaf);
        let mut happened = self.poll()?;
        if happened == Happened::default() && deaf < at_most {
            self.wait.sit_out(at_most - deaf)?;
            self.so_far
                .liveness
                .was_woken(at_most - deaf, self.clock.now());
            happened = self.poll()?;
        }
        self.so_far.alarms.waited(
            happened.rang || happened.knocked || happened.requested,
            announced,
        );
        Ok(happened)
    }

    fn poll(&mut self) -> io::Result<Happened> {
        let at = self.clock.now();
        let happened = self.wait.poll()?;
        if !happened.ended && !happened.departed {
            self.so_far.liveness.none_had_ended(at);
        }
        Ok(happened)
    }

    fn tick(&mut self) -> Duration {
        let tick = self.tick_of_regions();
        let pauses = [
            self.stuck_monitor.as_ref().map(StuckMonitor::pause),
            self.looks.pause(),
            self.inspections.pause(),
        ];
        pauses.into_iter().flatten().fold(tick, Duration::min)
    }

    fn tick_of_regions(&mut self) -> Duration {
        let connected = self.wait.lines().connected();
        let deaf = self.regions.counters().wakes_failed > 0 || connected == 0;
        match self.regions.totals().plain {
            MANY.. => CROWDED_TICK,
            1.. => QUICK_TICK,
            0 if deaf => QUICK_TICK,
            // Deaths dropped by the filter do not ring, but their stations are needed.
            0 if self.regions.are_controlled() => CROWDED_TICK,
            0 => SAFETY_TICK,
        }
    }
}
