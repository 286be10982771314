//! The parts that only a recording of already running programs has: requests to attach, inspections that the user asked
//! for, and an end that the programs do not notice.

use std::time::{Duration, Instant};

use ctp_trace::record::{Nanos, Record};

use super::{EndReason, Session};
use crate::attach::FoundPrograms;
use crate::cli::config::{HowLong, Inspect, Verbosity};
use crate::cli::stderr;
use crate::inspection::account::Account;
use crate::inspection::closing;
use crate::monitor::inspections::plan::Plan;

/// The programs of a recording that ran before it.
#[derive(Debug)]
pub struct AttachedPrograms {
    /// All processes that the user named.
    pids: Vec<u32>,
    /// The programs with a probe.
    programs: FoundPrograms,
    ends_at: Option<Instant>,
    /// What the inspections found.
    account: Account,
}

impl AttachedPrograms {
    /// Creates the state before the first inspection.
    pub fn new(inspect: &Inspect, programs: FoundPrograms) -> Self {
        let ends_at = match inspect.how_long {
            HowLong::Inspections(_) => None,
            HowLong::Time(time) => Instant::now().checked_add(time),
        };
        AttachedPrograms {
            pids: inspect.pids.clone(),
            programs,
            ends_at,
            account: Account::default(),
        }
    }

    /// The rest of the time that the user has set.
    pub(super) fn until_end(&self) -> Option<Duration> {
        let ends_at = self.ends_at?;
        Some(ends_at.saturating_duration_since(Instant::now()))
    }

    /// Takes a record of an inspection.
    pub(super) fn take(&mut self, record: &Record) {
        self.account.take(record);
    }

    /// Prints what the inspections found, and which programs were not recorded.
    pub fn say(&self, verbosity: Verbosity) {
        if verbosity > Verbosity::Quiet {
            let mut lines = closing::found_lines(&self.account);
            lines.extend(self.programs.missing());
            let lines = lines.iter().map(|line| format!("ctp-record: {line}\n"));
            stderr::say(&lines.collect::<String>());
        }
    }
}

impl Session<'_> {
    /// From now on, also follows these programs.
    pub(super) fn follow(&mut self, attached: AttachedPrograms, inspect: &Inspect) {
        for pid in &attached.pids {
            self.processes.meet(*pid, &mut self.output);
            if *pid != self.running.pid() {
                self.wait.watch(*pid);
            }
        }
        let count = match inspect.how_long {
            HowLong::Inspections(count) => Some(count),
            HowLong::Time(_) => None,
        };
        self.inspections
            .follow(Plan::new(inspect.every, count), inspect);
        self.attached = Some(attached);
    }

    /// Requests the inspections that the user asked for, if they are due.
    pub(super) fn inspect_as_planned(&mut self) {
        if self.inspections.is_planned_due() {
            self.inspect_followed();
            self.request_all_stacks(None);
        }
    }

    /// Requests an inspection of the processes that the user named.
    pub(super) fn inspect_followed(&mut self) {
        let Some(attached) = &self.attached else {
            return;
        };
        for pid in &attached.pids {
            if let Some(process) = self.processes.id_of(*pid) {
                self.inspections.request_all(process, *pid);
            }
        }
        self.inspections.begin_planned();
    }

    /// Returns the end of the recording if the time that the user has set for it is over.
    pub(super) fn end_by_time(&self) -> Option<(EndReason, Nanos)> {
        let ends_at = self.attached.as_ref()?.ends_at?;
        (ends_at <= Instant::now()).then(|| (EndReason::Requested, self.clock.now()))
    }

    /// Takes back requests that no program has noticed.
    pub(super) fn stop_attaching(&self) {
        if let Some(attached) = &self.attached {
            attached.programs.withdraw();
        }
    }
}
