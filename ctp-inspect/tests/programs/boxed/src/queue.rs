//! An executor with a static queue.

use std::hint::black_box;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use tracing::{Instrument as _, Span};

use crate::{awaits_at, exists, BoxedFuture, Never, Once};

/// The futures that have not ended.
static QUEUE: Mutex<Vec<BoxedFuture>> = Mutex::new(Vec::new());
/// The number of futures of each type.
pub const OF_EACH: u64 = 5;

/// Waits at its only line.
async fn simple(number: u64) {
    if number == 0 {
        awaits_at("simple", line!() + 2);
    }
    Never.await;
    black_box(number);
}

/// Waits at the second of its lines.
async fn staged(number: u64) {
    let text = format!("number {number}");
    Once::default().await;
    if number == 0 {
        awaits_at("staged", line!() + 2);
    }
    Never.await;
    drop(text);
}

/// Waits in another function.
async fn nested(number: u64) {
    if number == 0 {
        awaits_at("nested", line!() + 2);
    }
    inner(number).await;
}

async fn inner(number: u64) {
    if number == 0 {
        awaits_at("inner", line!() + 2);
    }
    Never.await;
}

/// Awaits a future in a box of its own, which is part of this future.
async fn awaits_box(number: u64) {
    let boxed: BoxedFuture = Box::pin(inner(number + 1));
    if number == 0 {
        awaits_at("awaits_box", line!() + 2);
    }
    boxed.await;
}

async fn unstarted(number: u64) {
    if number == 0 {
        println!("not started");
    }
    Never.await;
}

async fn instrumented(number: u64) {
    Never.await;
    black_box(number);
}

async fn finishing(number: u64) {
    Once::default().await;
    black_box(number);
}

fn push(future: BoxedFuture) {
    QUEUE.lock().unwrap().push(future);
}

/// Polls each future once. Drops those that have ended.
fn poll_all() {
    let mut context = Context::from_waker(Waker::noop());
    let mut queue = QUEUE.lock().unwrap();
    let mut index = 0;
    while index < queue.len() {
        match queue[index].as_mut().poll(&mut context) {
            Poll::Ready(()) => drop(queue.swap_remove(index)),
            Poll::Pending => index += 1,
        }
    }
}

/// Adds a future, and says that it exists. The name is that of the function.
fn keep(name: &str, future: BoxedFuture) {
    exists(name, &future);
    push(future);
}

pub fn run() {
    for number in 0..OF_EACH {
        push(Box::pin(finishing(number)));
        keep("simple", Box::pin(simple(number)));
        keep("staged", Box::pin(staged(number)));
        push(Box::pin(finishing(number)));
        keep("nested", Box::pin(nested(number)));
        keep("awaits_box", Box::pin(awaits_box(number)));
    }
    for _ in 0..4 {
        poll_all();
    }
    for number in 0..OF_EACH {
        keep("unstarted", Box::pin(unstarted(number)));
        let inner = instrumented(number).instrument(Span::none());
        keep("instrumented", Box::pin(inner.instrument(Span::none())));
    }
}
