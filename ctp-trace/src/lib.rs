//! The trace file: records, writer, reader, and the rule that says what is stuck.
#![forbid(unsafe_code)]

pub mod record;
