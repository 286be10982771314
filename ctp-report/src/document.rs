//! What all pages and JSON documents have in common.

pub mod header;
pub mod hints;
pub mod json;
pub mod rows_by;
