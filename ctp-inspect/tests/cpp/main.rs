//! C++20 coroutines of compiled programs and in memory that was made up.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod made_up;
mod program;
mod programs;

#[path = "../support/mod.rs"]
mod support;
