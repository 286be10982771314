//! Runs a program and records what its coroutines do, from outside.
//!
//! You provide a program that links a probe (or any that speaks cTP v1). This provides the
//! memory it writes into, reads that memory while it runs and after it died, and writes a trace.
//! It does not stop, slow or signal the program, and looks up no names: `ctp-report` does.

mod alarms;
mod args;
pub mod backlog;
mod calibrate;
mod capacity;
mod check;
mod clock;
mod closing;
mod config;
mod control;
mod cost;
mod crash;
mod credentials;
mod deadlines;
mod drainer;
mod duration;
mod encoder;
mod environment;
mod error;
mod file_id;
mod flight;
pub mod harvest;
mod hindsight;
mod image;
mod inherited;
mod interpreter;
mod landing;
mod launch;
mod leftovers;
mod lookout;
mod looks;
mod mapped;
pub mod maps;
mod memories;
mod namespace;
mod output;
pub mod pace;
mod print;
mod processes;
mod processor_limit;
mod promptness;
mod rate;
mod recording;
mod rendezvous;
mod run;
mod rush;
mod session;
mod shm;
mod signals;
mod size;
mod start_and_end;
mod status;
mod stderr;
mod store;
mod survivors;
mod time_namespace;
mod turned_away;
mod wait;
mod watermark;
mod words;

pub use args::{Args, answer};
pub use config::{Config, Flight, Image, Launch, Task, Verbosity};
pub use error::{ControlError, Error, ImageError, StartError, TraceError};
pub use flight::{Chronicle, Composed, Over, last_snapshot_of, snapshot_of};
pub use run::{complain, run};
pub use shm::Memory;
