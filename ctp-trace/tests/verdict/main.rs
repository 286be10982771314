//! The verdict rule, case by case. Times are in milliseconds.

mod closed;
mod evidence_values;
mod past;
mod properties;
mod states;
mod woken;
mod words;
