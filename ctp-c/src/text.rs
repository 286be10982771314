//! Source lines and names, as C passes them.

use core::ffi::{CStr, c_char};

use ctp_nostd::call_site::{ForeignLine, longest_valid_utf8};

/// A source line of the caller.
///
/// # Safety
///
/// `file` is null, or a string that never changes and lives as long as the process.
#[inline(always)]
pub unsafe fn line_of(file: *const c_char, line: u32) -> ForeignLine {
    // SAFETY: as required of the caller. The library's user promises this in `ctp.h`.
    unsafe { ForeignLine::new(file, line) }
}

/// A name, empty for a null pointer. If the name is not UTF-8, its longest part that is UTF-8.
///
/// # Safety
///
/// `name` is null, or points to a string that does not change for the lifetime `'n`.
pub unsafe fn name_of<'n>(name: *const c_char) -> &'n str {
    if name.is_null() {
        return "";
    }
    // SAFETY: not null, and a string of C.
    longest_valid_utf8(unsafe { CStr::from_ptr(name) })
}
