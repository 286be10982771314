//! The functions of a traced future's wakers, and the vtables that [`RawWaker`]s have.
#![allow(
    unsafe_code,
    reason = "a counted waker needs a vtable, whose `drop` frees the data, and only assembly can read the \
              return address on entry"
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

/// The functions of clones, and of the waker that a usual poll borrows.
pub(super) static CLONE_VTABLE: RawWakerVTable =
    RawWakerVTable::new(clone_entry::clone, wake, wake_by_ref, drop_clone);

/// The functions of the waker that a precise poll borrows: the same functions at another address,
/// so that this waker equals none of its clones. The clones of a leaf future still equal each other.
pub(super) static BORROWED_VTABLE: RawWakerVTable =
    RawWakerVTable::new(clone_entry::clone, wake, wake_by_ref, drop_clone);

/// The functions of the clones of each branch (`future/wakers/branches.rs`).
pub(super) static BRANCH_VTABLES: [RawWakerVTable; MAX_BRANCHES] = [
    branch_vtable::<0>(),
    branch_vtable::<1>(),
    branch_vtable::<2>(),
    branch_vtable::<3>(),
    branch_vtable::<4>(),
    branch_vtable::<5>(),
    branch_vtable::<6>(),
    branch_vtable::<7>(),
];

const fn branch_vtable<const NUMBER: usize>() -> RawWakerVTable {
    RawWakerVTable::new(
        clone_branch::<NUMBER>,
        wake_branch::<NUMBER>,
        wake_branch_by_ref::<NUMBER>,
        drop_branch::<NUMBER>,
    )
}

/// Whether these are the functions of clones of a traced future's waker. The waker that a usual poll
/// borrows has them too.
pub(super) fn has_clone_vtable(functions: &'static RawWakerVTable) -> bool {
    ptr::eq(functions, &CLONE_VTABLE)
        || BRANCH_VTABLES
            .as_ptr_range()
            .contains(&ptr::from_ref(functions))
}

// # Safety
// `data` of each function below points to a `Wrapped` with at least one holder. The caller of `wake`,
// `wake_branch`, `drop_clone` or `drop_branch` also has a clone, and gives it up.

/// Clones the waker of a poll, or a clone of no branch. Entered by way of [`clone_entry::clone`].
///
/// # Safety
/// `data` points to a `Wrapped` with at least one holder.
pub(crate) unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the caller's promise.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    wrapped.add_holder();
    let polled = &linux::local().polled;
    let functions = match polled.limits(data.addr()) {
        Some(limits) => wrapped.record_chain(polled, limits, walk::here()),
        None => &CLONE_VTABLE,
    };
    RawWaker::new(data, functions)
}

/// Clones a clone. The new clone belongs to the same leaf.
unsafe fn clone_branch<const NUMBER: usize>(data: *const ()) -> RawWaker {
    // SAFETY: the caller's promise.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    wrapped.add_holder();
    wrapped.branches.add_clone(NUMBER);
    RawWaker::new(data, &BRANCH_VTABLES[NUMBER])
}

unsafe fn wake_branch<const NUMBER: usize>(data: *const ()) {
    // SAFETY: the caller's promise.
    unsafe {
        let wrapped: *const Wrapped = data.cast();
        (*wrapped).wake_branch(NUMBER);
        (*wrapped).branches.remove_clone(NUMBER);
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
        (*wrapped).branches.remove_clone(NUMBER);
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
    // SAFETY: the caller's promise. After `subtract`, another thread may free the data, unless
    // `follow_up.free` says that this call frees it. So the counter is copied before.
    unsafe {
        let counter = (*wrapped).trace.counter();
        let follow_up = (*wrapped).holders.subtract();
        if follow_up != FollowUp::NOTHING {
            do_follow_up(follow_up, counter, wrapped);
        }
    }
}

/// Gives up a hold by the step `by`.
///
/// # Safety
/// The caller has the hold that `by` gives up. `by` is `Holders::release` or `Holders::end_wake`: a step
/// that returns follow-up work only to the last holder, so that the data still exists for that work.
#[inline(always)]
pub(super) unsafe fn release_by(wrapped: *mut Wrapped, by: impl FnOnce(&Holders) -> FollowUp) {
    // SAFETY: the caller's promise. A caller with follow-up work is the last holder, so the data exists.
    unsafe {
        let follow_up = by(&(*wrapped).holders);
        if follow_up != FollowUp::NOTHING {
            do_follow_up(follow_up, (*wrapped).trace.counter(), wrapped);
        }
    }
}

/// # Safety
/// This is the follow-up work of a caller that has given up its hold on `wrapped`.
#[cold]
#[inline(never)]
unsafe fn do_follow_up(
    follow_up: FollowUp,
    counter: waker::LiveWakerCounter,
    wrapped: *mut Wrapped,
) {
    if follow_up.uncount {
        counter.subtract();
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
/// The entry changes neither a register that may hold an argument nor the stack. So it works for any
/// calling convention, like the stubs of a procedure linkage table (PLT).
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
))]
pub(super) mod clone_entry {
    use core::mem::offset_of;
    use core::task::RawWaker;

    use crate::linux::symbol;
    use crate::platform::Local;
    use crate::platform::Polled;

    macro_rules! clone_symbol {
        () => {
            concat!("__ctp_clone_", env!("CARGO_PKG_VERSION"))
        };
    }

    // r10 and r11 are free at a call, and hold no argument (x86-64 psABI, 3.2.3).
    #[cfg(target_arch = "x86_64")]
    core::arch::global_asm!(
        ".pushsection .text.ctp_clone,\"ax\",@progbits",
        concat!(".globl \"", clone_symbol!(), "\""),
        concat!(".hidden \"", clone_symbol!(), "\""),
        concat!(".type \"", clone_symbol!(), "\",@function"),
        ".p2align 4",
        concat!("\"", clone_symbol!(), "\":"),
        ".cfi_startproc",
        "endbr64",
        concat!("mov r11, qword ptr [rip + \"", symbol!(), "\"@GOTTPOFF]"),
        "mov r10, qword ptr [rsp]",
        "mov qword ptr fs:[r11 + {returns_to}], r10",
        "jmp {clone}",
        ".cfi_endproc",
        concat!(".size \"", clone_symbol!(), "\", . - \"", clone_symbol!(), "\""),
        ".popsection",
        returns_to = const offset_of!(Local, polled) + offset_of!(Polled, returns_to),
        clone = sym super::clone,
    );

    // x16 and x17 are reserved for such stubs (AAPCS64, 6.1.1), and x30 has the return address.
    #[cfg(target_arch = "aarch64")]
    core::arch::global_asm!(
        ".pushsection .text.ctp_clone,\"ax\",%progbits",
        concat!(".globl \"", clone_symbol!(), "\""),
        concat!(".hidden \"", clone_symbol!(), "\""),
        concat!(".type \"", clone_symbol!(), "\",%function"),
        ".p2align 4",
        concat!("\"", clone_symbol!(), "\":"),
        ".cfi_startproc",
        "hint #34", // bti c
        concat!("adrp x16, :gottprel:\"", symbol!(), "\""),
        concat!("ldr x16, [x16, :gottprel_lo12:\"", symbol!(), "\"]"),
        "mrs x17, tpidr_el0",
        "add x16, x16, x17",
        "str x30, [x16, #{returns_to}]",
        "b {clone}",
        ".cfi_endproc",
        concat!(".size \"", clone_symbol!(), "\", . - \"", clone_symbol!(), "\""),
        ".popsection",
        returns_to = const offset_of!(Local, polled) + offset_of!(Polled, returns_to),
        clone = sym super::clone,
    );

    unsafe extern "Rust" {
        /// # Safety
        /// As for the function that it jumps to.
        #[link_name = clone_symbol!()]
        pub(crate) unsafe fn clone(data: *const ()) -> RawWaker;
    }
}

/// Other targets record no return address.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
)))]
pub(super) mod clone_entry {
    pub(crate) use super::clone;
}
