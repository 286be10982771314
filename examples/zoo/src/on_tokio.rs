//! The runtime of programs on tokio.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Tokio with two worker threads, timers and I/O.
///
/// # Errors
/// If a thread cannot be started.
pub fn two_workers() -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build()
}
