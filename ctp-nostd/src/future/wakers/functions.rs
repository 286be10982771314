//! The functions of a traced future's wakers, as a [`RawWaker`] needs them.
#![allow(
    unsafe_code,
    reason = "a waker that counts brings functions of its own, the last of which frees, and only \
              assembly can read the return address on entry"
)]

use core::ptr;
use core::task::{RawWaker, RawWakerVTable};
use heap::boxed::Box;

use super::wrapped::Wrapped;
use crate::handle::waker;
use crate::linux;
use crate::linux::stack::walk;
use crate::protocol::branches::MAX_BRANCHES;
use crate::protocol::holders::{FollowUp, Holders};

pub(super) static FUNCTIONS: RawWakerVTable =
    RawWakerVTable::new(entry::clone, wake, wake_by_ref, drop_clone);

/// The functions of the waker that a precise poll borrows: the same functions at another address,
/// so that this waker equals none of its clones. Clones have other tables, so that leaf futures may
/// compare their clones with each other.
pub(super) static BORROWED_FUNCTIONS: RawWakerVTable =
    RawWakerVTable::new(entry::clone, wake, wake_by_ref, drop_clone);

/// The functions of the clones of each branch (`branches.rs`).
pub(super) static BRANCH_FUNCTIONS: [RawWakerVTable; MAX_BRANCHES] = [
    of_branch::<0>(),
    of_branch::<1>(),
    of_branch::<2>(),
    of_branch::<3>(),
    of_branch::<4>(),
    of_branch::<5>(),
    of_branch::<6>(),
    of_branch::<7>(),
];

const fn of_branch<const NUMBER: usize>() -> RawWakerVTable {
    RawWakerVTable::new(
        clone_branch::<NUMBER>,
        wake_branch::<NUMBER>,
        wake_branch_by_ref::<NUMBER>,
        drop_branch::<NUMBER>,
    )
}

/// Whether these are the functions of a clone of a traced future's waker.
pub(super) fn is_clone(functions: &'static RawWakerVTable) -> bool {
    ptr::eq(functions, &FUNCTIONS)
        || BRANCH_FUNCTIONS
            .as_ptr_range()
            .contains(&ptr::from_ref(functions))
}

/// # Safety
/// `data` points to a `Wrapped` with at least one holder. This holds for all functions below. This
/// function is entered by way of [`entry::clone`].
pub(crate) unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the caller's promise.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    if wrapped.holders.add() {
        wrapped.count_first();
    }
    let polled = &linux::local().polled;
    let functions = match polled.limits(data.addr()) {
        Some(limits) => wrapped.record_chain(polled, limits, walk::here()),
        None => &FUNCTIONS,
    };
    RawWaker::new(data, functions)
}

/// Clones a clone. The new clone belongs to the same leaf.
unsafe fn clone_branch<const NUMBER: usize>(data: *const ()) -> RawWaker {
    // SAFETY: the caller's promise.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    if wrapped.holders.add() {
        wrapped.count_first();
    }
    wrapped.branches.add_clone(NUMBER);
    RawWaker::new(data, &BRANCH_FUNCTIONS[NUMBER])
}

unsafe fn wake_branch<const NUMBER: usize>(data: *const ()) {
    // SAFETY: the caller's promise.
    unsafe {
        let wrapped: *const Wrapped = data.cast();
        (*wrapped).wake_branch(NUMBER);
        (*wrapped).branches.drop_clone(NUMBER);
        wake(data);
    }
}

unsafe fn wake_branch_by_ref<const NUMBER: usize>(data: *const ()) {
    // SAFETY: the caller's promise.
    unsafe {
        let wrapped: *const Wrapped = data.cast();
        (*wrapped).wake_branch(NUMBER);
        wake_by_ref(data);
    }
}

unsafe fn drop_branch<const NUMBER: usize>(data: *const ()) {
    // SAFETY: the caller's promise.
    unsafe {
        let wrapped: *const Wrapped = data.cast();
        (*wrapped).branches.drop_clone(NUMBER);
        drop_clone(data);
    }
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the caller's promise. The caller gives away a clone, which holds the data until the
    // end.
    unsafe {
        let wrapped: &Wrapped = &*data.cast();
        wrapped.record_wake();
        wrapped.mark_announcement_uncertain();
        let is_only_clone = wrapped.holders.begin_wake();
        wrapped.inner.wake_by_ref();
        let shared: *mut Wrapped = data.cast_mut().cast();
        if is_only_clone {
            release_by(shared, Holders::end_wake)
        } else {
            release_clone(shared)
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the caller's promise.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    wrapped.record_wake();
    wrapped.inner.wake_by_ref();
}

unsafe fn drop_clone(data: *const ()) {
    // SAFETY: the caller's promise.
    unsafe {
        let wrapped: *const Wrapped = data.cast();
        (*wrapped).before_clone_dropped();
        release_clone(wrapped.cast_mut());
    }
}

/// # Safety
/// The caller has a clone, and gives it up.
#[inline(always)]
unsafe fn release_clone(wrapped: *mut Wrapped) {
    // SAFETY: the caller's promise.
    unsafe {
        if !(*wrapped).holders.subtract_if_others() {
            release_last_clone(wrapped);
        }
    }
}

/// # Safety
/// The caller has a clone, and gives it up.
#[inline(never)]
unsafe fn release_last_clone(wrapped: *mut Wrapped) {
    // SAFETY: the caller's promise. After the clone is given up, only the copied count is used.
    unsafe {
        let count = (*wrapped).trace.count();
        let follow_up = (*wrapped).holders.subtract();
        if follow_up != FollowUp::NOTHING {
            do_follow_up(follow_up, count, wrapped);
        }
    }
}

/// Gives up a hold by the step `by`, which leaves work only to the last holder. The data still
/// exists for that work.
///
/// # Safety
/// The caller has the hold that `by` gives up.
#[inline(always)]
pub(super) unsafe fn release_by(wrapped: *mut Wrapped, by: impl FnOnce(&Holders) -> FollowUp) {
    // SAFETY: the caller's promise. Afterwards the data still exists for a caller with follow-up
    // work.
    unsafe {
        let follow_up = by(&(*wrapped).holders);
        if follow_up != FollowUp::NOTHING {
            do_follow_up(follow_up, (*wrapped).trace.count(), wrapped);
        }
    }
}

/// # Safety
/// This is the follow-up work of a caller that has given up its hold on `wrapped`.
#[cold]
#[inline(never)]
unsafe fn do_follow_up(follow_up: FollowUp, count: waker::WakerCount, wrapped: *mut Wrapped) {
    if follow_up.uncount {
        count.subtract();
    }
    if follow_up.free {
        // SAFETY: the pointer came from a box, and no other holder is left.
        drop(unsafe { Box::from_raw(wrapped) });
    }
}

/// The entry point of `Waker::clone`, which records the return address of the call. That address is
/// in the leaf future that clones. A function compiled without frame pointers cannot find that
/// address by itself.
///
/// ```text
///   leaf future ──> entry: Polled::returns_to = return address ──jump──> the clone itself
/// ```
/// The entry changes neither a register that may hold an argument nor the stack. So it need not
/// know how arguments are passed, like the stubs through which a linker calls a shared library.
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

    // r10 and r11 are free at a call, and hold no argument (x86-64 psABI, 3.2.3).
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

    // x16 and x17 are reserved for such stubs (AAPCS64, 6.1.1), and x30 has the return address.
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
        /// As for the function that it jumps to.
        #[link_name = entry!()]
        pub(crate) unsafe fn clone(data: *const ()) -> RawWaker;
    }
}

/// Other targets record no return address.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
)))]
pub(super) mod entry {
    pub(crate) use super::clone;
}
