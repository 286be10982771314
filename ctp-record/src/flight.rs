//! The flight recorder: nothing is written while the program runs, but what came last can be at any
//! time.
//!
//! Threads write over what is old in their lanes, and nobody empties these. Passes only meet those
//! who come and remember those who leave ([`chronicle`]), so that stations are used again. A
//! snapshot is taken in two steps: the thread that reads the memories copies the lanes and looks at
//! every station once ([`gathered`]), which takes some milliseconds for each lane that is full and
//! about a microsecond for each coroutine that lives, and goes on; another thread finds out whose
//! the records are ([`plan`]) and writes ([`mod@compose`]). Both only read, so that snapshots do not
//! disturb each other, nor the program.
//!
//! The events are read by a [`Harvest`](crate::harvest::Harvest), as those of a live memory are. A station
//! of a live memory may have had many coroutines since the oldest record of a lane was written, so
//! the harvest reads an [`image`] in which each coroutine has a station of its own, and the records name
//! these ([`renumbering`]).

mod alone;
mod attribution;
mod chronicle;
mod compose;
mod coroutine;
mod earlier;
mod ended;
mod file;
mod gathered;
mod image;
mod known;
mod lane_copy;
mod plan;
mod recorder;
mod renumbering;
mod told;
mod when;

pub use alone::{Over, last_snapshot_of, snapshot_of};
pub use chronicle::Chronicle;
pub use compose::Composed;
pub(crate) use compose::compose;
pub use file::Snapshot;
pub use gathered::Gathered;
pub(crate) use plan::Plan;
pub use recorder::{FlightRecorder, Taken};
pub use when::{BadReach, Reach, Trigger};
