//! The memory behind a handle of C, and the check of each call.
//!
//! A coroutine's handle is memory of the caller. Its mark says whether a coroutine lives in the
//! handle: the mark is computed from the address of the handle and from an address in this copy of
//! the library. Memory of zeroes, a copy of a handle, and a handle of another copy of the library
//! therefore have no coroutine, and a death clears the mark.

use core::mem::{MaybeUninit, offset_of};
use core::ptr;

use ctp_nostd::{Task, Waker};

/// The trace of a coroutine. The caller owns the memory, and must not move it while the coroutine
/// lives (but see ctp_move). Memory of zeroes is a handle without a coroutine.
#[repr(C)]
pub struct CoroutineHandle {
    mark: u64,
    words: [u64; 47], // 41 are in use, the others are in reserve
}

/// Records the wakes of a coroutine, from any thread, even after the coroutine's end. May be copied.
/// Memory of zeroes is a waker that records nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct WakerHandle {
    mark: u64,
    // 8 are in use. A waker may have bytes without a value.
    words: [MaybeUninit<u64>; 11],
}

const _: () = {
    assert!(size_of::<Task>() <= size_of::<CoroutineHandle>() - size_of::<u64>());
    assert!(align_of::<Task>() <= align_of::<u64>());
    assert!(size_of::<Waker>() <= size_of::<WakerHandle>() - size_of::<u64>());
    assert!(align_of::<Waker>() <= align_of::<u64>());
};

/// Its address tells the copies of this library in a process apart.
static THIS_LIBRARY: u8 = 0;

/// Makes a mark differ from other words that are computed from the same addresses.
const COROUTINE: u64 = 0x5B1D_93C4_20E7_6A8F;
const WAKER: u64 = 0x3F84_71B6_D2A9_05C3;

#[inline(always)]
fn library() -> u64 {
    ptr::from_ref(&THIS_LIBRARY).addr() as u64
}

#[inline(always)]
fn mark_at(handle: *const CoroutineHandle) -> u64 {
    (handle.addr() as u64).rotate_left(16) ^ library() ^ COROUTINE
}

/// The trace in this handle, if a coroutine lives there.
///
/// # Safety
///
/// `handle` is null, or points to a handle that no other thread writes for the lifetime `'h`.
#[inline(always)]
pub unsafe fn living<'h>(handle: *const CoroutineHandle) -> Option<&'h Task> {
    // SAFETY: not null, so a handle of the caller.
    if handle.is_null() || unsafe { (*handle).mark } != mark_at(handle) {
        return None;
    }
    // SAFETY: only `put` stores this mark, after it stored a trace. `take` clears the mark.
    Some(unsafe { &*task_in(handle as *mut CoroutineHandle) })
}

/// Where a handle has its trace.
fn task_in(handle: *mut CoroutineHandle) -> *mut Task {
    handle.wrapping_byte_add(offset_of!(CoroutineHandle, words)) as *mut Task
}

/// Stores the trace of a new coroutine. What was in the handle before is not looked at.
///
/// # Safety
///
/// `handle` points to a handle that no other thread uses.
pub unsafe fn put(handle: *mut CoroutineHandle, task: Task) {
    // SAFETY: the handle has room for a trace, as asserted above.
    unsafe {
        task_in(handle).write(task);
        (*handle).mark = mark_at(handle);
    }
}

/// Takes the trace out of this handle, if a coroutine lives there.
///
/// # Safety
///
/// `handle` is null, or points to a handle that no other thread uses.
pub unsafe fn take(handle: *mut CoroutineHandle) -> Option<Task> {
    // SAFETY: as required of the caller.
    unsafe { living(handle) }?;
    // SAFETY: a coroutine lives there, and the cleared mark says that its trace was moved out.
    unsafe {
        (*handle).mark = 0;
        Some(task_in(handle).read())
    }
}

impl WakerHandle {
    /// A waker that records nothing.
    pub const fn mute() -> Self {
        WakerHandle {
            mark: 0,
            words: [MaybeUninit::new(0); 11],
        }
    }

    /// A handle of this waker.
    pub fn of(waker: Waker) -> Self {
        let mut handle = WakerHandle::mute();
        let memory = handle.words.as_mut_ptr() as *mut MaybeUninit<Waker>;
        // SAFETY: the words have room for a waker, as asserted above. A waker is `Copy`.
        unsafe { memory.write(MaybeUninit::new(waker)) };
        handle.mark = library() ^ WAKER;
        handle
    }

    /// The waker, if this copy of the library made the handle.
    #[inline(always)]
    pub fn waker(&self) -> Option<&Waker> {
        if self.mark != library() ^ WAKER {
            return None;
        }
        // SAFETY: only `of` stores this mark, after it stored a waker.
        Some(unsafe { &*(self.words.as_ptr() as *const Waker) })
    }
}
