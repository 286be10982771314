//! [`Pages`]: a cache of a target's memory, which reads each page once.

use std::cell::{Cell, RefCell};

use foldhash::HashMap;

use crate::target::Target;

const PAGE_BYTES: u64 = 4096;
type Page = [u8; PAGE_BYTES as usize];

/// The maximum number of pages that are read for a task. Futures take a few hundred bytes each.
const MAX_PAGES: usize = 1024;

/// Allocated pages, which the next task uses again.
#[derive(Default)]
pub(crate) struct PagePool {
    free: RefCell<Vec<Box<Page>>>,
}

impl PagePool {
    fn take(&self) -> Box<Page> {
        let free = self.free.borrow_mut().pop();
        free.unwrap_or_else(|| Box::new([0; PAGE_BYTES as usize]))
    }
}

/// The memory that was read for a task.
pub(crate) struct Pages<'t> {
    target: &'t dyn Target,
    pool: &'t PagePool,
    pages: RefCell<HashMap<u64, Option<Box<Page>>>>,
    is_cut: Cell<bool>,
}

impl<'t> Pages<'t> {
    pub(crate) fn of(target: &'t dyn Target, pool: &'t PagePool) -> Self {
        Self {
            target,
            pool,
            pages: RefCell::default(),
            is_cut: Cell::new(false),
        }
    }

    pub(crate) fn target(&self) -> &'t dyn Target {
        self.target
    }

    /// Whether some memory was not read because a limit was reached.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// The number of 8 bytes at an address. `None` if the memory cannot be read.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        self.number(address, 8)
    }

    /// The little-endian number of `size` bytes, at most 8, at an address. `None` if the memory cannot be read.
    pub(crate) fn number(&self, address: u64, size: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let part = bytes.get_mut(..usize::try_from(size).ok()?)?;
        self.copy(address, part)?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Whether the target's memory still equals what was read from it.
    pub(crate) fn is_unchanged(&self, address: u64, size: u64) -> bool {
        let Ok(length) = usize::try_from(size.min(MAX_PAGES as u64 * PAGE_BYTES)) else {
            return false;
        };
        let (mut before, mut now) = (vec![0; length], vec![0; length]);
        let is_read = self.target.read(address, &mut now) == length;
        is_read && self.copy(address, &mut before).is_some() && before == now
    }

    fn copy(&self, mut address: u64, mut bytes: &mut [u8]) -> Option<()> {
        while !bytes.is_empty() {
            let offset = address % PAGE_BYTES;
            let length = bytes.len().min((PAGE_BYTES - offset) as usize);
            let (part, rest) = bytes.split_at_mut(length);
            self.copy_from_page(address - offset, offset as usize, part)?;
            address = address.checked_add(length as u64)?;
            bytes = rest;
        }
        Some(())
    }

    fn copy_from_page(&self, start: u64, offset: usize, part: &mut [u8]) -> Option<()> {
        let mut pages = self.pages.borrow_mut();
        if MAX_PAGES <= pages.len() && !pages.contains_key(&start) {
            self.is_cut.set(true);
            return None;
        }
        let page = pages.entry(start).or_insert_with(|| self.read_page(start));
        part.copy_from_slice(&page.as_ref()?[offset..offset + part.len()]);
        Some(())
    }

    fn read_page(&self, start: u64) -> Option<Box<Page>> {
        let mut page = self.pool.take();
        (self.target.read(start, &mut *page) == page.len()).then_some(page)
    }
}

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        let pages = self.pages.get_mut().drain();
        let pages = pages.filter_map(|(_, page)| page);
        self.pool.free.borrow_mut().extend(pages);
    }
}
