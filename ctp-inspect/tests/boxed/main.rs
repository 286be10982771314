//! Which boxed futures an inspection finds, compared with what the program says itself.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "../programs/cargo.rs"]
mod cargo;
#[path = "../support/mod.rs"]
mod support;

mod load;
mod owners;
mod program;
mod queue;
mod verdicts;
