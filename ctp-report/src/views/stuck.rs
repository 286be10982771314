//! `--stuck`: what is stuck, where, since when and on what.

pub mod deadlocks;
pub mod model;
pub mod parents;
pub mod text;
pub mod usual;
