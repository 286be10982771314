//! A storm: tasks on tokio that only yield. `benches/storm.rs` measures them without a tool, with ctp and with other tools.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

const TASKS: u64 = 64;
const YIELDS: u64 = 20_000;
const WORKERS: usize = 2;

/// A task of the storm.
pub type Yielding = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs the storm, and prints the processor time of the whole program and the elapsed time, in
/// nanoseconds per yield.
pub fn run<H: Future + Send>(spawn: impl Fn(Yielding) -> H) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).build().expect("a runtime");
    let _inside = runtime.enter();
    let (begin, before) = (Instant::now(), processor_time());
    let tasks: Vec<H> = (0..TASKS).map(|_| spawn(Box::pin(task()))).collect();
    runtime.block_on(async {
        for task in tasks {
            let _ = task.await;
        }
    });
    let spent = processor_time() - before;
    let each = |spent: Duration| spent.as_nanos() as f64 / (TASKS * YIELDS) as f64;
    println!("{} {}", each(spent), each(begin.elapsed()));
}

async fn task() {
    for _ in 0..YIELDS {
        tokio::task::yield_now().await;
    }
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}
