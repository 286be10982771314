//! The numbers by which C names kinds of coroutines and of waits.

use ctp_nostd::{Kind, Resource, WAIT_IDLE, WAIT_MARKS, WaitKind};

/// The kind of coroutine is not known.
pub const CTP_KIND_UNKNOWN: u32 = 0;
/// A coroutine of C++20, or another coroutine without a stack.
pub const CTP_KIND_STACKLESS: u32 = 1;
/// A coroutine with a stack of its own.
pub const CTP_KIND_STACKFUL: u32 = 2;
/// A thread.
pub const CTP_KIND_THREAD: u32 = 3;

/// Waits for something that the program cannot name.
pub const CTP_UNKNOWN: u32 = 0;
/// Waits for a file descriptor to become readable.
pub const CTP_READABLE: u32 = 1;
/// Waits for a file descriptor to become writable.
pub const CTP_WRITABLE: u32 = 2;
/// Waits for a time: nanoseconds of CLOCK_MONOTONIC, or 0 if not known.
pub const CTP_TIMER: u32 = 3;
/// Waits for a lock, named by its address.
pub const CTP_LOCK: u32 = 4;
/// Waits for a channel, named by its address.
pub const CTP_CHANNEL: u32 = 5;
/// Waits for the end of another coroutine, named by its ctp_id.
pub const CTP_COROUTINE: u32 = 6;
/// Waits for a resource that the program defines, under a number of its choice.
pub const CTP_USER: u32 = 7;
/// Only yields to other coroutines.
pub const CTP_YIELD: u32 = 8;
/// Added to a kind of wait: the wait is expected to be long, like that of a listener.
pub const CTP_IDLE: u32 = 0x20;
/// Added to a kind of wait: the coroutine waits for several things, and names one.
pub const CTP_SEVERAL: u32 = 0x40;

const _: () = {
    assert!(CTP_UNKNOWN == WaitKind::Unknown as u32);
    assert!(CTP_READABLE == WaitKind::Readable as u32);
    assert!(CTP_WRITABLE == WaitKind::Writable as u32);
    assert!(CTP_TIMER == WaitKind::Timer as u32);
    assert!(CTP_LOCK == WaitKind::Lock as u32);
    assert!(CTP_CHANNEL == WaitKind::Channel as u32);
    assert!(CTP_COROUTINE == WaitKind::Coroutine as u32);
    assert!(CTP_USER == WaitKind::User as u32);
    assert!(CTP_YIELD == WaitKind::Yield as u32);
    assert!(CTP_IDLE == WAIT_IDLE as u32);
    assert!(CTP_IDLE | CTP_SEVERAL == WAIT_MARKS as u32);
};

/// The code of a wait, as the probe stores it. A number without a meaning is an unknown wait.
#[inline(always)]
pub(crate) fn wait_code(wait: u32) -> u8 {
    u8::try_from(wait).unwrap_or(CTP_UNKNOWN as u8)
}

/// The resource that waits of this kind name with this number.
pub(crate) fn resource(wait: u32, number: u64) -> Resource {
    Resource::of(WaitKind::from_code(wait_code(wait)), number)
}

/// The kind of a coroutine. A number without a meaning is an unknown kind.
pub(crate) fn coroutine_kind(kind: u32) -> Kind {
    match kind {
        CTP_KIND_STACKLESS => Kind::Future,
        CTP_KIND_STACKFUL => Kind::Stackful,
        CTP_KIND_THREAD => Kind::Thread,
        _ => Kind::Unknown,
    }
}
