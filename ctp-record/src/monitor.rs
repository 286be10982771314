//! What is done while the program runs: the status line, the stuck monitor, and inspections of threads.
pub mod inspections;
pub mod status;
pub mod stuck_monitor;
