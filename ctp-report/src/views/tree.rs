//! `--tree`: which coroutine spawned which.

pub mod model;
pub mod text;
