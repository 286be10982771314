//! Sites and names, each stored once in a fixed table of [`Interned`] entries.
//!
//! ```text
//!   probe: claim (key 0 -> k, CAS) -> text -> ready = 1 (release)
//!   recorder: ready? (acquire) -> text
//! ```
//! The key is a hash of the content. So a thread that finds the key may use the entry's id at once,
//! even while another thread still fills in the entry. Entries never move and are never removed. A
//! full table returns id 0, and the caller counts it.

#[cfg_attr(
    any(ctp_split_words, not(target_has_atomic = "64")),
    path = "intern/cache_split.rs"
)]
#[cfg_attr(
    all(target_has_atomic = "64", not(ctp_split_words)),
    path = "intern/cache_wide.rs"
)]
mod cache;
pub mod call_site;
pub mod site;

use core::panic::Location;

pub(crate) use cache::Cache;
use heapless::String;

use crate::memory::layout::{FNV_BASIS, Interned, InternedOf, Layout, TEXT_BYTES, fnv1a};
use crate::sync::{self, Claim, Ordering};

/// How many positions an entry may be away from its preferred position.
const REACH: usize = 32;

/// The kind of an entry; its code is stored in the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EntryKind {
    /// A source position: `text` is the file.
    Source = 1,
    /// A function: `addr` is its first instruction, `text` its name.
    Function = 2,
    /// A coroutine's name; `site` is the site that spawned the coroutine.
    Name = 3,
}

/// Kind of an entry in the table of chains, see [`crate::chain`].
pub(crate) const CHAIN: u32 = 4;

/// Kind of an entry in the table of chains, see [`crate::branches`].
pub(crate) const BRANCHES: u32 = 5;

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Address of a function.
    pub addr: u64,
    /// Id of another site.
    pub site: u32,
    /// File or name; a text that is too long loses its beginning.
    pub text: &'t str,
}

impl<'t> Entry<'t> {
    fn of(kind: EntryKind, text: &'t str) -> Self {
        Entry {
            kind,
            line: 0,
            column: 0,
            addr: 0,
            site: 0,
            text,
        }
    }

    /// A source line of the program.
    pub fn source(place: &'t Location<'t>) -> Self {
        Entry {
            line: place.line(),
            column: place.column(),
            ..Entry::of(EntryKind::Source, place.file())
        }
    }

    /// A source line of the program in another language, whose column is not known.
    pub fn foreign_source(file: &'t str, line: u32) -> Self {
        Entry {
            line,
            ..Entry::of(EntryKind::Source, file)
        }
    }

    /// A function, and the name that the program gives.
    pub fn function(addr: u64, name: &'t str) -> Self {
        Entry {
            addr,
            ..Entry::of(EntryKind::Function, name)
        }
    }

    /// A coroutine's name and the site that spawned the coroutine.
    pub fn name(name: &'t str, spawn_site: u32) -> Self {
        Entry {
            site: spawn_site,
            ..Entry::of(EntryKind::Name, name)
        }
    }

    fn hash(&self) -> u64 {
        let hash = fnv1a(FNV_BASIS, self.text.as_bytes());
        let hash = fnv1a(hash, &(self.kind as u32).to_le_bytes());
        let hash = fnv1a(hash, &self.line.to_le_bytes());
        let hash = fnv1a(hash, &self.column.to_le_bytes());
        let hash = fnv1a(hash, &self.addr.to_le_bytes());
        fnv1a(hash, &self.site.to_le_bytes())
    }
}

/// Probe: returns the id (index + 1) of this content for this attached process, or 0 if the table
/// is full.
pub fn intern<L: Layout>(table: &[InternedOf<L>], attach_id: u16, entry: &Entry<'_>) -> u32 {
    place(table, attach_id, entry.hash(), |slot| fill(slot, entry))
}

/// Returns the id of the entry with this hash, calling `fill` for a new entry; 0 if the table is
/// full.
pub(crate) fn place<L: Layout>(
    table: &[InternedOf<L>],
    attach_id: u16,
    hash: u64,
    fill: impl Fn(&InternedOf<L>),
) -> u32 {
    let key = (hash << 16) | u64::from(attach_id) | (1 << 63);
    for distance in 0..REACH.min(table.len()) {
        let index = ((hash >> 48) as usize).wrapping_add(distance) % table.len();
        if claim(&table[index], key, &fill) {
            return index as u32 + 1;
        }
    }
    0
}

/// Returns true if the entry holds this key, from before or because this call has claimed the
/// entry.
fn claim<L: Layout>(slot: &InternedOf<L>, key: u64, fill: impl Fn(&InternedOf<L>)) -> bool {
    let found = sync::claim(&slot.key, key);
    if found == Claim::Claimed {
        fill(slot);
        slot.ready.store(1, Ordering::Release);
    }
    found != Claim::Other
}

fn fill<L: Layout>(slot: &InternedOf<L>, entry: &Entry<'_>) {
    let text = tail_of(entry.text, L::TEXT_BYTES);
    slot.kind.store(entry.kind as u32, Ordering::Relaxed);
    slot.line.store(entry.line, Ordering::Relaxed);
    slot.column.store(entry.column, Ordering::Relaxed);
    slot.addr.store(entry.addr, Ordering::Relaxed);
    slot.site.store(entry.site, Ordering::Relaxed);
    slot.text_bytes.store(text.len() as u32, Ordering::Relaxed);
    for (word, chunk) in slot.text.as_ref().iter().zip(text.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
}

/// The last bytes of a text, at most `limit`: the end of a path says more than its beginning.
fn tail_of(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The content of an entry, as the recorder read it. The text may be invalid, because any probe may
/// have written it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternedEntry {
    /// An [`EntryKind`]'s code, or any other number.
    pub kind: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Address of a function.
    pub addr: u64,
    /// Id of another site.
    pub site: u32,
    /// File or name; invalid UTF-8 is replaced.
    pub text: String<TEXT_BYTES>,
}

/// Recorder: returns the entry with this id, if it is complete.
pub fn lookup(table: &[Interned], id: u32) -> Option<InternedEntry> {
    let slot = table.get((id as usize).checked_sub(1)?)?;
    if slot.ready.load(Ordering::Acquire) == 0 {
        return None;
    }
    Some(InternedEntry {
        kind: slot.kind.load(Ordering::Relaxed),
        line: slot.line.load(Ordering::Relaxed),
        column: slot.column.load(Ordering::Relaxed),
        addr: slot.addr.load(Ordering::Relaxed),
        site: slot.site.load(Ordering::Relaxed),
        text: text_of(slot),
    })
}

fn text_of(slot: &Interned) -> String<TEXT_BYTES> {
    let mut bytes = [0; TEXT_BYTES];
    for (word, chunk) in slot.text.iter().zip(bytes.chunks_mut(8)) {
        chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    let length = (slot.text_bytes.load(Ordering::Relaxed) as usize).min(TEXT_BYTES);
    let mut text = String::new();
    for chunk in bytes[..length].utf8_chunks() {
        // A replacement may need more room than the bad byte; then the rest is dropped.
        let replaced = if chunk.invalid().is_empty() { "" } else { "?" };
        if text.push_str(chunk.valid()).is_err() || text.push_str(replaced).is_err() {
            break;
        }
    }
    text
}
