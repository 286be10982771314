//! What does it cost to find who awaits whom, when a leaf future clones the waker? Beside a clone
//! that comes outside of the poll, for which nothing is looked for. Built with frame pointers:
//! `RUSTFLAGS="-C force-frame-pointers=yes" cargo bench -p ctp-benches --features wakers --bench chain`

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use ctp_benches::memory::{Lent, Memory};
use ctp_benches::{CALLS, report, this_program};
use ctp_nostd::TracedExt as _;
use ctp_nostd::aggregate::MODE_HISTORY;

/// Functions that await each other between the leaf and what is traced.
const DEPTHS: [u32; 3] = [1, 5, 12];
const ROUNDS: usize = 501;

fn main() {
    if std::env::args().any(|argument| argument == "--as=target") {
        return target();
    }
    let memory = Memory::new(4, MODE_HISTORY);
    let mut command = Command::new(this_program());
    let status = memory.lend(command.arg("--as=target")).status();
    assert!(status.expect("it runs").success());
}

// CT-13
fn target() {
    let _memory = Lent::attach();
    for depth in DEPTHS {
        let mut kept = None;
        let within = poll_once(depth, &mut kept, clones);
        let waker = kept.expect("the leaf kept one");
        let outside = clones(&waker);
        report("clone and drop, outside of the poll", outside, None);
        let what = format!("the same in it, {depth} deep");
        report(&what, within, Some(("that", outside)));
    }
}

/// Nanoseconds of a clone and its drop.
fn clones(waker: &Waker) -> f64 {
    ctp_benches::median_ns(ROUNDS, CALLS, || drop(black_box(waker).clone()))
}

/// Measures in the leaf, and keeps the waker.
fn poll_once(depth: u32, kept: &mut Option<Waker>, measure: fn(&Waker) -> f64) -> f64 {
    let mut found = 0.0;
    let leaf = poll_fn(|context: &mut Context<'_>| {
        found = measure(context.waker());
        *kept = Some(context.waker().clone());
        Poll::<()>::Pending
    });
    {
        let mut traced = pin!(descend(depth, Box::pin(leaf)).traced());
        let waker = Waker::from(Arc::new(Nobody));
        let polled = traced.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    found
}

type Boxed<'f> = Pin<Box<dyn Future<Output = ()> + 'f>>;

fn descend(depth: u32, leaf: Boxed<'_>) -> Boxed<'_> {
    match depth {
        0 => leaf,
        _ => Box::pin(async move { descend(depth - 1, leaf).await }),
    }
}

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}
