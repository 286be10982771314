//! Prints for some functions whether the frame pointer leads to the caller (`at ADDRESS BOOL`), and
//! then the mappings of this process.

use std::arch::asm;
use std::hint::black_box;

/// An address in the code of the function that this is inlined into, and its frame pointer.
#[inline(always)]
fn here() -> (usize, usize) {
    let (pc, fp): (usize, usize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only reads two registers.
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rbp", out(reg) pc, out(reg) fp)
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: only reads two registers.
    unsafe {
        asm!("adr {}, .", "mov {}, x29", out(reg) pc, out(reg) fp)
    };
    (pc, fp)
}

/// Whether the frame record at `fp` has the frame pointer `callers_fp`. Reads only near a local of
/// the caller.
fn leads_to(fp: usize, callers_fp: usize, local: &usize) -> bool {
    let near = (std::ptr::from_ref(local).addr()).abs_diff(fp) < 4096;
    // SAFETY: aligned, and within a page of a local, on this thread's stack.
    let points_to = |fp: usize| unsafe { *(fp as *const usize) };
    fp != callers_fp && fp % 8 == 0 && near && points_to(fp) == callers_fp
}

#[inline(never)]
fn inner(callers_fp: usize, local: &usize) {
    let (pc, fp) = here();
    println!("at {pc:#x} {}", leads_to(fp, callers_fp, black_box(local)));
}

#[inline(never)]
fn outer(callers_fp: usize, local: &usize) {
    let (pc, fp) = here();
    println!("at {pc:#x} {}", leads_to(fp, callers_fp, local));
    inner(fp, &black_box(7));
    black_box(());
}

fn main() {
    let (_, fp) = here();
    outer(fp, &black_box(7));
    print!("{}", std::fs::read_to_string("/proc/self/maps").unwrap());
}
