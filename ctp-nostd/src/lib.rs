//! The probe: records in shared memory what each coroutine does, without std.
//!
//! A program with its own scheduler, an async program, or a bare-metal task loop links this crate.
//! When `ctp-record` starts the program, the probe writes each step of each coroutine into memory
//! that the recorder reads from outside, even after the program hangs or dies. Without a recorder,
//! every call is one or two branches. `ctp-record -p` can also start to record a program that runs
//! already.
//!
//! ```text
//!     1 born           2 run           5 Ready, panic, drop
//!  ─────────> BORN ──────────> RUNNING ─────────────────────> DEAD
//!              │               ^     │                          ^
//!              │         2 run │     │ 3 suspend                │
//!              │               │     v         5 drop: cancelled│
//!              │              SUSPENDED ────────────────────────┤
//!              │                 ^                              │
//!              │          4 wake │ counted, no state            │
//!              └─────────────────┴──────────────────────────────┘
//! ```
//! Arrows 1, 2, 3 and 5 are the events birth, run, suspend and death of [`slot::EventKind`]. Arrow
//! 4 only increments a count ([`wake`]). The count shows whether a suspended coroutine was not
//! woken, or was woken and did not run. Call `wake` *before* the coroutine is made ready.
//!
//! For your own scheduler (feature `linux`), the spawn and await sites are the lines of the user's
//! code:
//! ```
//! # #[cfg(feature = "linux")] mod scheduler {
//! use ctp_nostd as ctp; // and `ctp::attach()` first thing in `main`, before there are threads
//! struct Green { waker: ctp::Waker, trace: ctp::Task }
//! #[track_caller]
//! fn spawn() -> Green {
//!     let trace = ctp::Task::born("session"); // 1
//!     Green { waker: trace.waker(), trace }
//! }
//! impl Green {
//!     fn resume(&self) { self.trace.run(); /* 2, then switch to its stack */ }
//!     #[track_caller]
//!     fn read(&self, fd: i32) {
//!         self.trace.suspend_with_stack(ctp::Wait::readable(fd)); // 3, then switch
//!     }
//!     #[track_caller]
//!     fn hand_over(&self, next: &Green) { // 3 of this coroutine and 2 of `next`, at one time
//!         self.trace.switch_to(ctp::Wait::to_yield(), &next.trace); /* then switch to its stack */
//!     }
//!     fn ready(&self) { self.waker.wake(); /* 4, then queue it */ }
//! } // 5: dropping `trace`
//! # }
//! ```
//! Futures on any executor:
//! ```
//! # #[cfg(feature = "linux")] {
//! # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
//! # fn spawn(future: impl Future<Output = u32>) {
//! #     let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
//! #     assert_eq!(polled, Poll::Ready(7));
//! # }
//! # async fn serve() -> u32 { 7 }
//! use ctp_nostd::{self as ctp, TracedExt as _};
//! ctp::attach(); // first thing in `main`
//! spawn(serve().traced()); // name, spawn site, arrows 1, 2, 3 and 5; with feature `alloc` also 4
//! # }
//! ```
//! Bare metal; dump the memory and read it with `ctp-record --image`:
//! ```
//! # mod timer { pub fn ticks() -> u64 { 0 } }
//! use ctp_nostd::{Memory, Platform, Wait};
//! static CTP: Memory<16> = Memory::new(); // found by its magic
//! struct Board;
//! // SAFETY: one core, and no `Local`.
//! unsafe impl Platform for Board {
//!     fn now_ns() -> u64 { timer::ticks() * 125 } // 8 MHz
//!     fn thread() -> u64 { 0 } // one core
//!     fn ring() {} // no recorder sleeps here
//! }
//! let sensor = CTP.probe::<Board>().born("sensor");
//! sensor.suspend(Wait::user(3)); // an interrupt's number
//! sensor.run();
//! ```
//!
//! You provide the calls at the arrows, from one thread at a time for each coroutine. On targets
//! other than Linux, you also provide a [`Platform`]. Four more calls are optional:
//!
//! - [`suspend_with_stack`](Coroutine::suspend_with_stack) instead of `suspend`, for a coroutine with
//!   a stack of its own. The trace then has the call stack of a long wait.
//! - [`closed`](Probe::closed) records where a descriptor, lock or channel is closed. The trace
//!   then has the line after which no wake was possible.
//! - [`acquired`](Probe::acquired), [`acquired_shared`](Probe::acquired_shared) and [`released`](Probe::released)
//!   record lock holders. The trace then names the holder that keeps a coroutine waiting.
//! - [`thread_ends`](Probe::thread_ends) hands the thread's buffer to the next thread at once.
//!
//! The probe provides memory that is consistent at every instant ([`layout`]), an exact count of
//! lost records, and events without lock, allocation or panic. Events make almost no system calls.
//! The first event after the recorder went to sleep makes a call. A thread's first event asks for the
//! thread's id, and may check whether a few other threads have exited. A thread that found no
//! buffer repeats that check now and then, and a traced future's first wakers in a thread make a
//! few more calls.
//!
//! An event never waits, with an exception: if the recorder could not copy the stack of a coroutine in
//! three attempts, a run of that coroutine may wait for the copy, for 50 ms at most ([`freeze`]). A fork,
//! and attaching after an exec, wait for the recorder's answer, for half a second at most.
//! The probe does not find coroutines or wakes by itself.
#![no_std]

#[cfg(all(feature = "linux", any(ctp_split_words, not(target_has_atomic = "64"))))]
compile_error!("the feature `linux` of ctp-nostd needs atomics of 64 bits");

#[cfg(feature = "alloc")]
extern crate alloc as heap; // `alloc` is the module that hands out stations

// The layers, lowest first. A module imports from its own layer and from layers above it in this
// table; `tests/layers.rs` reads the table and checks this.
//
// | layer | what is in it |
// | --- | --- |
// | `sync` | atomics, and lock-free single-thread steps |
// | `memory` | the words of the shared memory, and a checked view of them |
// | `protocol` | how the probe writes those words and the recorder reads them |
// | `platform` | what a target provides; state kept per program and per thread |
// | `event` | an event, from its payload to the doorbell |
// | `handle` | what a program holds: its coroutines, their wakers, the probe |
// | `linux` | the Linux platform; only this layer makes system calls |
// | `future` | traced futures and their wakers |
// | `embassy` | the hooks of embassy's executor, which trace its tasks |
mod sync;

mod memory;

mod protocol;

mod platform;

mod event;

mod handle;

#[cfg(feature = "linux")]
mod linux;

#[cfg(feature = "linux")]
mod future;

#[cfg(not(loom))]
mod embassy;

#[cfg(not(loom))]
pub use embassy::{CompactEmbassy, Embassy, TracedWait};
#[cfg(all(feature = "linux", feature = "alloc"))]
pub use future::waits_for_in;
#[cfg(feature = "linux")]
pub use future::{Traced, TracedExt};
pub use handle::coroutine::Coroutine;
pub use handle::waker;
#[cfg(not(loom))]
pub use handle::{CompactMemory, Memory, MemoryOf, RingMemory};
pub use handle::{Kind, StackPosition};
#[cfg(feature = "linux")]
pub use linux::{
    Linux, Task, Waker, acquired, acquired_at, acquired_shared, acquired_shared_at, attach, closed,
    probe, released, thread_ends, waits_for,
};
pub use memory::layout::FLAG_RECORDS_WAKES;
pub use memory::{CompactRegion, Refused, Region, RegionOf, ShortLanes, alloc, layout, request};
pub use platform::{Local, Platform, Probe, ProbeLayout};
#[cfg(all(target_has_atomic = "64", not(ctp_split_words)))]
pub use protocol::holders;
pub use protocol::intern::{call_site, site};
pub use protocol::wait::{
    Resource, WAIT_EARLIER_WAKER, WAIT_IDLE, WAIT_MARKS, WAIT_ONE_OF_SEVERAL, WAIT_UNREGISTERED,
    Wait, WaitKind,
};
pub use protocol::{
    aggregate, attach_request, audit, branches, chain, clock, control, create, dialect, doorbell,
    freeze, half_written, history, inspect, intern, lane, live_wakers, slot, station_copy,
    suspended_stack, wake,
};
