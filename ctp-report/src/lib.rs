//! Reads a trace and reports which coroutines are stuck, at which line, on what, for how long
//! and how certainly, and where coroutines spent their time.
//!
//! The modules below are in reading order; each imports only from modules after it.
//! - `cli` parses the command line into a [`Config`], and `run` calls the requested view.
//! - `pager` shows long output page by page.
//! - `html` puts the findings of several views into one page for a browser, `tables` puts all of a
//!   trace into tables, and `ctf` into the Common Trace Format. `top` shows a recording that goes on.
//! - `views` has a folder for each view. No view imports another view.
//! - `document` has the parts that the pages and JSON documents of all views share.
//! - `findings` lists what went wrong in a trace. `evidence` has the facts behind findings and views.
//! - `names` finds functions and lines. `load` and `import` read the trace.
//! - `config`, `output`, `terminal`, `text` and `time_scale` do not depend on traces.
//!
//! It provides: text, JSON, flame graphs and timelines from a trace file, on any machine.
//! You provide: the file of the recorded program, if you want names that the trace does not have.
//! It does not: access the program, use the network, or have its own rule for verdicts. The rule is
//! [`ctp_trace::verdict`], which the recorder uses too.
#![forbid(unsafe_code)]

pub mod cli;

mod run;

pub mod pager;

mod html;

mod ctf;

mod tables;

#[cfg_attr(
    not(feature = "top"),
    allow(dead_code, reason = "only the live table on a terminal uses all of it")
)]
mod top;

mod views;

mod document;

mod findings;

mod evidence;

mod names;

mod load;

mod config;

mod import;

mod output;

mod terminal;

mod text;

mod time_scale;

pub use config::rules;
pub use config::{
    CheckView, Config, CtfView, Detail, DiffView, ExportView, FlameView, FlameWidth, Format,
    HtmlView, LeastChange, ManPages, ProfileFormat, ProfileView, SiteField, SitesView, Sort,
    StacksView, StuckView, TableFormat, TablesView, TimelineView, TopSort, TopView, TrackFormat,
    TracksView, View, WhyView,
};
pub use findings::gate::ReportStatus;
pub use load::memory::end_when_too_large;
pub use run::{is_broken_pipe, run};
pub use text::Width;
