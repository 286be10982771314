//! Reads a trace and says which coroutines are stuck, at which line, on what, since when, how sure
//! that is, and where all the time went.
//!
//! The modules below are in reading order; each imports only from modules after it.
//! - `cli` turns the command line into a [`Config`], and `run` calls the view that it names.
//! - `views` has a folder for each view; no view imports another one.
//! - `document` is what the pages and JSON documents of all views have in common.
//! - `findings` is what went wrong in a trace; `evidence` is what findings and views rest on.
//! - `names` finds functions and lines; `load` and `import` read the trace.
//! - `config`, `output`, `text` and `time_scale` know nothing of traces.
//!
//! It provides: text, JSON, flame graphs and timelines from a file, on any machine.
//! You provide: the recorded program's file, if names are wanted that the trace does not have.
//! It does not: touch the program, use the network, or judge by a rule of its own: the rule is
//! [`ctp_trace::verdict`], and the recorder uses the same.
#![forbid(unsafe_code)]

pub mod cli;

mod run;

mod views;

mod document;

mod findings;

mod evidence;

mod names;

mod load;

mod config;

mod import;

mod output;

mod text;

mod time_scale;

pub use config::{
    By, Config, Detail, ExportView, FlameView, Format, SitesView, Sort, StuckView, TimelineView,
    TracksView, View,
};
pub use findings::gate::Status;
pub use load::memory::end_when_too_large;
pub use run::{is_broken_pipe, run};
