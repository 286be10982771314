//! The flight recorder: writes nothing while the program runs, but can write the latest events at any
//! time.
//!
//! Threads overwrite old records in their lanes, which are not drained. Passes only introduce new coroutines
//! and remember departed coroutines ([`history`]), so that stations can be reused. A snapshot is taken in two
//! steps. First, the thread that reads the memories copies the lanes and reads every station once
//! ([`snapshot_input`]), which takes some milliseconds for each full lane and about a microsecond for each
//! live coroutine. Then another thread attributes each record to a coroutine ([`plan`]) and writes the file
//! ([`mod@assemble`]). Both steps only read the memories, so snapshots disturb neither each other nor the
//! program.
//!
//! The events are read by a [`Harvest`](crate::harvest::Harvest), like those of a live memory. A station of
//! a live memory may have had many coroutines since the oldest record of a lane was written. So the
//! harvest reads an [`image`], in which each coroutine has a station of its own and the records refer to
//! these stations ([`renumbering`]).

mod assemble;
mod attribution;
mod coroutine;
mod earlier_snapshots;
mod ended;
mod file;
mod history;
mod image;
mod known_processes;
mod lane_copy;
mod messages;
mod options;
mod plan;
mod recorder;
mod renumbering;
mod single_memory;
mod snapshot_input;

pub use assemble::SnapshotSummary;
pub(crate) use assemble::assemble;
pub use file::WrittenSnapshot;
pub use history::FlightHistory;
pub use options::{BadReach, Reach, Trigger};
pub(crate) use plan::SnapshotPlan;
pub use recorder::{FlightRecorder, SnapshotCounts};
pub use single_memory::{RecordingEnd, last_snapshot_of, snapshot_of};
pub use snapshot_input::SnapshotInput;
