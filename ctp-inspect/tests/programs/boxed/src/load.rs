//! The queue, while other boxed futures are created and dropped all the time.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::{queue, BoxedFuture, Once};

/// The futures that come and go.
static PASSING: Mutex<VecDeque<BoxedFuture>> = Mutex::new(VecDeque::new());
/// At most this many of them exist.
const MOST: usize = 64;

async fn passing(number: u64) {
    Once::default().await;
    black_box(number);
}

/// A future of about the size of those in the queue.
async fn passing_twice(number: u64) {
    let text = format!("number {number}");
    Once::default().await;
    Once::default().await;
    drop(text);
}

/// Futures of this type exist before the inspections only.
async fn ended(number: u64) {
    let text = format!("number {number}");
    Once::default().await;
    drop(text);
}

fn poll_first(context: &mut Context<'_>) {
    let Some(mut first) = PASSING.lock().unwrap().pop_front() else {
        return;
    };
    if let Poll::Pending = first.as_mut().poll(context) {
        PASSING.lock().unwrap().push_back(first);
    }
}

fn add(number: u64) {
    let is_full = MOST <= PASSING.lock().unwrap().len();
    if is_full {
        return;
    }
    let future: BoxedFuture = match number % 2 {
        0 => Box::pin(passing(number)),
        _ => Box::pin(passing_twice(number)),
    };
    PASSING.lock().unwrap().push_back(future);
}

/// Creates and drops futures, and values of the same sizes that are no futures.
fn churn() -> ! {
    let mut context = Context::from_waker(Waker::noop());
    let mut number: u64 = 0;
    loop {
        number = number.wrapping_add(1);
        add(number);
        let bytes = black_box(vec![number; 1 + (number % 12) as usize]);
        poll_first(&mut context);
        drop(bytes);
        poll_first(&mut context);
    }
}

fn end_many() {
    let mut context = Context::from_waker(Waker::noop());
    let many = (0..1000).map(|number| Box::pin(ended(number)) as BoxedFuture);
    let mut many: Vec<BoxedFuture> = many.collect();
    while let Some(mut last) = many.pop() {
        if let Poll::Pending = last.as_mut().poll(&mut context) {
            many.push(last);
        }
    }
}

pub fn run() {
    end_many();
    println!("most {MOST}");
    queue::run();
    for _ in 0..2 {
        thread::spawn(|| churn());
    }
}
