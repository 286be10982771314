//! What an inspection finds in a program on smol, compared with what the program says itself.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "../programs/cargo.rs"]
mod cargo;

mod awaits;
mod healthy;
mod program;
mod tasks;
mod verdicts;
