//! What the user types, and what it means.

pub mod args;
pub mod config;
pub mod duration;
pub mod print;
pub mod size;
pub mod stderr;
pub mod words;
