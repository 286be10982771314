//! Inspects the threads of programs in which a coroutine runs for long, to learn which code its thread runs. Also
//! reads the stacks of coroutines that wait for long on stacks of their own.
//!
//! The program is not stopped, see [`ctp_inspect`]. Which processes are inspected is decided here, between
//! two passes; the inspections themselves run in the [`background`], and are bounded by a [`schedule`].

pub mod background;
mod explanation;
mod freezes;
pub mod plan;
mod schedule;
mod stack_copies;
pub mod stack_scans;
pub mod stacks;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ctp_trace::record::{ProcessId, Record};

use crate::cli::config::Inspect;
use crate::harvest::LongRun;
use crate::memory::clock::Clock;
use crate::memory::memory_set::StationPlace;
use background::{Background, Request, Scope};
use plan::Plan;
use schedule::Schedule;
use stack_scans::StackScans;
use stacks::StackPlace;

/// A run of this length is inspected.
pub const LONG: Duration = Duration::from_millis(500);
/// Maximum number of stations scanned for long runs in a round.
pub const MAX_STATIONS: usize = 1 << 14;
/// Maximum number of runs that are known at a time.
pub const MAX_RUNS: usize = 256;
/// Maximum number of processes that are inspected in a recording.
pub const MAX_PROCESSES: usize = 4;
/// Time from a scan to the next.
const EVERY: Duration = Duration::from_millis(500);
/// Scans use at most one n-th of a processor.
const SHARE: u32 = 500;

/// The inspections of a recording.
#[derive(Debug)]
pub struct Inspections {
    next_scan: Instant,
    /// The station at which the next scan starts.
    pub cursor: StationPlace,
    /// The known runs.
    pub runs: Vec<(StationPlace, LongRun)>,
    schedules: HashMap<ProcessId, Schedule>,
    /// The processes of which an inspection was requested, and whether they can be read.
    readable: HashMap<ProcessId, bool>,
    background: Background,
    /// The scans for long waits on stacks.
    pub stack_scans: StackScans,
    /// The inspections that the user asked for.
    plan: Option<Plan>,
}

impl Inspections {
    /// Starts without inspections. If `freezes`, coroutines may have to wait while their stacks are copied.
    pub fn new(clock: Clock, freezes: bool) -> Self {
        Inspections {
            next_scan: Instant::now(),
            cursor: (0, 0),
            runs: Vec::new(),
            schedules: HashMap::new(),
            readable: HashMap::new(),
            background: Background::new(clock, freezes),
            stack_scans: StackScans::new(),
            plan: None,
        }
    }

    /// Also inspects processes as planned from now on, with these options. Call this before any
    /// inspection.
    pub fn follow(&mut self, plan: Plan, inspect: &Inspect) {
        self.background.set_options(inspect);
        self.plan = Some(plan);
    }

    /// Whether a planned inspection is due and all earlier inspections have ended.
    pub fn is_planned_due(&self) -> bool {
        let next = self.plan.and_then(|plan| plan.next());
        next.is_some_and(|next| next <= Instant::now()) && !self.is_working()
    }

    /// Notes that a planned inspection begins.
    pub fn begin_planned(&mut self) {
        if let Some(plan) = &mut self.plan {
            plan.begin(Instant::now());
        }
    }

    /// Whether the next scan for long runs is due.
    pub fn is_scan_due(&self) -> bool {
        self.next_scan <= Instant::now()
    }

    /// Takes the long runs that a scan found, and the processor time of the scan. The inspections of a process end when
    /// none of its runs is long any more.
    pub fn scanned(&mut self, found: Vec<(StationPlace, LongRun)>, took: Duration) {
        let now = Instant::now();
        for (place, run) in found {
            self.schedules
                .entry(run.process)
                .and_modify(|schedule| schedule.begin_again(now))
                .or_insert_with(|| Schedule::new(now));
            self.runs.push((place, run));
        }
        let runs = &self.runs;
        self.schedules
            .retain(|process, _| runs.iter().any(|(_, run)| run.process == *process));
        self.next_scan = now + EVERY.max(took * SHARE);
    }

    /// The processes whose next inspection is due.
    pub fn due(&self) -> Vec<ProcessId> {
        let now = Instant::now();
        let due = self.schedules.iter().filter(|(process, schedule)| {
            schedule.next() <= now && !self.background.is_pending(**process)
        });
        due.map(|(process, _)| *process).collect()
    }

    /// Requests an inspection of tasks and threads, unless this process cannot be read.
    pub fn request_all(&mut self, process: ProcessId, pid: u32) {
        self.request_scope(process, pid, Scope::TasksAndThreads);
    }

    /// Requests an inspection of threads, unless there are too many processes or this process cannot be
    /// read.
    pub fn request(&mut self, process: ProcessId, pid: u32) {
        let is_known = self.readable.contains_key(&process);
        if !is_known && MAX_PROCESSES <= self.readable.len() {
            return;
        }
        self.request_scope(process, pid, Scope::Threads);
    }

    fn request_scope(&mut self, process: ProcessId, pid: u32, scope: Scope) {
        if *self.readable.entry(process).or_insert(true) {
            let request = Request {
                process,
                pid,
                scope,
            };
            self.background.request(request);
        }
    }

    /// Requests the stacks of these coroutines of a process, unless the process cannot be read.
    pub fn request_stacks(&mut self, process: ProcessId, pid: u32, places: Vec<StackPlace>) {
        if *self.readable.entry(process).or_insert(true) {
            let scope = Scope::Stacks;
            let request = Request {
                process,
                pid,
                scope,
            };
            self.background.request_stacks(request, places);
        }
    }

    /// The records of the next inspection that has ended, with the process's id.
    pub fn next_answer(&mut self) -> Option<(u32, Vec<Record>)> {
        let answer = self.background.answer()?;
        let process = answer.request.process;
        self.readable.insert(process, answer.is_readable);
        let schedule = self.schedules.get_mut(&process);
        if let Some(schedule) = schedule.filter(|_| answer.request.scope != Scope::Stacks) {
            schedule.inspected(Instant::now(), answer.cost);
        }
        Some((answer.request.pid, answer.records))
    }

    /// Whether an inspection goes on.
    pub fn is_working(&self) -> bool {
        self.background.is_working()
    }

    /// Whether stacks of coroutines are still to be read.
    pub fn is_reading_stacks(&self) -> bool {
        self.background.is_reading_stacks()
    }

    /// How long the main loop may sleep; `None` if no inspection is scheduled.
    pub fn pause(&self) -> Option<Duration> {
        if self.is_working() {
            return Some(WORKING_PAUSE);
        }
        let planned = self.plan.and_then(|plan| plan.next());
        let next = self.schedules.values().map(Schedule::next).chain(planned);
        let next = next.min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }
}

/// The pause while an inspection goes on.
const WORKING_PAUSE: Duration = Duration::from_millis(50);
