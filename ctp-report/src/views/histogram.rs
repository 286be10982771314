//! `--histogram`: how long waits and runs took.

pub mod model;
pub mod text;
