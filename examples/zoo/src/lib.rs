//! The shared parts of the zoo's programs: a scheduler, things to wait for, and a ledger.
//!
//! Each program in `src/bin` has one fault, or none, and prints its own account of its coroutines:
//! which were left waiting, at which line. A test compares that with the report on a recording, and
//! with the table in `docs/verdicts.md`.
//!
//! The crate provides just enough for a program to fail like real ones. It knows nothing of the
//! recorder or of the rule. The lines that name `ctp` are those of any scheduler.

mod announced;
mod channel;
mod mutex;
mod on_tokio;
mod pipes;
mod signal;
mod tokio_mutex;
mod tokio_rw_lock;
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
pub use tokio_rw_lock::{TokioReading, TokioRwLock, TokioWriting};
pub use toy::{Order, Task, Toy};
pub use truth::{GroundTruth, Waiting};
