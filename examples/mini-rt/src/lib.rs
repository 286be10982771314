//! A small M:N runtime, as a program may have its own: worker threads, one run queue, epoll.
//!
//! It is an example of a scheduler that reports its coroutines to the probe. All of that is in the
//! lines that name `ctp`:
//!
//! | where | what it reports |
//! | --- | --- |
//! | `task.rs`, `block_on.rs` | birth, run, suspend; a wake, before the task is queued; death, by `Drop` |
//! | `source.rs`, `timer.rs`, `join.rs`, `yielding.rs` | what a leaf future waits for, just before it returns `Pending` |
//! | `source.rs` | the closing of a descriptor, just before it happens |
//! | `waking.rs` | the line of the runtime that wakes |
//! | `worker.rs` | the end of a thread |
//! | `net.rs` and the other makers of leaf futures | the user's line: they are `#[track_caller]` |
//!
//! A leaf future is made by a plain `#[track_caller]` function, not by an `async fn`, so that the
//! report shows the line with the `.await`.
//!
//! It does not steal work, bound its queues, cancel tasks other than by dropping them with the
//! [`Runtime`], or run on other systems than Linux.

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
