//! Memory for each thread without std: ELF thread-local storage, initial-exec model.
#![allow(
    unsafe_code,
    reason = "the address of thread-local storage needs assembly"
)]

use core::arch::{asm, global_asm};

use crate::platform::Local;

/// The symbol's name carries the version, so that two versions of this crate can be linked.
macro_rules! symbol {
    () => {
        concat!("__ctp_local_", env!("CARGO_PKG_VERSION"))
    };
}
#[cfg(feature = "alloc")]
pub(crate) use symbol;

global_asm!(
    ".pushsection .tbss.ctp_local,\"awT\",%nobits",
    concat!(".globl \"", symbol!(), "\""),
    concat!(".hidden \"", symbol!(), "\""),
    concat!(".type \"", symbol!(), "\",%object"),
    concat!(".size \"", symbol!(), "\",{size}"),
    ".p2align 3",
    concat!("\"", symbol!(), "\":"),
    ".zero {size}",
    ".popsection",
    size = const size_of::<Local>(),
);

const _: () = assert!(
    align_of::<Local>() <= 8,
    "the block above is aligned to 8 bytes"
);

/// Whether the calling thread has thread-local storage. A program without a libc may never have set it up;
/// every access would fault there.
pub(super) fn has_storage() -> bool {
    thread_pointer() != Some(0)
}

/// The address of the calling thread's storage, 0 if there is none; `None` if that is unknown.
#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> Option<usize> {
    const ARCH_PRCTL: isize = 158;
    const ARCH_GET_FS: usize = 0x1003;
    let mut pointer: usize = 0;
    let result: isize;
    // SAFETY: the kernel writes the base of `fs` to `pointer`, and changes nothing but the registers that
    // a system call may change. Reading `fs:[0]` instead would fault where there is no storage.
    unsafe {
        asm!(
            "syscall",
            inout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_GET_FS, in("rsi") &raw mut pointer,
            out("rcx") _, out("r11") _,
            options(nostack),
        );
    }
    (result == 0).then_some(pointer)
}

/// As on x86-64.
#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> Option<usize> {
    let pointer: usize;
    // SAFETY: copies a register that every thread may read.
    unsafe {
        asm!("mrs {pointer}, tpidr_el0", pointer = out(reg) pointer, options(nomem, nostack))
    };
    Some(pointer)
}

/// Other targets offer no simple query.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn thread_pointer() -> Option<usize> {
    None
}

/// The calling thread's memory. Do not keep the reference across a switch of stacks: the coroutine
/// may continue in another thread.
#[inline]
pub(crate) fn local() -> &'static Local {
    // SAFETY: the block reserved above has `Local`'s size and alignment, and is zeroed for each new
    // thread (a valid `Local`). It lives as long as the thread, which outlives the use of this
    // reference. It is accessed only through its atomics, including by signal handlers.
    unsafe { &*address() }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn address() -> *const Local {
    let address: *const Local;
    // SAFETY: reads two words and adds them. In a process with a libc, fs:0 holds the thread
    // pointer itself (x86-64 psABI), and GOTTPOFF is this symbol's offset from it. Not `pure`:
    // after a switch of threads the pointer must be read again.
    unsafe {
        asm!(
            "mov {a}, qword ptr fs:[0]",
            concat!("add {a}, qword ptr [rip + \"", symbol!(), "\"@GOTTPOFF]"),
            a = out(reg) address,
            options(nostack, readonly),
        );
    }
    address
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn address() -> *const Local {
    let address: *const Local;
    // SAFETY: as on x86-64; the thread pointer is tpidr_el0 (AArch64 ELF TLS, initial exec).
    unsafe {
        asm!(
            concat!("adrp {t}, :gottprel:\"", symbol!(), "\""),
            concat!("ldr {t}, [{t}, :gottprel_lo12:\"", symbol!(), "\"]"),
            "mrs {a}, tpidr_el0",
            "add {a}, {a}, {t}",
            a = out(reg) address,
            t = out(reg) _,
            options(nostack, readonly),
        );
    }
    address
}

#[cfg(target_arch = "x86")]
#[inline]
fn address() -> *const Local {
    let address: *const Local;
    // SAFETY: as on x86-64; gs:0 holds the thread pointer (i386 psABI), and GOTNTPOFF finds this
    // symbol's offset through the global offset table, whose address is relative to the code's.
    unsafe {
        asm!(
            "call 2f",
            "2: popl {t}",
            "3: addl $_GLOBAL_OFFSET_TABLE_+(3b-2b), {t}",
            "movl %gs:0, {a}",
            concat!("addl \"", symbol!(), "\"@GOTNTPOFF({t}), {a}"),
            a = out(reg) address,
            t = out(reg) _,
            options(att_syntax, readonly),
        );
    }
    address
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Sets the base of `fs`.
    fn set_thread_pointer(pointer: usize) {
        // SAFETY: the caller restores the previous base before anything uses thread-local storage.
        unsafe {
            asm!(
                "syscall",
                inout("rax") 158_isize => _, in("rdi") 0x1002_usize, in("rsi") pointer,
                out("rcx") _, out("r11") _,
                options(nostack),
            );
        }
    }

    #[test]
    fn missing_thread_storage_is_detected() {
        let pointer = thread_pointer().expect("the kernel knows it");
        set_thread_pointer(0);
        let without = has_storage();
        set_thread_pointer(pointer);
        assert!(!without);
        assert!(has_storage());
    }
}
