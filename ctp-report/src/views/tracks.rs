//! `--export chrome`: the trace as tracks for Perfetto and other viewers.

pub mod json;
pub mod model;
