//! What the programs of the zoo have in common: a scheduler, things to wait for, and a ledger.
//!
//! Each program in `src/bin` has one fault, or none, and prints what it knows of its coroutines
//! itself: who was left waiting, at which line. A test compares that with what the report says of
//! a recording of it, and with the table in `docs/verdicts.md`.
//!
//! It provides: just enough of each for a program to fail in the way that real ones do.
//! It does not: know anything of the recorder or of the rule. The lines that name `ctp` are those
//! that any scheduler has.

mod announced;
mod channel;
mod mutex;
mod on_tokio;
mod pipes;
mod signal;
mod tokio_mutex;
mod toy;
mod truth;

pub use announced::announced;
pub use channel::{Receiver, Recv, Sender, channel};
pub use mini_rt::{Yield, yield_now};
pub use mutex::{Held, Locking, Mutex};
pub use on_tokio::two_workers;
pub use pipes::{Hangup, Pipe, Pipes, Read};
pub use signal::{Raised, Signal};
pub use tokio_mutex::{TokioHeld, TokioMutex};
pub use toy::{Order, Task, Toy};
pub use truth::{GroundTruth, Waiting};
