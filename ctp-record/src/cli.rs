//! The command line: options, help, and text for the user.

pub mod args;
pub mod config;
pub mod duration;
pub mod print;
pub mod size;
pub mod stderr;
pub mod words;
