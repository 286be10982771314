//! Control at run time: `ctp-record control PID ...` asks the recorder of a program that runs.
//!
//! The recorder listens at a second socket beside the one at which programs ring, in the same
//! directory, which nobody enters but its user. One connection is one question and its answer
//! ([`wire`]). What is asked for becomes [`Orders`] for the memories, whose words the probes
//! read ([`ctp_nostd::control`]).

pub mod ask;
pub mod control_server;
mod converse;
pub mod filter;
mod find;
pub mod orders;
pub mod status;
pub mod wire;

pub use filter::Filter;
pub use orders::{Orders, Verb};
