//! Control at run time: `ctp-record control PID ...` sends a request to the recorder of a running program.
//!
//! The recorder listens at a second socket in the directory of the socket at which programs ring. Only the
//! recorder's user can enter this directory. A connection carries a single question and its answer
//! ([`wire`]). A request becomes [`Orders`], which the recorder writes into the shared memories, where
//! the probes read them ([`ctp_nostd::control`]).

pub mod client;
pub mod control_server;
mod converse;
pub mod filter;
mod find;
pub mod orders;
pub mod status;
pub mod wire;

pub use filter::Filter;
pub use orders::{Orders, Verb};
