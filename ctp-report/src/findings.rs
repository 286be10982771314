//! What went wrong in a trace, found whatever the user asks for; and the gate of `--stuck --fail`.

pub mod alarms_text;
pub mod contradictions;
pub mod crash;
pub mod gate;
pub mod leaks;
pub mod lints;
pub mod lints_text;
pub mod notes;
