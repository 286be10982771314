//! [`judge`]: decides which candidates are frames of live coroutines.
//!
//! Memory that was freed may still begin with the words of a frame. So a frame certainly lives only if it is at the
//! start of a chunk that the allocator says is in use, and if the chunk has the size of the other frames of the same
//! coroutine. A frame that clang placed inside the frame of the caller lives if the outer frame does.

use std::collections::BTreeMap;

use crate::cpp::candidates::FrameCandidate;
use crate::glibc_heap::{Chunk, HEADER_BYTES, Heaps};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// The frames that live or may live, sorted by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFrames {
    /// The frames.
    pub frames: Vec<LiveFrame>,
}

/// A frame that lives or may live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveFrame {
    /// Where the frame begins.
    pub address: u64,
    /// The first two words.
    pub words: [u64; 2],
    /// The index of the coroutine.
    pub coroutine: usize,
    /// The coroutine has run to its end.
    pub is_finished: bool,
    /// The allocator says that the memory is in use. If not, the frame may be freed.
    pub is_certain: bool,
    /// Bytes of the memory; 0 if unknown.
    pub size_bytes: u64,
}

/// What is known about the memory of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateMemory {
    /// A chunk in use that begins with the candidate.
    Own(Chunk),
    /// A chunk in use that contains the candidate.
    Inside(Chunk),
    /// Free, or nothing that can be a frame.
    Free,
    Unknown,
}

/// Judges the candidates, which are sorted by address.
pub fn judge(
    target: &dyn Target,
    stacks: &StackRanges,
    heaps: &Heaps,
    candidates: &[FrameCandidate],
) -> LiveFrames {
    let addresses: Vec<u64> = candidates.iter().map(|frame| frame.address).collect();
    let chunks = heaps.chunks(&addresses);
    let memory = candidates.iter().map(|candidate| {
        let chunk = chunks.get(&candidate.address);
        memory_of(target, stacks, candidate, chunk)
    });
    let memory: Vec<CandidateMemory> = memory.collect();
    let mut frames = BTreeMap::new();
    for (candidate, memory) in candidates.iter().zip(&memory) {
        let frame = frame_in_own_memory(candidate, *memory, heaps);
        frames.extend(frame.map(|frame| (frame.address, frame)));
    }
    distrust_other_sizes(&mut frames);
    for (candidate, memory) in candidates.iter().zip(&memory) {
        let frame = frame_inside_caller(candidate, *memory, &frames);
        frames.extend(frame.map(|frame| (frame.address, frame)));
    }
    let mut frames: Vec<LiveFrame> = frames.into_values().collect();
    frames.retain(|frame| is_unchanged(target, frame));
    LiveFrames { frames }
}

fn memory_of(
    target: &dyn Target,
    stacks: &StackRanges,
    candidate: &FrameCandidate,
    chunk: Option<&Chunk>,
) -> CandidateMemory {
    let address = candidate.address;
    if let Some(stack) = stacks.containing(address) {
        let may_live = candidate.start.is_inside_caller && stack.is_in_use(address);
        return if may_live {
            CandidateMemory::Unknown
        } else {
            CandidateMemory::Free
        };
    }
    match chunk {
        Some(chunk) if !chunk.is_in_use || address < chunk.memory => CandidateMemory::Free,
        Some(chunk) if chunk.memory == address => CandidateMemory::Own(*chunk),
        Some(chunk) => CandidateMemory::Inside(*chunk),
        // Programs have tables of these functions.
        None if target.mapping_at(address).is_some_and(|m| m.has_file()) => CandidateMemory::Free,
        None => CandidateMemory::Unknown,
    }
}

/// The frame of a candidate that is not inside the frame of its caller.
fn frame_in_own_memory(
    candidate: &FrameCandidate,
    memory: CandidateMemory,
    heaps: &Heaps,
) -> Option<LiveFrame> {
    if candidate.start.is_inside_caller || memory == CandidateMemory::Free {
        return None;
    }
    let mut frame = LiveFrame {
        address: candidate.address,
        words: candidate.words,
        coroutine: candidate.start.coroutine,
        is_finished: candidate.start.is_finished,
        ..LiveFrame::default()
    };
    if let CandidateMemory::Own(chunk) = memory {
        frame.is_certain = !frame.is_finished || heaps.have_safe_links();
        frame.size_bytes = chunk.bytes - HEADER_BYTES / 2;
    }
    Some(frame)
}

/// The frame of a candidate inside the frame of its caller. What has run to its end was destroyed, or is about to be,
/// and the words may remain.
fn frame_inside_caller(
    candidate: &FrameCandidate,
    memory: CandidateMemory,
    frames: &BTreeMap<u64, LiveFrame>,
) -> Option<LiveFrame> {
    let start = candidate.start;
    if !start.is_inside_caller || start.is_finished {
        return None;
    }
    let outer = match memory {
        CandidateMemory::Free => return None,
        CandidateMemory::Inside(chunk) => frames.get(&chunk.memory),
        CandidateMemory::Own(_) | CandidateMemory::Unknown => None,
    };
    if outer.is_some_and(|outer| outer.is_finished) {
        return None;
    }
    Some(LiveFrame {
        address: candidate.address,
        words: candidate.words,
        coroutine: start.coroutine,
        is_certain: outer.is_some_and(|outer| outer.is_certain),
        ..LiveFrame::default()
    })
}

/// All frames of a coroutine have the same size, and the allocator adds at most 16 bytes. Memory of another size was
/// reused, and its first words are remains of a frame.
fn distrust_other_sizes(frames: &mut BTreeMap<u64, LiveFrame>) {
    let mut counts: BTreeMap<usize, BTreeMap<u64, usize>> = BTreeMap::new();
    for frame in frames.values().filter(|frame| frame.is_certain) {
        let sizes = counts.entry(frame.coroutine).or_default();
        *sizes.entry(frame.size_bytes).or_default() += 1;
    }
    for frame in frames.values_mut().filter(|frame| frame.is_certain) {
        frame.is_certain = has_usual_size(frame.size_bytes, &counts[&frame.coroutine]);
    }
}

/// Whether more frames have about this size than any other size.
fn has_usual_size(size: u64, counts: &BTreeMap<u64, usize>) -> bool {
    let (like, unlike): (Vec<_>, Vec<_>) = counts
        .iter()
        .partition(|(other, _)| other.abs_diff(size) <= 16);
    let count = |sizes: &[(&u64, &usize)]| sizes.iter().map(|(_, count)| **count).sum::<usize>();
    unlike.is_empty() || count(&unlike) < count(&like)
}

/// Whether the frame was neither destroyed nor has run to its end since it was found.
fn is_unchanged(target: &dyn Target, frame: &LiveFrame) -> bool {
    let mut words = [0; 2];
    target.words(frame.address, &mut words) && words == frame.words
}

impl LiveFrames {
    /// Sentences about what is not known of these frames.
    pub fn gaps(&self, heaps: &Heaps) -> Vec<String> {
        let uncertain = self.frames.iter().filter(|frame| !frame.is_certain).count();
        if uncertain == 0 {
            return Vec::new();
        }
        let why = if heaps.are_known() {
            "are not at the start of memory that the allocator says is in use"
        } else {
            "are in memory of an allocator that is not glibc's"
        };
        vec![format!(
            "{uncertain} frames of C++20 coroutines {why}: some may be freed"
        )]
    }
}
