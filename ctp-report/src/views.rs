//! What a user can ask for: a folder for each view, with what is shown (`model`), and how (`text`, `json`,
//! `svg`). The file beside the folder reads the trace and puts the two together.

pub mod check;
pub mod diff;
pub mod dump;
pub mod export;
pub mod flame;
pub mod histogram;
pub mod last_words;
pub mod sites;
pub mod stacks;
pub mod stuck;
pub mod timeline;
pub mod tracks;
pub mod tree;
pub mod why;
