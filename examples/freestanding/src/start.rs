//! What an operating system, its C library and its start files would have brought.

use core::arch::{asm, naked_asm};
use core::ffi::{CStr, c_char, c_int};
use core::panic::PanicInfo;

/// Bytes of code in a [`sample`].
const SAMPLE: usize = 16;

/// The first instruction of the program: `main` gets what the kernel left on the stack.
// SAFETY: no other symbol has this name, as there are no start files.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    naked_asm!("mov rdi, rsp", "and rsp, -16", "call {enter}", "ud2", enter = sym enter)
}

/// An address in the program's code and the bytes that are there.
pub fn sample() -> (usize, &'static [u8; SAMPLE]) {
    let code = enter as *const () as *const [u8; SAMPLE];
    // SAFETY: the function is longer than that, and its code is readable and never written.
    (code.addr(), unsafe { &*code })
}

/// `stack` points to the number of arguments; pointers to them follow.
extern "C" fn enter(stack: *const usize) -> ! {
    // SAFETY: this is how the kernel starts a program on this architecture.
    let output = unsafe {
        let arguments = stack.add(1).cast::<*const c_char>();
        (*stack > 1).then(|| CStr::from_ptr(*arguments.add(1)))
    };
    exit(crate::main(output))
}

fn exit(status: i32) -> ! {
    const EXIT_GROUP: usize = 231;
    // SAFETY: a system call that takes a number and does not return.
    unsafe { asm!("syscall", in("rax") EXIT_GROUP, in("edi") status, options(noreturn, nostack)) }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(101)
}

/// Nothing unwinds here, but `core` was compiled for programs that do.
// SAFETY: the compiler asks for a symbol of this name, and there is no other.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

// What compiled code calls by itself. SAFETY of the names: there is no C library that has them.

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    for at in 0..bytes {
        // SAFETY: the caller's promise: both have so many bytes and do not overlap.
        unsafe { *to.add(at) = *from.add(at) };
    }
    to
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: c_int, bytes: usize) -> *mut u8 {
    for at in 0..bytes {
        // SAFETY: the caller promises this many bytes.
        unsafe { *to.add(at) = byte as u8 };
    }
    to
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, bytes: usize) -> c_int {
    for at in 0..bytes {
        // SAFETY: the caller's promise: both have so many bytes.
        let (left, right) = unsafe { (*left.add(at), *right.add(at)) };
        if left != right {
            return c_int::from(left) - c_int::from(right);
        }
    }
    0
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: the caller promises a terminating zero, and readable text up to it.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
    }
    length
}
