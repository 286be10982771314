//! The recorder as a user runs it: real programs under it, and the resulting traces.
//!
//! The programs log what they did (`examples/`), which provides the expected values. Each test has
//! the ids of the promises that it proves; `docs/contract.md` explains them. `CTP_RUNS=1000` sets
//! the number of runs of randomised tests.

use recordings::{
    check_probe, family, flight, interrupted, killed, lab, loss, peers, summary, terminal, trace,
};

/// In a module, so that `.ci/run` can run these tests apart: most of the time they wait.
#[path = "."]
mod recordings {
    mod backlog;
    mod capacity;
    pub mod check_probe;
    mod control;
    mod coroutines;
    mod cpp_frames;
    mod crashes;
    mod escaping;
    mod exit_reasons;
    pub mod family;
    pub mod flight;
    mod flight_of_many;
    mod frozen;
    mod holds;
    mod i686;
    mod impostors;
    mod inspection;
    pub mod interrupted;
    pub mod killed;
    pub mod lab;
    mod lanes;
    mod launch;
    mod limits;
    mod live;
    pub mod loss;
    mod output;
    pub mod peers;
    mod planted;
    mod privacy;
    mod processor_limit;
    mod recorder_dies;
    mod reuse;
    mod status;
    mod stuck_monitor;
    pub mod summary;
    mod talk;
    pub mod terminal;
    mod thread_events;
    mod time_namespaces;
    pub mod trace;
    mod unrecorded;
    mod upstream;
    mod usage;
    mod vandals;
    mod wakes;
}
