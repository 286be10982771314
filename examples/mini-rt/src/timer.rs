//! Sleeping: deadlines in order, fired by whichever worker looks next.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ctp_nostd as ctp;
use rustix::time::{ClockId, clock_gettime};

use crate::lock::Lock;
use crate::runtime::Shared;
use crate::waking;

/// A deadline (nanoseconds, CLOCK_MONOTONIC), and a number to distinguish equal deadlines.
type Key = (u64, u64);

#[derive(Debug, Default)]
pub(crate) struct Timers {
    waiting: Lock<BTreeMap<Key, Waker>>,
    last_number: AtomicU64,
}

/// The future of [`sleep`].
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    shared: Arc<Shared>,
    key: Key,
    wait: ctp::Wait,
}

/// Waits for some time.
///
/// # Panics
///
/// Outside of a runtime.
#[track_caller]
pub fn sleep(time: Duration) -> Sleep {
    let shared = Shared::current();
    let deadline_ns = now_ns().saturating_add(time.as_nanos() as u64);
    Sleep {
        key: (deadline_ns, shared.timers.number()),
        shared,
        wait: ctp::Wait::timer(deadline_ns),
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.key.0 <= now_ns() {
            return Poll::Ready(());
        }
        if self.shared.timers.insert(self.key, context.waker().clone()) {
            self.shared.ring_sleepers(); // they meant to sleep for longer
        }
        ctp::waits_for_in(self.wait, context);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.shared.timers.remove(self.key);
    }
}

impl Timers {
    fn number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether this is now the first deadline.
    fn insert(&self, key: Key, waker: Waker) -> bool {
        let mut waiting = self.waiting.lock();
        let before = waiting.insert(key, waker);
        let first = waiting.keys().next() == Some(&key);
        drop(waiting);
        drop(before);
        first
    }

    fn remove(&self, key: Key) {
        let removed = self.waiting.lock().remove(&key);
        drop(removed);
    }

    /// How long nothing is due; without end if nothing waits.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let (deadline_ns, _) = *self.waiting.lock().keys().next()?;
        Some(Duration::from_nanos(deadline_ns.saturating_sub(now_ns())))
    }

    /// Wakes all tasks that are due.
    pub(crate) fn fire(&self) {
        let due = {
            let mut waiting = self.waiting.lock();
            if waiting.is_empty() {
                return;
            }
            let later = waiting.split_off(&(now_ns().saturating_add(1), 0));
            std::mem::replace(&mut *waiting, later)
        };
        for waker in due.into_values() {
            waking::wake(waker);
        }
    }

    /// Forgets all, when the runtime stops.
    pub(crate) fn clear(&self) {
        let forgotten = std::mem::take(&mut *self.waiting.lock());
        drop(forgotten);
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
