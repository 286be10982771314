//! What the wakers of a traced future do: the functions that a [`RawWaker`] brings.
#![allow(
    unsafe_code,
    reason = "a waker that counts has to bring functions of its own, the last of which frees, and a \
              return address on entry is to be had by assembly alone"
)]

use core::task::{RawWaker, RawWakerVTable};
use heap::boxed::Box;

use super::wrapped::Wrapped;
use crate::handle::waker;
use crate::linux;
use crate::linux::stack::walk;
use crate::protocol::holders::{Duty, Holders};

pub(super) static FUNCTIONS: RawWakerVTable =
    RawWakerVTable::new(entry::clone, wake, wake_by_ref, drop_one);

/// Those of a waker that is lent to a poll, at another place. What is cloned has the others, so that leaf
/// futures may compare what they have among each other.
pub(super) static FUNCTIONS_OF_LENT: RawWakerVTable =
    RawWakerVTable::new(entry::clone, wake, wake_by_ref, drop_one);

/// # Safety
/// `data` points to a `Wrapped` that somebody holds. So it is for all that follow.
/// It is entered by way of [`entry::clone`].
pub(crate) unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: as the caller says.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    if wrapped.holders.add() {
        wrapped.count_first();
    }
    let polled = &linux::local().polled;
    if let Some(limits) = polled.limits(data.addr()) {
        wrapped.note_chain(polled, limits, walk::here());
    }
    RawWaker::new(data, &FUNCTIONS)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: as the caller says, who gives away a clone, and with it a hold on this until the end.
    unsafe {
        let wrapped: &Wrapped = &*data.cast();
        wrapped.tell_wake();
        wrapped.doubt_announcement();
        let is_only_one = wrapped.holders.wakes();
        wrapped.inner.wake_by_ref();
        let its: *mut Wrapped = data.cast_mut().cast();
        match is_only_one {
            true => let_go_unless_last(its, Holders::has_woken),
            false => let_go_of_clone(its),
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: as the caller says.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    wrapped.tell_wake();
    wrapped.inner.wake_by_ref();
}

unsafe fn drop_one(data: *const ()) {
    // SAFETY: as above.
    unsafe {
        let wrapped: *const Wrapped = data.cast();
        (*wrapped).doubt_waits();
        let_go_of_clone(wrapped.cast_mut());
    }
}

/// # Safety
/// The caller has a clone, and lets it go.
#[inline(always)]
unsafe fn let_go_of_clone(wrapped: *mut Wrapped) {
    // SAFETY: as the caller says.
    unsafe {
        if !(*wrapped).holders.subtract_beside_others() {
            let_go_of_one_of_the_last(wrapped);
        }
    }
}

/// # Safety
/// As of that.
#[inline(never)]
unsafe fn let_go_of_one_of_the_last(wrapped: *mut Wrapped) {
    // SAFETY: as the caller says, and afterwards what is needed has been copied.
    unsafe {
        let count = (*wrapped).trace.count();
        let duty = (*wrapped).holders.subtract();
        if duty != Duty::NOTHING {
            do_duty(duty, count, wrapped);
        }
    }
}

/// By a step in which there is something to do for the very last alone, who still has it then.
///
/// # Safety
/// The caller holds what it lets go.
#[inline(always)]
pub(super) unsafe fn let_go_unless_last(wrapped: *mut Wrapped, by: impl FnOnce(&Holders) -> Duty) {
    // SAFETY: as the caller says; afterwards it is there for who has a duty.
    unsafe {
        let duty = by(&(*wrapped).holders);
        if duty != Duty::NOTHING {
            do_duty(duty, (*wrapped).trace.count(), wrapped);
        }
    }
}

/// # Safety
/// It is what is to be done by who has let go of it.
#[cold]
#[inline(never)]
unsafe fn do_duty(duty: Duty, count: waker::Count, wrapped: *mut Wrapped) {
    if duty.uncount {
        count.subtract();
    }
    if duty.free {
        // SAFETY: it came from a box, and nobody else holds it any more.
        drop(unsafe { Box::from_raw(wrapped) });
    }
}

/// Where `Waker::clone` is entered: one that notes where the call returns to, which is in the leaf
/// future that clones. A function cannot find that by itself if it is compiled without frame pointers.
///
/// ```text
///   leaf future ──> entry: Polled::returns_to = return address ──jump──> the clone itself
/// ```
/// It touches no register that may hold an argument, nor the stack: so it need not know how arguments
/// are passed, as the stubs by which a linker reaches a shared library do not.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
))]
pub(super) mod entry {
    use core::mem::offset_of;
    use core::task::RawWaker;

    use crate::linux::symbol;
    use crate::platform::Local;
    use crate::platform::Polled;

    macro_rules! entry {
        () => {
            concat!("__ctp_clone_", env!("CARGO_PKG_VERSION"))
        };
    }

    // r10 and r11 are nobody's at a call, and hold no argument (x86-64 psABI, 3.2.3).
    #[cfg(target_arch = "x86_64")]
    core::arch::global_asm!(
        ".pushsection .text.ctp_clone,\"ax\",@progbits",
        concat!(".globl \"", entry!(), "\""),
        concat!(".hidden \"", entry!(), "\""),
        concat!(".type \"", entry!(), "\",@function"),
        ".p2align 4",
        concat!("\"", entry!(), "\":"),
        ".cfi_startproc",
        "endbr64",
        concat!("mov r11, qword ptr [rip + \"", symbol!(), "\"@GOTTPOFF]"),
        "mov r10, qword ptr [rsp]",
        "mov qword ptr fs:[r11 + {returns_to}], r10",
        "jmp {clone}",
        ".cfi_endproc",
        concat!(".size \"", entry!(), "\", . - \"", entry!(), "\""),
        ".popsection",
        returns_to = const offset_of!(Local, polled) + offset_of!(Polled, returns_to),
        clone = sym super::clone,
    );

    // x16 and x17 are for such stubs (AAPCS64, 6.1.1), and x30 has the return address.
    #[cfg(target_arch = "aarch64")]
    core::arch::global_asm!(
        ".pushsection .text.ctp_clone,\"ax\",%progbits",
        concat!(".globl \"", entry!(), "\""),
        concat!(".hidden \"", entry!(), "\""),
        concat!(".type \"", entry!(), "\",%function"),
        ".p2align 4",
        concat!("\"", entry!(), "\":"),
        ".cfi_startproc",
        "hint #34", // bti c
        concat!("adrp x16, :gottprel:\"", symbol!(), "\""),
        concat!("ldr x16, [x16, :gottprel_lo12:\"", symbol!(), "\"]"),
        "mrs x17, tpidr_el0",
        "add x16, x16, x17",
        "str x30, [x16, #{returns_to}]",
        "b {clone}",
        ".cfi_endproc",
        concat!(".size \"", entry!(), "\", . - \"", entry!(), "\""),
        ".popsection",
        returns_to = const offset_of!(Local, polled) + offset_of!(Polled, returns_to),
        clone = sym super::clone,
    );

    unsafe extern "Rust" {
        /// # Safety
        /// As of what it jumps to.
        #[link_name = entry!()]
        pub(crate) unsafe fn clone(data: *const ()) -> RawWaker;
    }
}

/// Elsewhere nothing is noted.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
)))]
pub(super) mod entry {
    pub(crate) use super::clone;
}
