//! The rule, case by case. Times are in milliseconds.

mod closed;
mod past;
mod properties;
mod standings;
mod states;
mod woken;
mod words;
