//! Pages of text and pictures, one file for each thing that a user can ask for, and what they are
//! made of: `page`, `table`, `fields`, `svg`.

pub mod because;
pub mod closed;
pub mod crash;
pub mod culprits;
pub mod deadlock;
pub mod dump;
pub mod export;
pub mod fields;
pub mod flame;
pub mod header;
pub mod histogram;
pub mod keepers;
pub mod last_words;
pub mod lints;
pub mod page;
pub mod sites;
pub mod stuck;
pub mod svg;
pub mod table;
pub mod timeline;
pub mod tracks;
pub mod tree;
pub mod why;
