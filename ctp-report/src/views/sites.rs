//! The table of sites: where the time went. The view without an option.

pub mod model;
pub mod text;
