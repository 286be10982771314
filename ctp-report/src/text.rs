//! Text output: escapes, widths, numbers, tables and pages.

mod escape;
mod layout;
mod page;
pub mod table;
pub mod units;
pub mod xml;

pub use escape::{bound, escape, escape_bytes, shell_word};
pub use layout::{
    EDGE, FEW, WIDTH, capitalized, columns, cut, cut_middle, few, flow, spread, words,
};
pub use page::{Page, Sections};
