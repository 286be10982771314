//! Which events a process keeps, and how a request changes this.

use ctp_nostd::control::Control;
use ctp_trace::record;

use super::Filter;

/// A request that reads or changes what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Keep no events from now on.
    Stop,
    /// Resume, with the filter as set.
    Start,
    /// Set the filter, which applies unless recording is stopped.
    Filter(Filter),
    /// Report the status only.
    Status,
}

/// What is kept of a process, or of all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// No event is kept.
    pub stopped: bool,
    /// Unless stopped, events that meet this filter are kept.
    pub filter: Filter,
}

impl Orders {
    /// The orders after this request.
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

    /// The control word for a process's probe. `is_chosen`: the filter's `pid=` accepts this process.
    pub fn of_process(&self, is_chosen: bool) -> Control {
        let filter = &self.filter;
        Control {
            stopped: self.stopped || !is_chosen,
            without_runs: filter.without_runs,
            without_suspends: filter.without_suspends,
            only_thread: filter.only_thread,
        }
    }

    /// The trace record that these orders took effect at this time, for the process `pid` or, if 0, for all.
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

    /// Whether the orders drop any events.
    pub fn are_in_force(&self) -> bool {
        *self != Orders::default()
    }
}
