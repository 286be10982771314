//! Epoll: which descriptors are ready, and what happens when a peer hangs up.
//!
//! All idle workers wait in the same epoll; the kernel gives each event to one of them. Keys of
//! sources are never reused, so a late event for a closed source finds none.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use crate::lock::Lock;
use crate::source::{Direction, Source};

/// What happens when a peer resets its connection while a task waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hangup {
    /// The waiting tasks are woken, see the error, and end. This is correct.
    #[default]
    Wake,
    /// The connection is closed at once, and the waiting tasks are not woken. Reproduces a bug of
    /// real runtimes: a lost wakeup.
    CloseOnly,
}

pub(crate) struct Reactor {
    epoll: OwnedFd,
    /// An eventfd in the same epoll, to wake a single worker.
    wake_flag: OwnedFd,
    sources: Lock<HashMap<u64, Arc<Source>>>,
    last_key: AtomicU64,
    hangup: Hangup,
}

const DOORBELL: u64 = 0;
const EVENTS_AT_ONCE: usize = 64;
/// Epoll's limit is 24 days. Waking up once too often is harmless.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// A worker's buffer for fetched events.
pub(crate) struct Events(Vec<Event>);

impl Events {
    pub(crate) fn new() -> Self {
        Events(Vec::with_capacity(EVENTS_AT_ONCE))
    }
}

impl Reactor {
    pub(crate) fn new(hangup: Hangup) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake_flag = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let edges = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &wake_flag, EventData::new_u64(DOORBELL), edges)?;
        Ok(Reactor {
            epoll,
            wake_flag,
            sources: Lock::default(),
            last_key: AtomicU64::new(DOORBELL),
            hangup,
        })
    }

    /// From now on its readiness wakes the waiting tasks.
    pub(crate) fn watch(&self, source: &Arc<Source>) -> io::Result<u64> {
        let key = 1 + self.last_key.fetch_add(1, Ordering::Relaxed);
        self.sources.lock().insert(key, Arc::clone(source));
        let edges = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let added =
            source.with_fd(|fd| epoll::add(&self.epoll, fd, EventData::new_u64(key), edges));
        if let Some(Err(error)) = added {
            self.forget(key);
            return Err(error.into());
        }
        Ok(key)
    }

    /// Stops its events. Closing the descriptor removes it from the epoll.
    pub(crate) fn forget(&self, key: u64) {
        let source = self.sources.lock().remove(&key);
        drop(source);
    }

    /// Wakes one worker from [`wait`](Reactor::wait), now or at its next wait.
    pub(crate) fn ring(&self) {
        // The write fails only if the counter is full, and then it has rung.
        let _ = rustix::io::write(&self.wake_flag, &1u64.to_ne_bytes());
    }

    /// Waits for events, up to the given time.
    pub(crate) fn wait(&self, events: &mut Events, wait_time: Option<Duration>) {
        events.0.clear();
        let timeout = wait_time.map(|wait_time| {
            let wait_time = wait_time.min(MAX_TIMEOUT);
            Timespec {
                tv_sec: wait_time.as_secs() as i64,
                tv_nsec: wait_time.subsec_nanos().into(),
            }
        });
        let spare = rustix::buffer::spare_capacity(&mut events.0);
        match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => panic!("epoll cannot fail: {error}"),
        }
    }

    /// Wakes the tasks that wait for what happened.
    pub(crate) fn dispatch(&self, events: &Events) {
        for event in &events.0 {
            let (key, flags) = (event.data.u64(), event.flags);
            let source = self.sources.lock().get(&key).cloned();
            let Some(source) = source else { continue };
            if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
                self.on_hangup(key, &source);
                continue;
            }
            if flags.intersects(EventFlags::IN | EventFlags::RDHUP) {
                source.wake(Direction::Read);
            }
            if flags.contains(EventFlags::OUT) {
                source.wake(Direction::Write);
            }
        }
    }

    /// The peer is gone: no byte will come or go any more.
    fn on_hangup(&self, key: u64, source: &Source) {
        match self.hangup {
            Hangup::Wake => {
                source.wake(Direction::Read);
                source.wake(Direction::Write);
            }
            Hangup::CloseOnly => {
                self.forget(key);
                source.close_fd(); // the bug: waiting tasks are forgotten
            }
        }
    }

    /// Forgets all, when the runtime stops.
    pub(crate) fn clear(&self) {
        let sources = std::mem::take(&mut *self.sources.lock());
        sources.values().for_each(|source| source.abandon());
    }
}
