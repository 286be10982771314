//! What an inspection finds in a program without a probe, compared with what the program says itself.
//!
//! The program is built with the version of tokio in its `Cargo.lock`, or given in `CTP_UNPROBED`.

mod churn;
mod healthy;
mod program;
mod unusual;
mod waits;
