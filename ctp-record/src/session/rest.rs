//! Sleeps between two passes.

use std::io;
use std::time::{Duration, Instant};

use super::{AttachedPrograms, Session};
use crate::monitor::stuck_monitor::StuckMonitor;
use crate::session::pace::Next;
use crate::session::wait::{self, Happened};

/// How often the memories are read without a ring while the recorder sleeps.
const SAFETY_TICK: Duration = Duration::from_secs(1);
/// How often while a program cannot ring, or may leave out a ring, as a v1 program may: half of the 16 ms in which an
/// event every 2 ms fills eight slots.
const QUICK_TICK: Duration = Duration::from_millis(8);
/// How often with so many v1 stations that a pass takes long, or while a filter may drop deaths.
const CROWDED_TICK: Duration = Duration::from_millis(50);
/// How long lanes collect events before they are read.
const BATCH_PAUSE: Duration = Duration::from_millis(50);
/// After fewer events, the output is flushed before the next batch. With more events, flushing each time would produce
/// many small chunks.
const FEW_EVENTS: u64 = 64;
/// A batch of this many events may use up the pages that were prefaulted for the threads.
const MANY_EVENTS: u64 = 8_192;
const MANY: u32 = 1_000;

impl Session<'_> {
    /// Waits until the next pass is due, and returns what happened meanwhile.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub(super) fn rest(&mut self, next: Next) -> io::Result<Happened> {
        match next {
            Next::Again => self.nap(Duration::ZERO),
            Next::Nap(pause) => self.nap(pause),
            Next::Batch { events } => self.batch(events),
            Next::Sleep => self.sleep(),
        }
    }

    /// Whether nothing is lost if the memories are not read for a short time. Probes must be able to ring.
    pub(super) fn can_batch(&mut self) -> bool {
        !self.options.no_doorbell && !self.may_miss_rings() && self.regions.can_be_left_unread()
    }

    /// Waits without the doorbell, while the drainer copies records.
    fn nap(&mut self, pause: Duration) -> io::Result<Happened> {
        self.regions.start_draining();
        self.wait(pause, false)
    }

    /// Waits while lanes collect events, until a probe reports a shortage or something else happens. `events` is the
    /// number that the pass before found.
    fn batch(&mut self, events: u64) -> io::Result<Happened> {
        if events < FEW_EVENTS {
            self.output.flush(self.regions.totals().lost);
        }
        let pause = self.tick().min(BATCH_PAUSE);
        self.regions.prefault(MANY_EVENTS <= events);
        self.regions.arm_for_shortage();
        let happened = self.wait(pause, true)?;
        self.regions.disarm();
        if happened.has_ring {
            self.regions.start_draining();
        }
        Ok(happened)
    }

    /// Arms the doorbell, reads once more, and waits for a ring.
    fn sleep(&mut self) -> io::Result<Happened> {
        if self.options.no_doorbell {
            self.output.flush(self.regions.totals().lost);
            return self.wait(QUICK_TICK, false);
        }
        self.regions.arm();
        wait::fence_programs();
        let found = self.regions.pass(&mut self.processes, &mut self.output);
        if found.events > 0 || found.is_behind() {
            self.regions.disarm();
            return Ok(Happened::default());
        }
        self.output.flush(self.regions.totals().lost);
        let happened = self.wait_until_used()?;
        let no_doorbell_rang = self.regions.disarm();
        if no_doorbell_rang && happened == Happened::default() {
            self.regions.rescue(&mut self.processes, &mut self.output);
        }
        Ok(happened)
    }

    /// Waits. After too many false alarms, the first part of the wait ignores rings and requests.
    fn wait(&mut self, at_most: Duration, announced: bool) -> io::Result<Happened> {
        let ignored = self.so_far.alarms.ignore_for(at_most);
        std::thread::sleep(ignored);
        let mut happened = self.poll()?;
        if happened == Happened::default() && ignored < at_most {
            self.wait.wait_at_most(at_most - ignored)?;
            self.so_far
                .liveness
                .note_wait_end(at_most - ignored, self.clock.now());
            happened = self.poll()?;
        }
        self.so_far.alarms.note_wait(
            happened.has_ring || happened.has_connection || happened.has_control_request,
            announced,
        );
        Ok(happened)
    }

    fn poll(&mut self) -> io::Result<Happened> {
        let at = self.clock.now();
        let happened = self.wait.poll()?;
        if !happened.has_program_end && !happened.has_process_end {
            self.so_far.liveness.none_had_ended(at);
        }
        Ok(happened)
    }

    /// Waits for a tick. While no program has used a memory, keeps waiting, tick by tick, until another check is
    /// due: a program without a probe costs little.
    fn wait_until_used(&mut self) -> io::Result<Happened> {
        let tick = self.tick();
        let end = Instant::now() + self.until_other_checks();
        loop {
            let happened = self.wait(tick, true)?;
            let is_due = self.regions.were_used() || end <= Instant::now();
            if is_due || happened != Happened::default() {
                return Ok(happened);
            }
        }
    }

    fn tick(&mut self) -> Duration {
        self.tick_of_regions().min(self.until_other_checks())
    }

    /// How long the main loop may sleep as far as the memories do not matter.
    fn until_other_checks(&self) -> Duration {
        let pauses = [
            self.stuck_monitor.as_ref().map(StuckMonitor::pause),
            self.observations.pause(),
            self.inspections.pause(),
            self.attached.as_ref().and_then(AttachedPrograms::until_end),
        ];
        pauses
            .into_iter()
            .flatten()
            .fold(SAFETY_TICK, Duration::min)
    }

    /// Whether rings of programs may not arrive.
    fn may_miss_rings(&mut self) -> bool {
        let connected = self.wait.connections().connected();
        self.regions.counters().wakes_failed > 0 || connected == 0
    }

    fn tick_of_regions(&mut self) -> Duration {
        let may_miss_rings = self.may_miss_rings();
        match self.regions.totals().v1_coroutines {
            MANY.. => CROWDED_TICK,
            1.. => QUICK_TICK,
            0 if may_miss_rings => QUICK_TICK,
            // Deaths dropped by the filter do not ring, but their stations are needed.
            0 if self.regions.are_controlled() => CROWDED_TICK,
            0 => SAFETY_TICK,
        }
    }
}
