//! The cost of finding await chains and wakers' call sites:
//!
//! - A leaf future clones the waker inside the poll, which records the await chain; compared with a
//!   clone outside of the poll, which records nothing.
//! - A wake by a waker, which finds the call site; compared with a wake by a handle, which has it.
//! - A poll where the leaf keeps a waker, in the usual mode and with precise chains.
//!
//! Needs frame pointers:
//! `RUSTFLAGS="-C force-frame-pointers=yes" cargo bench -p ctp-benches --features wakers --bench chain`

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ctp_benches::memory::{Borrowed, Memory};
use ctp_benches::{CALLS, NoopWaker, anything_happens, report, this_program, times};
use ctp_nostd::aggregate::MODE_HISTORY;
use ctp_nostd::{Task, TracedExt as _};

/// Numbers of `async` functions between the leaf and the traced future.
const DEPTHS: [u32; 3] = [1, 5, 12];
const ROUNDS: usize = 501;

fn main() {
    let role = std::env::args().find(|argument| argument.starts_with("--as="));
    match role.as_deref() {
        Some("--as=target") => target(),
        Some(_) => polls(&Borrowed::attach(), "precise"),
        None => {
            run_self_in(&Memory::new(4, MODE_HISTORY), "--as=target");
            run_self_in(&Memory::of_precise_chains(4), "--as=precise");
        }
    }
}

fn run_self_in(memory: &Memory, role: &str) {
    let mut command = Command::new(this_program());
    let status = memory.lend(command.arg(role)).status();
    assert!(status.expect("can run itself").success());
}

// CT-13
fn target() {
    let borrowed = Borrowed::attach();
    polls(&borrowed, "usual mode");
    wakes(&borrowed);
    pairs(&borrowed);
    yields(&borrowed);
    for depth in DEPTHS {
        let mut kept = None;
        let within = poll_once(depth, &mut kept, clones);
        let waker = kept.expect("the leaf kept a waker");
        let outside = clones(&waker);
        report("clone and drop, outside of the poll", outside, None);
        let what = format!("the same inside the poll, {depth} deep");
        report(&what, within, Some(("outside", outside)));
    }
}

/// Measures a wake by a handle, and by a traced future's waker called in the poll.
fn wakes(borrowed: &Borrowed) {
    let before = || borrowed.empty_lanes();
    let task = Task::born("handle");
    let handle = task.waker();
    let handle = black_box(&handle);
    let wake = || {
        handle.wake();
        anything_happens();
    };
    let reported = times(1, before, wake).least_ns;
    report("wake, by a handle", reported, None);
    for depth in DEPTHS {
        let found = poll_once(depth, &mut None, |waker| {
            let waker = black_box(waker);
            times(1, before, || waker.wake_by_ref()).least_ns
        });
        let what = format!("wake, by a waker, {depth} deep");
        report(&what, found, Some(("by a handle", reported)));
    }
}

/// Measures a clone outside of the poll that is consumed by a wake: of the executor's waker, and of a
/// traced future's waker.
fn pairs(borrowed: &Borrowed) {
    let pair = |waker: &Waker| {
        let waker = black_box(waker);
        times(1, || borrowed.empty_lanes(), || clone_and_wake(waker)).least_ns
    };
    let plain = pair(&Waker::from(Arc::new(NoopWaker)));
    report("clone and wake, the executor's waker", plain, None);
    let mut kept = None;
    poll_once(1, &mut kept, |_| 0.0);
    let traced = pair(&kept.expect("the leaf kept a waker"));
    report(
        "clone and wake, a traced waker",
        traced,
        Some(("the executor's", plain)),
    );
}

/// Not inlined: without frame pointers, the surrounding loop would decide the content of that register.
/// A wake follows the register if the content could be a frame pointer.
#[inline(never)]
#[expect(clippy::waker_clone_wake, reason = "measures this pair")]
fn clone_and_wake(waker: &Waker) {
    waker.clone().wake();
}

/// Measures a poll where the leaf clones the waker, and the wake that consumes the clone, for an untraced
/// and a traced future. This is the whole cost of a yielding task, apart from the executor.
fn yields(borrowed: &Borrowed) {
    for depth in DEPTHS {
        let [plain, traced] = [false, true].map(|is_traced| {
            let given = RefCell::new(None);
            let leaf = poll_fn(|context: &mut Context<'_>| {
                given.replace(Some(context.waker().clone()));
                Poll::<()>::Pending
            });
            let future = descend(depth, Box::pin(leaf));
            let mut future: Boxed<'_> = if is_traced {
                Box::pin(future.traced())
            } else {
                future
            };
            let waker = Waker::from(Arc::new(NoopWaker));
            let go = || {
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                given.take().expect("a waker from the leaf").wake();
            };
            times(1, || borrowed.empty_lanes(), go).least_ns
        });
        let what = format!("poll, clone and wake, {depth} deep");
        report(&what, traced, Some(("untraced", plain)));
    }
}

/// Measures polls of a leaf that keeps a waker, and of a leaf that takes none.
fn polls(borrowed: &Borrowed, mode: &str) {
    for depth in DEPTHS {
        let [takes_none, keeps] = [false, true].map(|keeps| polled_again(borrowed, depth, keeps));
        let what = format!("poll, leaf keeps a waker, {mode}, {depth} deep");
        report(&what, keeps, Some(("without a waker", takes_none)));
    }
}

/// Nanoseconds of a poll that ends like the previous poll, in the quickest round.
fn polled_again(borrowed: &Borrowed, depth: u32, keeps: bool) -> f64 {
    let mut kept: Option<Waker> = None;
    let leaf = poll_fn(move |context: &mut Context<'_>| {
        match &mut kept {
            _ if !keeps => {}
            Some(kept) => kept.clone_from(context.waker()),
            None => kept = Some(context.waker().clone()),
        }
        Poll::<()>::Pending
    });
    let mut traced = pin!(descend(depth, Box::pin(leaf)).traced());
    let waker = Waker::from(Arc::new(NoopWaker));
    let poll = || {
        let polled = traced.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    };
    times(1, || borrowed.empty_lanes(), poll).least_ns
}

/// Nanoseconds of cloning and dropping a waker.
fn clones(waker: &Waker) -> f64 {
    let waker = black_box(waker);
    ctp_benches::median_ns(ROUNDS, CALLS, || drop(waker.clone()))
}

/// Polls once, and measures in the leaf, which keeps the waker.
fn poll_once(depth: u32, kept: &mut Option<Waker>, measure: impl Fn(&Waker) -> f64) -> f64 {
    let mut found = 0.0;
    let leaf = poll_fn(|context: &mut Context<'_>| {
        *kept = Some(context.waker().clone());
        found = measure(context.waker());
        Poll::<()>::Pending
    });
    {
        let mut traced = pin!(descend(depth, Box::pin(leaf)).traced());
        let waker = Waker::from(Arc::new(NoopWaker));
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
