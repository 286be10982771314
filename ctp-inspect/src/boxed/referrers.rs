//! [`Referrers`]: the words that lead to chunks of the allocator.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::boxed::memory_use::{MemoryUse, MemoryUses};
use crate::glibc_heap::Chunk;
use crate::scan::{MemoryPiece, Scan, WritableMemory};
use crate::target::Target;

/// The maximum number of words that are kept.
const MAX_WORDS: usize = 1 << 20;

/// The memory of a process that is searched.
#[derive(Clone, Copy)]
pub struct Searched<'s> {
    /// What the memory is used for.
    pub uses: MemoryUses<'s>,
    /// The memory.
    pub memory: &'s WritableMemory,
}

/// A word that leads to a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referrer {
    /// Where the word is.
    pub at: u64,
    /// What that memory is used for.
    pub memory_use: MemoryUse,
    /// The word.
    pub word: u64,
}

/// The words that lead to chunks, by the address of the chunk's memory.
#[derive(Debug, Default)]
pub struct Referrers {
    chunks: BTreeMap<u64, (Chunk, Vec<Referrer>)>,
}

impl Referrers {
    /// Searches memory for words that lead to these chunks, unless that was done already. Words in the chunk itself are
    /// left out, and so are wakers: what can wake a future need not hold it.
    pub fn add(&mut self, searched: &Searched<'_>, scan: &mut Scan, mut chunks: Vec<Chunk>) {
        chunks.retain(|chunk| !self.chunks.contains_key(&chunk.memory));
        chunks.sort_unstable_by_key(|chunk| chunk.memory);
        chunks.dedup_by_key(|chunk| chunk.memory);
        if chunks.is_empty() {
            return;
        }
        let words = words_to(searched, scan, &chunks);
        let new = chunks.iter();
        let new = new.map(|chunk| (chunk.memory, (*chunk, Vec::new())));
        self.chunks.extend(new);
        for ((at, word), memory_use) in searched.uses.with_uses(words, |(at, _)| *at) {
            let found = self.chunks.range_mut(..=word).next_back();
            if let Some((_, (_, referrers))) = found {
                referrers.push(Referrer {
                    at,
                    memory_use,
                    word,
                });
            }
        }
    }

    /// The words that lead to a chunk. Empty if they were not searched.
    pub fn of(&self, chunk: Chunk) -> &[Referrer] {
        let found = self.chunks.get(&chunk.memory);
        found.map_or(&[], |(_, referrers)| referrers)
    }
}

/// The words within these chunks, each with its address, sorted by address.
fn words_to(searched: &Searched<'_>, scan: &mut Scan, chunks: &[Chunk]) -> Vec<(u64, u64)> {
    let target = searched.uses.target;
    let span = span(chunks);
    let mut words = Vec::new();
    scan.each_piece(target, &searched.memory.ranges, |piece| {
        piece.each_within(&span, |at, word| {
            // Other words are remains of addresses, with bytes of something else.
            let may_lead = word.is_multiple_of(8);
            let chunk = chunk_with(chunks, word).filter(|_| may_lead);
            let leads_there = chunk.is_some_and(|chunk| {
                let is_outside = !chunk.range().contains(&at);
                is_outside && !is_waker(target, &piece, at)
            });
            if leads_there && words.len() < MAX_WORDS {
                words.push((at, word));
            }
        });
    });
    words
}

fn span(chunks: &[Chunk]) -> Range<u64> {
    let first = chunks.first().map_or(0, |chunk| chunk.memory);
    first..chunks.last().map_or(0, |chunk| chunk.range().end)
}

fn chunk_with(chunks: &[Chunk], address: u64) -> Option<Chunk> {
    let after = chunks.partition_point(|chunk| chunk.memory <= address);
    let chunk = chunks[..after].last()?;
    chunk.range().contains(&address).then_some(*chunk)
}

/// Whether the word before or after leads to four functions, as a waker's vtable does.
fn is_waker(target: &dyn Target, piece: &MemoryPiece<'_>, at: u64) -> bool {
    let neighbours = [at.checked_sub(8), at.checked_add(8)];
    let mut neighbours = neighbours.into_iter().flatten();
    neighbours.any(|at| {
        let word = piece.word(at).or_else(|| target.word(at));
        word.is_some_and(|word| is_waker_vtable(target, word))
    })
}

fn is_waker_vtable(target: &dyn Target, address: u64) -> bool {
    let mapping = target.mapping_at(address);
    let is_constant = mapping.is_some_and(|mapping| mapping.has_file() && !mapping.is_executable);
    let mut words = [0; 4];
    is_constant
        && address.is_multiple_of(8)
        && target.words(address, &mut words)
        && words.iter().all(|word| {
            let mapping = target.mapping_at(*word);
            mapping.is_some_and(|mapping| mapping.is_executable)
        })
}
