//! [`ActiveLists`]: the wakers that executors keep of their own tasks.
//!
//! An executor of async-executor keeps a waker of each task, so that it can drop all tasks at its end. These wakers lie
//! in a `Slab<Waker>` in the state of the executor. They do not wake the tasks before that.
//!
//! The search needs neither names nor debug info. The function that schedules a task has the address of the executor's
//! state. The future of the task has that address too, beside the index of the task's waker. So a waker is in the list
//! if the state has a slab that has the task's waker at this index.

use std::collections::HashMap;
use std::ops::Range;

use crate::target::Target;

use super::header::TaskHeader;
use super::vtable::TaskVtable;

/// The function that schedules a task captures the executor's state, and little more.
const MAX_SCHEDULE_BYTES: u64 = 64;
/// The state of an executor is smaller than this.
const MAX_STATE_BYTES: u64 = 2048;
/// More of a future is not searched. Larger futures are in a box.
const MAX_FUTURE_BYTES: u64 = 1 << 16;
/// More states than any program has executors. Other functions may have an address of their own in each task.
const MAX_STATES: usize = 1 << 12;
/// Bytes of an entry of the list.
const ENTRY_BYTES: u64 = 16;

/// Finds the wakers that executors keep of their tasks.
pub struct ActiveLists<'t> {
    target: &'t dyn Target,
    /// The entries of the lists in the memory at an address.
    known: HashMap<u64, Vec<Range<u64>>>,
}

/// A place at which a list has a waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// The address of the executor's state.
    state: u64,
    index: u64,
}

impl<'t> ActiveLists<'t> {
    /// Reads from this memory.
    pub fn new(target: &'t dyn Target) -> Self {
        ActiveLists {
            target,
            known: HashMap::new(),
        }
    }

    /// The waker of the task that its executor keeps, if there is one among `wakers`: the address of the word with the
    /// task's address.
    pub fn waker_of(
        &mut self,
        task: &TaskHeader,
        vtable: &TaskVtable,
        wakers: &[u64],
    ) -> Option<u64> {
        let entries = self.entries(task, vtable, wakers);
        if entries.is_empty() {
            return None;
        }
        let future = self.future(task, vtable);
        waker_in(&entries, &future).or_else(|| waker_in(&entries, &self.boxed(&future)))
    }

    /// The wakers that lie in lists that the function that schedules the task leads to.
    fn entries(
        &mut self,
        task: &TaskHeader,
        vtable: &TaskVtable,
        wakers: &[u64],
    ) -> Vec<(u64, Entry)> {
        let end = vtable
            .future_offset
            .min(vtable.schedule_offset + MAX_SCHEDULE_BYTES);
        let states = self.words(task.address, vtable.schedule_offset..end);
        let mut entries = Vec::new();
        for state in states {
            let lists = self.lists(state).iter();
            entries.extend(lists.flat_map(|list| entries_in(list, state, wakers)));
        }
        entries
    }

    /// The words of the task's future.
    fn future(&self, task: &TaskHeader, vtable: &TaskVtable) -> Vec<u64> {
        let start = vtable.future_offset;
        let end = vtable.size_bytes.min(start + MAX_FUTURE_BYTES);
        self.words(task.address, start..end)
    }

    /// The words of the future in a box, if the first word leads to one.
    fn boxed(&self, future: &[u64]) -> Vec<u64> {
        let Some(address) = future.first().filter(|first| first.is_multiple_of(8)) else {
            return Vec::new();
        };
        self.words_at(*address, MAX_FUTURE_BYTES)
    }

    fn words(&self, task: u64, offsets: Range<u64>) -> Vec<u64> {
        let bytes = offsets.end.saturating_sub(offsets.start);
        task.checked_add(offsets.start)
            .map_or_else(Vec::new, |start| self.words_at(start, bytes))
    }

    /// The words in writable memory from an address on, at most this many bytes.
    fn words_at(&self, address: u64, bytes: u64) -> Vec<u64> {
        let mapping = self.target.mapping_at(address);
        let Some(mapping) = mapping.filter(|mapping| mapping.is_writable) else {
            return Vec::new();
        };
        let bytes = bytes.min(mapping.end - address);
        let mut buffer = vec![0; bytes as usize];
        let read = self.target.read(address, &mut buffer);
        let words = buffer[..read].as_chunks().0.iter();
        words.map(|word| u64::from_le_bytes(*word)).collect()
    }

    /// The lists of wakers in the memory at an address.
    fn lists(&mut self, state: u64) -> &[Range<u64>] {
        let has_room = self.known.len() < MAX_STATES && state.is_multiple_of(8);
        if has_room && !self.known.contains_key(&state) {
            let words = self.words_at(state, MAX_STATE_BYTES);
            let lists = words.windows(5).filter_map(slab).collect();
            self.known.insert(state, lists);
        }
        self.known.get(&state).map_or(&[], Vec::as_slice)
    }
}

impl Entry {
    /// Whether these words of a future have the state beside the index.
    fn is_in(self, future: &[u64]) -> bool {
        let pair = [self.state, self.index];
        let reversed = [self.index, self.state];
        let mut pairs = future.windows(2);
        pairs.any(|words| words == pair || words == reversed)
    }
}

/// The entries of a `Slab<Waker>` in these words: a vector, then how many of its entries are used, and the next to be
/// used. The vector has its address, its capacity and its length in any order.
fn slab(words: &[u64]) -> Option<Range<u64>> {
    let &[first, second, third, used, next] = words else {
        return None;
    };
    let orders = [
        (first, second, third),
        (second, first, third),
        (third, first, second),
    ];
    let vector = orders.into_iter().find(|(address, first, second)| {
        let (length, capacity) = (first.min(second), first.max(second));
        let is_vector = address.is_multiple_of(8) && *capacity < *address;
        is_vector && (1..=*length).contains(&used) && next <= *length
    });
    let (address, first, second) = vector?;
    let bytes = first.min(second).checked_mul(ENTRY_BYTES)?;
    Some(address..address.checked_add(bytes)?)
}

/// The waker of which these words of a future have the place.
fn waker_in(entries: &[(u64, Entry)], future: &[u64]) -> Option<u64> {
    let mut entries = entries.iter();
    let (waker, _) = entries.find(|(_, entry)| entry.is_in(future))?;
    Some(*waker)
}

/// The wakers in a list, each with its place.
fn entries_in(list: &Range<u64>, state: u64, wakers: &[u64]) -> impl Iterator<Item = (u64, Entry)> {
    let in_list = wakers.iter().filter(move |waker| list.contains(waker));
    in_list.map(move |waker| {
        let index = (waker - list.start) / ENTRY_BYTES;
        (*waker, Entry { state, index })
    })
}
