//! Reads a trace and says which coroutines are stuck, at which line, on what, since when, how sure
//! that is, and where all the time went.
//!
//! Stages, each knowing nothing of the next:
//! - `import`, `load`, `model`: bytes, and what the trace in them says;
//! - `names`, with `label`, `chains`, `source`, `twins`: what places are called, and who awaits whom there;
//! - figures, one module for each thing that there is to say, such as `sites`, `groups`, `crash`, `why`, and `notes` for what is missing;
//! - `timeline`: geometry;
//! - `export`, `tracks`: events for other tools;
//! - `view`, `json`: what is printed.
//!
//! `run` leads through them, as [`Config`] says; `output`, `text` and `units` are for all of them.
//!
//! It provides: text, JSON, flame graphs and timelines from a file, on any machine.
//! You provide: the recorded program's file, if names are wanted that the trace does not have.
//! It does not: touch the program, use the network, or judge by a rule of its own: the rule is
//! [`ctp_trace::verdict`], and the recorder uses the same.
#![forbid(unsafe_code)]

pub mod args;
mod config;
mod ignore;
mod run;

mod chains;
mod import;
mod load;
mod model;
mod names;

mod awaited;
mod broken;
mod busy;
mod causes;
mod crash;
mod culprits;
mod deadlocks;
mod ending;
mod export;
mod fold;
mod gate;
mod groups;
mod histogram;
mod keepers;
mod label;
mod last_waker;
mod last_words;
mod leaks;
mod lints;
mod looks;
mod notes;
mod parents;
mod proof;
mod sites;
mod timeline;
mod tracks;
mod tree;
mod usual;
mod waits;
mod why;

mod fields;
mod json;
mod output;
mod page;
mod source;
mod svg;
mod table;
mod text;
mod twins;
mod units;
mod view;

pub use config::{
    By, Config, Detail, ExportView, FlameView, Format, LastWordsView, SitesView, Sort, StuckView,
    TimelineView, TracksView, TreeView, View, WhyView,
};
pub use gate::Status;
pub use run::{is_broken_pipe, run};
