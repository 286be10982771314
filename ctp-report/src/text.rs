//! Text output: escapes, widths, numbers, tables and pages.

mod columns;
mod distinct;
mod escape;
mod layout;
mod numbered;
mod page;
pub mod table;
pub mod units;
mod width;
mod wrap;
pub mod xml;

pub use columns::columns;
#[cfg(feature = "top")]
pub use distinct::shortened;
pub use escape::{bound, escape, escape_bytes, shell_word};
pub use layout::{FEW, capitalized, cut, cut_middle, few, spread};
pub use numbered::NumberedTexts;
pub use page::{ContextLines, Links, Page, Sections};
pub use width::Width;
#[cfg(feature = "top")]
pub use wrap::List;
pub use wrap::words;
