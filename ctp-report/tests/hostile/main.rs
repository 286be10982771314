//! Inputs that were made to do harm: traces, programs and names that no recorder and no compiler would
//! write. The report has to say in a sentence what is wrong, soon and with little memory.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod elf;
mod room;

mod debug_info;
mod escapes;
mod expansion;
mod input;
mod modules;
mod outputs;
mod sources;
mod views;
