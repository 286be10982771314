//! [`PageMap`]: which pages of a process were ever used, according to `/proc/PID/pagemap`.
//!
//! Allocators reserve much more memory than programs use. Reading a page that was never used takes time, and makes
//! the kernel add a page of zeros to the process.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Bits of an entry: the page is in memory, or was swapped out.
const IS_PRESENT: u64 = 1 << 63;
const IS_SWAPPED: u64 = 1 << 62;
const ENTRY_BYTES: u64 = 8;
/// How many entries are read at a time.
const PIECE: u64 = 8192;

/// The page map of a process.
#[derive(Debug)]
pub struct PageMap {
    file: File,
    page_bytes: u64,
}

impl PageMap {
    /// Opens the page map of a process.
    ///
    /// # Errors
    /// The kernel has no page maps, or this page map may not be read.
    pub fn open(pid: u32) -> io::Result<Self> {
        Ok(PageMap {
            file: File::open(format!("/proc/{pid}/pagemap"))?,
            page_bytes: rustix::param::page_size() as u64,
        })
    }

    /// The parts of `range`, which is private memory, that were ever used. If the page map cannot be read, the
    /// rest of the range is included.
    pub fn populated(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut populated = Vec::new();
        let mut buffer = vec![0; (PIECE * ENTRY_BYTES) as usize];
        let mut page = range.start / self.page_bytes;
        let end = range.end.div_ceil(self.page_bytes);
        while page < end {
            let entries = &mut buffer[..((end - page).min(PIECE) * ENTRY_BYTES) as usize];
            let Ok(()) = self.file.read_exact_at(entries, page * ENTRY_BYTES) else {
                add(&mut populated, page * self.page_bytes..range.end);
                break;
            };
            for entry in entries.as_chunks().0 {
                if u64::from_le_bytes(*entry) & (IS_PRESENT | IS_SWAPPED) != 0 {
                    let start = page * self.page_bytes;
                    add(&mut populated, start..start + self.page_bytes);
                }
                page += 1;
            }
        }
        populated
    }
}

/// Adds a range. If it begins where the last range ends, the last range is extended instead.
fn add(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}
