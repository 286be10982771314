//! The recorder as a user runs it: real programs under it, and the resulting traces.
//!
//! The programs log what they did (`examples/`), which provides the expected values. Each test has
//! the ids of the promises that it proves; `docs/contract.md` explains them. `CTP_RUNS=1000` sets
//! the number of runs of randomised tests.

mod backlog;
mod capacity;
mod check_probe;
mod control;
mod coroutines;
mod crashes;
mod escaping;
mod exit_reasons;
mod family;
mod flight;
mod flight_of_many;
mod holds;
mod i686;
mod impostors;
mod inspection;
mod interrupted;
mod killed;
mod lab;
mod lanes;
mod launch;
mod limits;
mod live;
mod loss;
mod output;
mod peers;
mod planted;
mod privacy;
mod processor_limit;
mod recorder_dies;
mod reuse;
mod status;
mod stuck_monitor;
mod summary;
mod talk;
mod terminal;
mod thread_events;
mod time_namespaces;
mod trace;
mod unrecorded;
mod upstream;
mod usage;
mod vandals;
mod wakes;
