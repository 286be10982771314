//! `--flame` and `--folded`: where time went, as stacks.

pub mod model;
pub mod output;
mod svg;
