//! Pages of text, one file for each thing that a user can ask for.

pub mod because;
pub mod dump;
pub mod export;
pub mod flame;
pub mod header;
pub mod sites;
pub mod stuck;
pub mod timeline;
