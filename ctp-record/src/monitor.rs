//! What the user is told while the program runs.

pub mod status;
pub mod stuck_monitor;
