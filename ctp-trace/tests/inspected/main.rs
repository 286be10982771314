//! The rule and the model for the tasks of inspections.

mod cycles;
mod model;
mod program;
mod properties;
mod rule;
mod threads;
