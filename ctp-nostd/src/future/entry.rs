//! Where `Waker::clone` is entered: one that notes where the call returns to, which is in the leaf
//! future that clones. A function cannot find that by itself if it is compiled without frame pointers.
//!
//! ```text
//!   leaf future ──> entry: Polled::returns_to = return address ──jump──> the clone itself
//! ```
//! It touches no register that may hold an argument, nor the stack: so it need not know how arguments
//! are passed, as the stubs by which a linker reaches a shared library do not.
#![allow(
    unsafe_code,
    reason = "a return address on entry is to be had by assembly alone"
)]

#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
))]
mod stub {
    use core::mem::offset_of;
    use core::task::RawWaker;

    use crate::future::wrapped;
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
        clone = sym wrapped::clone,
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
        clone = sym wrapped::clone,
    );

    unsafe extern "Rust" {
        /// # Safety
        /// As of what it jumps to.
        #[link_name = entry!()]
        pub(crate) unsafe fn clone(data: *const ()) -> RawWaker;
    }
}

#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
))]
pub(crate) use stub::clone;

/// Elsewhere nothing is noted.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
)))]
pub(crate) use crate::future::wrapped::clone;
