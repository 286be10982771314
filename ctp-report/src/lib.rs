//! Reads a trace and says which coroutines are stuck, at which line, on what, since when, how sure
//! that is, and where all the time went.
//!
//! Stages, each knowing nothing of the next:
//! - `load`, `import`, `model`: bytes, and what the trace in them says;
//! - `names`: what places are called, and who awaits whom there;
//! - `figures`: what there is to say of it all, a module for each thing;
//! - `timeline`: geometry;
//! - `export`, `tracks`: rows for other tools;
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
mod run;

mod import;
mod load;
mod memory;
mod model;

mod names;

mod figures;

mod timeline;

mod export;
mod tracks;

mod json;
mod view;

mod output;
mod text;
mod units;

pub use config::{
    By, Config, Detail, ExportView, FlameView, Format, LastWordsView, SitesView, Sort, StuckView,
    TimelineView, TracksView, TreeView, View, WhyView,
};
pub use figures::gate::Status;
pub use memory::end_when_too_large;
pub use run::{is_broken_pipe, run};
