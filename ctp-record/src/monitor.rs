//! What the user is told while the program runs.

pub mod lookout;
pub mod status;
