//! The trace should show five coroutines in their last wait: two in `farewell`, awaited by `visit`,
//! one in `alone`, awaited by `choose`, one in `last`, awaited by `guard`, and one in `quiet`,
//! polled by `last`. Their leaf futures have kept the waker of an earlier wait, most of them at
//! another line. One kind of bell compares the waker before it knows that it has to wait.
//! Built with frame pointers, and recorded with `--precise-chains`, the report shows these lines;
//! otherwise it shows the polled functions: `visit`, `choose`, `guard` and `quiet`.
//!
//! A line for each has its await chain, the innermost function first, with lines.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ctp_nostd::{self as ctp, Traced, TracedExt as _};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Between the strokes of a bell that rings.
const STROKE: Duration = Duration::from_millis(5);
const STROKES: u32 = 8;
/// So long all of them have waited at the end.
const END: Duration = Duration::from_millis(500);
/// The coroutines in their last wait.
static NOTIFIED: AtomicU32 = AtomicU32::new(0);

#[derive(Default)]
struct Doorbell {
    waker: Mutex<Option<Waker>>,
    strokes: AtomicU32,
    /// Keeps a waker also where there is nothing to wait for.
    is_eager: bool,
}

impl Doorbell {
    /// A waiter is woken, and stays registered.
    fn ring(&self) {
        self.strokes.fetch_add(1, SeqCst);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        waker.iter().for_each(Waker::wake_by_ref);
    }

    fn keep(&self, new: &Waker) {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !waker.as_ref().is_some_and(|kept| kept.will_wake(new)) {
            *waker = Some(new.clone());
        }
    }

    fn until(&self, strokes: u32) -> Strokes<'_> {
        Strokes {
            wake_flag: self,
            strokes,
        }
    }
}

/// Waits for so many.
struct Strokes<'b> {
    wake_flag: &'b Doorbell,
    strokes: u32,
}

impl Future for Strokes<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let is_over = || self.wake_flag.strokes.load(SeqCst) >= self.strokes;
        if !self.wake_flag.is_eager && is_over() {
            return Poll::Ready(());
        }
        self.wake_flag.keep(context.waker());
        if is_over() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Prints the line of its last wait.
fn print_steps(steps: &[(&str, u32)]) {
    let steps: Vec<String> = steps
        .iter()
        .map(|(at, line)| format!("{at}:{line}"))
        .collect();
    println!("chain {}", steps.join(" "));
    NOTIFIED.fetch_add(1, SeqCst);
}

async fn greeting(wake_flag: &Doorbell) {
    wake_flag.until(STROKES / 2).await;
    wake_flag.until(STROKES).await;
}

async fn farewell(wake_flag: &Doorbell, awaited_at: u32) {
    print_steps(&[("farewell", line!() + 1), ("visit", awaited_at)]);
    wake_flag.until(u32::MAX).await;
}

async fn visit(wake_flag: Arc<Doorbell>) {
    greeting(&wake_flag).await;
    farewell(&wake_flag, line!()).await;
}

async fn alone(wake_flag: Pin<&mut Notified<'_>>, awaited_at: u32) {
    print_steps(&[("alone", line!() + 1), ("choose", awaited_at)]);
    wake_flag.await;
}

async fn choose(wake_flag: Notify) {
    let mut was_woken = pin!(wake_flag.notified());
    for _ in 0..STROKES {
        tokio::select! {
            biased;
            () = &mut was_woken => {}
            () = tokio::time::sleep(STROKE) => {}
        }
    }
    alone(was_woken, line!()).await;
}

async fn quiet(wake_flag: Notify) {
    print_steps(&[("quiet", line!() + 1)]);
    wake_flag.notified().await;
}

async fn last<F: Future>(inside: Pin<&mut Traced<F>>, awaited_at: u32) {
    print_steps(&[("last", line!() + 1), ("guard", awaited_at)]);
    inside.await;
}

/// A coroutine that polls another.
async fn guard() {
    let mut inside = pin!(quiet(Notify::new()).traced());
    for _ in 0..STROKES {
        tokio::select! {
            biased;
            () = &mut inside => {}
            () = tokio::time::sleep(STROKE) => {}
        }
    }
    last(inside, line!()).await;
}

async fn ring(wake_flag: Arc<Doorbell>) {
    for _ in 0..STROKES {
        tokio::time::sleep(STROKE).await;
        wake_flag.ring();
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach(); // before the runtime starts its threads
    let runtime = tokio::runtime::Runtime::new()?;
    for is_eager in [false, true] {
        let wake_flag = Arc::new(Doorbell {
            is_eager,
            ..Doorbell::default()
        });
        runtime.spawn(visit(wake_flag.clone()).traced());
        runtime.spawn(ring(wake_flag));
    }
    runtime.spawn(choose(Notify::new()).traced());
    runtime.spawn(guard().traced());
    while NOTIFIED.load(SeqCst) < 5 {
        std::thread::sleep(STROKE);
    }
    std::thread::sleep(END);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
