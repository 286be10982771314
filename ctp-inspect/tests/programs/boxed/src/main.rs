//! Boxed futures on executors that are written by hand, and in sets. The program prints each boxed future that exists:
//! its type, and its address. It also prints the lines at which functions await. Then it waits to be killed.
//!
//! The argument says what the program does.

mod deadlock;
mod load;
mod pool;
mod queue;
mod sets;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Says that a function awaits at this line.
fn awaits_at(function: &str, line: u32) {
    println!("line {function} {line}");
}

/// Says that a boxed future exists.
fn exists(kind: &str, future: &BoxedFuture) {
    println!("box {kind} {}", address_of(future));
}

fn address_of(future: &BoxedFuture) -> usize {
    &raw const **future as *const () as usize
}

/// A future that never ends.
struct Never;

impl Future for Never {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// A future that ends when it is polled for the second time.
#[derive(Default)]
struct Once {
    was_polled: bool,
}

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.was_polled {
            return Poll::Ready(());
        }
        self.was_polled = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

fn wait_to_be_killed() -> ! {
    println!("ready");
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("queue") => queue::run(),
        Some("load") => load::run(),
        Some("set") => sets::run_set(),
        Some("plain") => sets::run_plain(),
        Some("deadlock") => deadlock::run(),
        Some("set-deadlock") => deadlock::run_set(),
        Some("pool") => pool::run(),
        other => panic!("an unknown argument: {other:?}"),
    }
    wait_to_be_killed();
}
