//! The probe: records what each coroutine does in shared memory, without std.
//!
//! A program with its own scheduler, an async program, or a bare-metal task loop links this crate.
//! Started by `ctp-record`, it writes each step of each coroutine into memory that the recorder
//! reads from outside, also when the program is wedged or dead. Without a recorder every call is
//! one branch.
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
//! 4 is a count ([`wake`]): with it, a suspended coroutine is known to be not woken, or woken and
//! not run. It comes *before* the coroutine is made ready.
//!
//! A scheduler of one's own, feature `linux`; the spawn and await sites are the user's lines:
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
//!     fn read(&self, fd: i32) { self.trace.suspend(ctp::Wait::readable(fd)); /* 3, then switch */ }
//!     #[track_caller]
//!     fn hand_over(&self, next: &Green) { // 3 of this one and 2 of that one, at one time
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
//!     fn ring() {} // nobody sleeps
//! }
//! let sensor = CTP.probe::<Board>().born("sensor");
//! sensor.suspend(Wait::user(3)); // an interrupt's number
//! sensor.run();
//! ```
//!
//! You provide: the calls at the arrows, in one thread at a time for each coroutine; elsewhere than
//! on Linux a [`Platform`]. If you also tell where a descriptor, lock or channel is [`closed`](Probe::closed),
//! the trace has the line after which nobody could be woken any more; if you tell where locks are
//! [`acquired`](Probe::acquired) and [`released`](Probe::released), it has who keeps those that wait; a thread that
//! [ends](Probe::thread_ends) leaves its buffer to the next at once. It provides: memory that is whole at every instant ([`layout`]), exact
//! loss, and events without lock, allocation or panic, and with hardly a system call: for the first one
//! after the recorder went to sleep, and for a thread's first one, which asks for the thread's id and may
//! ask whether a few other threads are gone. (A thread that has found no buffer asks that again now and
//! then, and a traced future's first wakers in a thread take some more.)
//! It does not: wait for anybody, find coroutines or wakes by
//! itself, or run without 64-bit atomics (Cortex-M and RV32 have none).
#![no_std]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "ctp-nostd needs atomics of 64 bits: armv7a, armv7r, aarch64, riscv64 and x86_64 have them; \
     Cortex-M (thumbv6m to thumbv8m), RV32 and Xtensa do not"
);

#[cfg(feature = "alloc")]
extern crate alloc as heap; // `alloc` is how stations are handed out

// The layers, lowest first. A module imports from its own layer and from those above it in this table;
// `tests/layers.rs` reads the table and checks that.
//
// | layer | what is in it |
// | --- | --- |
// | `sync` | atomics, and steps that one thread takes without a lock |
// | `memory` | the words of the shared memory, and a checked view of them |
// | `protocol` | how the probe writes those words and the recorder reads them |
// | `platform` | what a target provides; what is remembered of a program and of a thread |
// | `event` | an event, from what it says to the bell |
// | `handle` | what a program holds: its coroutines, their wakers, the probe |
// | `linux` | the platform Linux; only this layer makes system calls |
// | `future` | traced futures and their wakers |
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

#[cfg(all(feature = "linux", feature = "alloc"))]
pub use future::waits_for_in;
#[cfg(feature = "linux")]
pub use future::{Traced, TracedExt};
pub use handle::Kind;
#[cfg(not(loom))]
pub use handle::Memory;
pub use handle::coroutine::Coroutine;
pub use handle::waker;
#[cfg(feature = "linux")]
pub use linux::{
    Linux, Task, Waker, acquired, acquired_at, attach, closed, probe, released, thread_ends,
    waits_for,
};
pub use memory::layout::FLAG_TELLS_WAKES;
pub use memory::{Refused, Region, ShortLanes, alloc, layout, request};
pub use platform::{Local, Platform, Probe};
pub use protocol::intern::site;
pub use protocol::wait::{Resource, WAIT_IDLE, WAIT_ONE_OF_SEVERAL, Wait, WaitKind};
pub use protocol::{
    aggregate, audit, chain, clock, control, create, dialect, doorbell, holders, inspect, intern,
    lane, live, slot, station_copy, wake,
};
