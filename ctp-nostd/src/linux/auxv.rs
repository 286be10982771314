//! The auxiliary vector: values that the kernel passes to a program at its start.
#![allow(unsafe_code, reason = "calls libc's `getauxval` where there is one")]

use core::ffi::c_ulong;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::read;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::weak_symbol::load_weak;

/// Whether the program has rights that its user lacks (set-user-id, set-group-id, file
/// capabilities, a security module).
pub(super) const AT_SECURE: usize = 23;
/// Address of the program's file name, which the kernel puts at the top of the main thread's stack.
#[cfg(feature = "alloc")]
pub(super) const AT_EXECFN: usize = 31;

type Getauxval = unsafe extern "C" fn(c_ulong) -> c_ulong;

/// The value of an entry. `None` if the vector cannot be read or has no such entry.
///
/// Prefers libc's copy, because `/proc/self/auxv` belongs to root in a process that is not dumpable.
pub(super) fn value(kind: usize) -> Option<usize> {
    from_libc(kind).or_else(|| from_kernel(kind))
}

fn from_libc(kind: usize) -> Option<usize> {
    let getauxval = getauxval()?;
    // SAFETY: libc's function with libc's signature; it reads memory that libc keeps for good.
    Some(unsafe { getauxval(kind as c_ulong) } as usize)
}

/// Reads pairs of words, {kind, value}. The vector is shorter than the buffer.
fn from_kernel(kind: usize) -> Option<usize> {
    const WORD_BYTES: usize = size_of::<usize>();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, c"/proc/self/auxv", flags, Mode::empty()).ok()?;
    let mut vector = [0; 1024];
    let length = read(&file, &mut vector).ok()?;
    let mut pairs = vector.get(..length)?.chunks_exact(2 * WORD_BYTES);
    pairs.find_map(|pair| {
        let (name, value) = pair.split_at_checked(WORD_BYTES)?;
        (word(name)? == kind).then(|| word(value))?
    })
}

fn word(bytes: &[u8]) -> Option<usize> {
    bytes.try_into().map(usize::from_ne_bytes).ok()
}

/// libc's `getauxval`. `None` if the program is not linked with a libc that has the function.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn getauxval() -> Option<Getauxval> {
    let address: *const ();
    // SAFETY: loads one address from the global offset table, which is there in every program.
    unsafe { load_weak!("getauxval", address) };
    // SAFETY: null becomes `None`; any other address is that of libc's function.
    unsafe { core::mem::transmute::<*const (), Option<Getauxval>>(address) }
}

/// On other targets, the vector is read from `/proc/self/auxv`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn getauxval() -> Option<Getauxval> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_and_the_kernel_agree() {
        let page_bytes = 6;
        for kind in [AT_SECURE, page_bytes] {
            assert_eq!(value(kind), from_kernel(kind), "{kind}");
        }
        assert!(from_kernel(page_bytes).is_some_and(|bytes| 4096 <= bytes));
        assert_eq!(from_kernel(AT_SECURE), Some(0));
        assert_eq!(from_kernel(usize::MAX), None);
    }
}
