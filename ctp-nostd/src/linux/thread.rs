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
pub(super) use symbol;

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

/// The calling thread's memory. Do not keep it across a switch of stacks: the coroutine may go
/// on in another thread.
#[inline]
pub(super) fn local() -> &'static Local {
    // SAFETY: the block reserved above has `Local`'s size and alignment, is zeroed for each new
    // thread (a valid `Local`), and lives as long as the thread, which outlives this call's use
    // of it. It is touched only through its atomics, also by signal handlers.
    unsafe { &*address() }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn address() -> *const Local {
    let address: *const Local;
    // SAFETY: reads two words and adds them. In a process with a libc, fs:0 holds the thread
    // pointer itself (x86-64 psABI), and GOTTPOFF is this symbol's offset from it. Not `pure`:
    // after a switch of threads it must be read again.
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
    // symbol's offset by way of the global offset table, whose place is known from the code's.
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
