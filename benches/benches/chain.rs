//! What does it cost to find who awaits whom, when a leaf future clones the waker? Beside a clone
//! that comes outside of the poll, for which nothing is looked for. What is it to find who wakes,
//! beside a handle that tells its line itself? And what is a poll whose leaf has
//! kept a waker, where it may keep it and where the chain of each wait is wanted? Built with frame
//! pointers:
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

/// Functions that await each other between the leaf and what is traced.
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
    assert!(status.expect("it runs").success());
}

// CT-13
fn target() {
    let borrowed = Borrowed::attach();
    polls(&borrowed, "as it comes");
    wakes(&borrowed);
    pairs(&borrowed);
    yields(&borrowed);
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

/// Of a traced future's waker, called in its poll.
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
        let called = |waker: &Waker| {
            let waker = black_box(waker);
            times(1, before, || waker.wake_by_ref()).least_ns
        };
        let found = poll_once(depth, &mut None, called);
        let what = format!("wake, by a waker, {depth} deep");
        report(&what, found, Some(("that", reported)));
    }
}

/// Of a clone outside of the poll that wakes, and is so used up: the executor's waker, and that of a
/// traced future around it.
fn pairs(borrowed: &Borrowed) {
    let pair = |waker: &Waker| {
        let waker = black_box(waker);
        times(1, || borrowed.empty_lanes(), || clone_and_wake(waker)).least_ns
    };
    let plain = pair(&Waker::from(Arc::new(NoopWaker)));
    report("clone and wake, the executor's waker", plain, None);
    let mut kept = None;
    poll_once(1, &mut kept, |_| 0.0);
    let traced = pair(&kept.expect("the leaf kept one"));
    report(
        "clone and wake, a traced one's",
        traced,
        Some(("that", plain)),
    );
}

/// By a call, so that the loop around it is not what decides what the register for frame pointers holds in
/// a program without them: a wake looks for its callers where that may be one.
#[inline(never)]
#[expect(clippy::waker_clone_wake, reason = "that pair is what is measured")]
fn clone_and_wake(waker: &Waker) {
    waker.clone().wake();
}

/// A poll whose leaf clones the waker, and the wake which that clone is used up for: all that a task
/// which yields costs besides its executor. Of the future itself, and of it traced.
fn yields(borrowed: &Borrowed) {
    let before = || borrowed.empty_lanes();
    for depth in DEPTHS {
        let [plain, traced] = [false, true].map(|is_traced| {
            let given = RefCell::new(None);
            let leaf = poll_fn(|context: &mut Context<'_>| {
                given.replace(Some(context.waker().clone()));
                Poll::<()>::Pending
            });
            let future = descend(depth, Box::pin(leaf));
            let mut future: Boxed<'_> = match is_traced {
                true => Box::pin(future.traced()),
                false => future,
            };
            let waker = Waker::from(Arc::new(NoopWaker));
            let go = || {
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                given.take().expect("the leaf gave it").wake();
            };
            times(1, before, go).least_ns
        });
        let what = format!("poll, clone and wake, {depth} deep");
        report(&what, traced, Some(("untraced", plain)));
    }
}

/// Of a leaf that has a waker, and one that takes none.
fn polls(borrowed: &Borrowed, mode: &str) {
    for depth in DEPTHS {
        let [takes_none, keeps] = [false, true].map(|keeps| polled_again(borrowed, depth, keeps));
        let what = format!("poll, leaf keeps a waker, {mode}, {depth} deep");
        report(&what, keeps, Some(("one that takes none", takes_none)));
    }
}

/// Nanoseconds of a poll that ends as the one before, in the quickest round.
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

/// Nanoseconds of a clone and its drop.
fn clones(waker: &Waker) -> f64 {
    let waker = black_box(waker);
    ctp_benches::median_ns(ROUNDS, CALLS, || drop(waker.clone()))
}

/// Measures in the leaf, which has kept the waker.
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
