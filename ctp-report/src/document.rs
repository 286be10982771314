//! What all pages and JSON documents have in common.

pub mod header;
pub mod json;
