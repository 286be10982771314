//! For `benches/inspection.rs`: runs the program in the folder `inspected/`, and compares the tasks that an inspection found with the
//! program's own log.

pub mod lives;
pub mod program;
