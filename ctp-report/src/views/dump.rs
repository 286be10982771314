//! `--dump`: every record of the trace.

pub mod model;
pub mod text;
