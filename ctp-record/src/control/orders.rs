//! What a process is to keep, and how a request changes it.

use ctp_nostd::control::Control;
use ctp_trace::record;

use super::Filter;

/// What may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Keep nothing from now on.
    Stop,
    /// Keep what the filter lets through.
    Start,
    /// Let through this, if recording is not stopped.
    Filter(Filter),
    /// Only tell how it stands.
    Status,
}

/// What is kept of a process, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// No event is kept.
    pub stopped: bool,
    /// While it is not stopped, events that meet this are kept.
    pub filter: Filter,
}

impl Orders {
    /// What is kept after this request.
    pub fn after(self, verb: Verb) -> Self {
        match verb {
            Verb::Stop => Orders {
                stopped: true,
                ..self
            },
            Verb::Start => Orders {
                stopped: false,
                ..self
            },
            Verb::Filter(filter) => Orders { filter, ..self },
            Verb::Status => self,
        }
    }

    /// What the probe of a process is told, which is the chosen one or another.
    pub fn of_process(&self, is_chosen: bool) -> Control {
        let filter = &self.filter;
        Control {
            stopped: self.stopped || !is_chosen,
            without_runs: filter.without_runs,
            without_suspends: filter.without_suspends,
            only_thread: filter.only_thread,
        }
    }

    /// What the trace is told: from then on, by this change, of this process or of all.
    pub fn record(&self, at: record::Nanos, generation: u32, pid: u32) -> record::Control {
        record::Control {
            at,
            generation,
            pid,
            stopped: self.stopped,
            without_runs: self.filter.without_runs,
            without_suspends: self.filter.without_suspends,
            only_thread: self.filter.only_thread,
            only_process: self.filter.only_process,
        }
    }

    /// Is anything kept out?
    pub fn are_in_force(&self) -> bool {
        *self != Orders::default()
    }
}
