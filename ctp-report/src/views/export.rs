//! `--export jsonl` and `--export csv`: the events for the tools of coroTracer.

pub mod model;
pub mod text;
