//! A worker: runs tasks; while there are none, waits in epoll for what makes some ready.

use std::sync::Arc;
use std::time::Duration;

use crate::queue::{Next, Ring};
use crate::reactor::Events;
use crate::runtime::Shared;

/// Also a busy worker looks at the sockets and the clock, once in so many tasks.
const LOOK_EVERY: u32 = 32;

pub(crate) fn work(shared: Arc<Shared>) {
    let _inside = Shared::enter(&shared);
    let mut events = Events::new();
    let mut tasks_run = 0u32;
    loop {
        match shared.queue.next() {
            Next::Run(task, Ring(ring)) => {
                if ring {
                    shared.reactor.ring();
                }
                task.run();
                tasks_run = tasks_run.wrapping_add(1);
                if tasks_run.is_multiple_of(LOOK_EVERY) {
                    shared.reactor.wait(&mut events, Some(Duration::ZERO));
                    shared.wake_ready(&events);
                }
            }
            Next::Sleep => {
                let timeout = shared.timers.timeout();
                shared.reactor.wait(&mut events, timeout);
                shared.queue.awake();
                shared.wake_ready(&events);
            }
            Next::Stop => break,
        }
    }
    shared.reactor.ring(); // the next worker
    ctp_nostd::thread_ends();
}
