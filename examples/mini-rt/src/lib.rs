//! A small M:N runtime, as one writes one's own: some worker threads, one run queue, epoll.
//!
//! It is an example of a scheduler that tells the probe what its coroutines do. All of that is
//! in the lines that name `ctp`:
//!
//! | where | what it tells |
//! | --- | --- |
//! | `task.rs`, `block_on.rs` | birth, run, suspend; a wake, before the task is queued; death, by `Drop` |
//! | `source.rs`, `timer.rs`, `join.rs`, `yielding.rs` | what a leaf future waits for, just before it returns `Pending` |
//! | `source.rs` | a descriptor is closed, just before it is |
//! | `waking.rs` | the line of the runtime that wakes |
//! | `worker.rs` | the thread ends |
//! | `net.rs` and the other makers of leaf futures | the user's line: they are `#[track_caller]` |
//!
//! A leaf future is made by a plain `#[track_caller]` function, not by an `async fn`: the line
//! that the report shows is then the one with the `.await`.
//!
//! It does not: steal work, bound its queues, tell tasks to stop other than by dropping them
//! with the [`Runtime`], or run anywhere but on Linux.

mod block_on;
mod join;
mod lock;
mod net;
mod queue;
mod reactor;
mod runtime;
mod source;
mod task;
mod timer;
mod waking;
mod worker;
mod yielding;

pub use join::{Join, JoinError, JoinHandle};
pub use net::{Accept, Connect, Read, TcpListener, TcpStream, Write, WriteAll, connect};
pub use reactor::Hangup;
pub use runtime::{Builder, Runtime, spawn, spawn_named};
pub use timer::{Sleep, sleep};
pub use yielding::{Yield, yield_now};
