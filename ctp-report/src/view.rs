//! Pages of text, one file for each thing that a user can ask for.

pub mod because;
pub mod closed;
pub mod crash;
pub mod culprits;
pub mod deadlock;
pub mod dump;
pub mod export;
pub mod flame;
pub mod header;
pub mod histogram;
pub mod keepers;
pub mod last_words;
pub mod lints;
pub mod sites;
pub mod stuck;
pub mod timeline;
pub mod tracks;
pub mod tree;
pub mod why;
