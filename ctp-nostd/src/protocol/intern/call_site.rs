//! [`CallSite`]: where the probe is called. This is a `Location` of Rust, or a line or a function of
//! another language.
#![allow(
    unsafe_code,
    reason = "the file name of another language is a C string"
)]

use core::ffi::{CStr, c_char};
use core::panic::Location;

use super::Entry;

/// Where a call is made: a [`Location`], or a [`ForeignLine`] of another language. A [`ForeignFunction`]
/// stands for the line where the function begins.
pub trait CallSite: Copy + Into<StoredCallSite> {
    /// Identifies the line in the cache of sites, for the life of the process. Never 0.
    fn key(self) -> u64;
    /// The line, as stored in the table of sites. `None` if the line is not known.
    fn entry(self) -> Option<Entry<'static>>;
}

impl CallSite for &'static Location<'static> {
    #[inline(always)]
    fn key(self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }

    fn entry(self) -> Option<Entry<'static>> {
        Some(Entry::source(self))
    }
}

/// A line of a program in another language, such as C or C++.
#[derive(Clone, Copy, Debug)]
pub struct ForeignLine {
    file: *const c_char,
    line: u32,
}

// SAFETY: the string is immutable and lives as long as the process, as `new` requires.
unsafe impl Send for ForeignLine {}
// SAFETY: as for `Send`.
unsafe impl Sync for ForeignLine {}

impl ForeignLine {
    /// Line `line` (from 1) of `file`. A null pointer means that the file is not known. If a name is not
    /// UTF-8, its longest part that is UTF-8 is kept.
    ///
    /// # Safety
    ///
    /// `file` is null, or points to a string that ends with a zero byte, never changes, and lives as
    /// long as the process. So the address identifies the text.
    #[inline(always)]
    pub const unsafe fn new(file: *const c_char, line: u32) -> Self {
        ForeignLine { file, line }
    }

    /// Line `line` (from 1) of `file`; `None`: the file is not known.
    pub fn in_file(file: Option<&'static CStr>, line: u32) -> Self {
        let file = file.map_or(core::ptr::null(), CStr::as_ptr);
        ForeignLine { file, line }
    }
}

/// Factor of the multiplicative hash: 2^64 divided by the golden ratio. It spreads a value to the upper bits.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Bits of the hash in a key, so that the key fits into an entry of the cache of sites. On 32-bit targets, an
/// entry holds a `usize`.
const HASH_BITS: u32 = if usize::BITS < 48 { 31 } else { 47 };

/// Set in each key of another language, to distinguish it from the address of a `Location`, which is usually smaller.
const FOREIGN: u64 = 1 << HASH_BITS;

impl CallSite for ForeignLine {
    /// A hash, because an address and a line have more bits than a key. As in the shared tables, equal
    /// hashes are taken to mean equal lines.
    #[inline(always)]
    fn key(self) -> u64 {
        let location_bits = self.file.addr() as u64 ^ u64::from(self.line).rotate_right(17);
        FOREIGN | location_bits.wrapping_mul(MULTIPLIER) >> (u64::BITS - HASH_BITS)
    }

    fn entry(self) -> Option<Entry<'static>> {
        if self.file.is_null() {
            return None;
        }
        // SAFETY: not null; the rest is what `new` requires.
        let file = unsafe { CStr::from_ptr(self.file) };
        Some(Entry::foreign_source(longest_valid_utf8(file), self.line))
    }
}

/// A function of a program in another language.
#[derive(Clone, Copy, Debug)]
pub struct ForeignFunction {
    address: u64,
}

impl ForeignFunction {
    /// Creates the function with its first instruction at this address. 0 means that the function is not known.
    pub const fn at(address: u64) -> Self {
        ForeignFunction { address }
    }
}

impl CallSite for ForeignFunction {
    /// A hash like that of a [`ForeignLine`]. The address is complemented, so that the key differs from that
    /// of line 0 in a file at this address.
    #[inline(always)]
    fn key(self) -> u64 {
        FOREIGN | (!self.address).wrapping_mul(MULTIPLIER) >> (u64::BITS - HASH_BITS)
    }

    fn entry(self) -> Option<Entry<'static>> {
        (self.address != 0).then(|| Entry::function(self.address, ""))
    }
}

/// The longest part of a string that is UTF-8.
pub fn longest_valid_utf8(string: &CStr) -> &str {
    let parts = string.to_bytes().utf8_chunks().map(|chunk| chunk.valid());
    parts.max_by_key(|part| part.len()).unwrap_or_default()
}

/// Any call site, in a form that can be kept until it is needed.
#[derive(Clone, Copy, Debug)]
pub enum StoredCallSite {
    /// A line of Rust.
    Location(&'static Location<'static>),
    /// A line of another language.
    Foreign(ForeignLine),
    /// A function of another language.
    Function(ForeignFunction),
}

impl From<&'static Location<'static>> for StoredCallSite {
    fn from(location: &'static Location<'static>) -> Self {
        StoredCallSite::Location(location)
    }
}

impl From<ForeignLine> for StoredCallSite {
    fn from(line: ForeignLine) -> Self {
        StoredCallSite::Foreign(line)
    }
}

impl From<ForeignFunction> for StoredCallSite {
    fn from(function: ForeignFunction) -> Self {
        StoredCallSite::Function(function)
    }
}

impl CallSite for StoredCallSite {
    fn key(self) -> u64 {
        match self {
            StoredCallSite::Location(location) => location.key(),
            StoredCallSite::Foreign(line) => line.key(),
            StoredCallSite::Function(function) => function.key(),
        }
    }

    fn entry(self) -> Option<Entry<'static>> {
        match self {
            StoredCallSite::Location(location) => location.entry(),
            StoredCallSite::Foreign(line) => line.entry(),
            StoredCallSite::Function(function) => function.entry(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;

    fn line(file: &'static CStr, line: u32) -> ForeignLine {
        // SAFETY: a static string.
        unsafe { ForeignLine::new(file.as_ptr(), line) }
    }

    // CT-13
    #[test]
    fn foreign_line_is_stored_with_its_file() {
        let entry = line(c"src/server.c", 42).entry().expect("a file");
        assert_eq!(
            (entry.text, entry.line, entry.column),
            ("src/server.c", 42, 0)
        );
    }

    // CT-13
    #[test]
    fn foreign_function_is_stored_as_an_address() {
        let entry = ForeignFunction::at(0x40_1000).entry().expect("an address");
        assert_eq!((entry.addr, entry.text), (0x40_1000, ""));
        assert_eq!(ForeignFunction::at(0).entry(), None);
        let keys = [0x40_1000, 0x40_1010].map(|address| ForeignFunction::at(address).key());
        assert!(keys[0] != keys[1] && keys.iter().all(|&key| key != 0));
    }

    #[test]
    fn line_without_a_file_is_not_known() {
        // SAFETY: null is permitted.
        let unknown = unsafe { ForeignLine::new(ptr::null(), 7) };
        assert_eq!(unknown.entry(), None);
        assert_ne!(unknown.key(), 0);
    }

    #[test]
    fn longest_part_of_a_broken_text_is_kept() {
        assert_eq!(longest_valid_utf8(c"caf\xe9/server.c"), "/server.c");
        assert_eq!(longest_valid_utf8(c"\xff\xfe"), "");
        assert_eq!(longest_valid_utf8(c""), "");
    }

    #[test]
    fn neighbouring_lines_and_files_have_different_keys() {
        let text = c"a long string whose bytes stand for files";
        let mut keys = [0; 32 * 500];
        for (index, key) in keys.iter_mut().enumerate() {
            let file = text.as_ptr().wrapping_add(index % 32);
            // SAFETY: within the static string, as it is longer than 32 bytes.
            let site = unsafe { ForeignLine::new(file, index as u32 / 32) };
            *key = site.key();
        }
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
