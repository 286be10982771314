//! A future on a thread of its own, which parks while the future waits.

use std::any::type_name;
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use ctp_nostd as ctp;

use crate::waking;

pub(crate) fn block_on<F: Future>(place: &'static Location<'static>, future: F) -> F::Output {
    let trace = ctp::Task::born_as(type_name::<F>(), ctp::Kind::Future, place);
    let parker = Arc::new(Parker::new(trace.waker()));
    let waker = Waker::from(Arc::clone(&parker));
    let mut future = pin!(future);
    loop {
        trace.run();
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        trace.suspend_announced();
        parker.park();
    }
}

/// Wakes the thread that runs the future.
struct Parker {
    thread: Thread,
    woken: AtomicBool,
    trace: ctp::Waker,
}

impl Parker {
    fn new(trace: ctp::Waker) -> Self {
        Parker {
            thread: thread::current(),
            woken: AtomicBool::new(false),
            trace,
        }
    }

    fn park(&self) {
        while !self.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.trace.wake_at(waking::place()); // before the thread can run
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
