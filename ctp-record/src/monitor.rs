//! Messages to the user while the program runs.

pub mod status;
pub mod stuck_monitor;
