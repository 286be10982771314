//! [`Chains`]: which frame awaits which.
//!
//! The promise of a coroutine begins 16 bytes after the start of the frame. A coroutine that is awaited has the address
//! of the frame to continue in its promise. gcc places the address of the frame itself directly behind the promise.
//! Otherwise debug info may say how large the promise is. If that is not known, only the first word is read.

use foldhash::HashMap;

use crate::cpp::frame_types::FrameTypes;
use crate::cpp::functions::CoroutineFunctions;
use crate::cpp::live::{LiveFrame, LiveFrames};
use crate::target::Target;

/// Where the promise begins, counted from the start of the frame.
const PROMISE_OFFSET: u64 = 16;
/// At most this many bytes of a promise are read.
const MAX_PROMISE_BYTES: usize = 1024;
/// The maximum number of frames of a chain.
const MAX_MEMBERS: usize = 1000;

/// A coroutine, with the coroutines that it awaits directly and indirectly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// How many frames are around each frame, and its index in the live frames. The first is the outermost. Each is
    /// directly followed by what it awaits.
    pub members: Vec<(u32, usize)>,
}

impl Chain {
    /// The index of the outermost frame.
    pub fn outermost(&self) -> usize {
        self.members[0].1
    }
}

/// Builds the chains.
pub struct Chains {
    /// For each frame, the frames that continue it.
    awaited: Vec<Vec<usize>>,
    is_used: Vec<bool>,
}

impl Chains {
    /// The chains of these frames. Each frame is in one chain, unless the chain is too long.
    pub fn of(
        target: &dyn Target,
        live: &LiveFrames,
        (functions, types): (&CoroutineFunctions, &FrameTypes),
    ) -> Vec<Chain> {
        let frames = &live.frames;
        let indices = frames.iter().enumerate();
        let by_address: HashMap<u64, usize> = indices
            .map(|(index, frame)| (frame.address, index))
            .collect();
        let reader = PromiseReader {
            target,
            frames,
            by_address: &by_address,
            functions,
            types,
        };
        let callers: Vec<Option<usize>> = frames.iter().map(|frame| reader.caller(frame)).collect();
        let mut awaited = vec![Vec::new(); frames.len()];
        for (index, caller) in callers.iter().enumerate() {
            if let Some(caller) = caller {
                awaited[*caller].push(index);
            }
        }
        let mut chains = Chains {
            is_used: vec![false; frames.len()],
            awaited,
        };
        let roots = (0..frames.len()).filter(|index| callers[*index].is_none());
        let mut found = Vec::new();
        for root in roots {
            chains.add(root, &mut found);
        }
        // Frames that name each other in a circle have no outermost frame.
        for index in 0..frames.len() {
            chains.add(index, &mut found);
        }
        found
    }

    /// Adds the chain that begins with this frame. The rest of a long chain becomes a chain of its own.
    fn add(&mut self, outermost: usize, found: &mut Vec<Chain>) {
        let mut outermost = vec![outermost];
        while let Some(index) = outermost.pop() {
            let mut pending = vec![(0, index)];
            let mut chain = Chain::default();
            while chain.members.len() < MAX_MEMBERS
                && let Some((depth, index)) = pending.pop()
            {
                self.extend(&mut chain, depth, index, &mut pending);
            }
            outermost.extend(pending.into_iter().map(|(_, index)| index));
            found.extend((!chain.members.is_empty()).then_some(chain));
        }
    }

    fn extend(
        &mut self,
        chain: &mut Chain,
        depth: u32,
        index: usize,
        pending: &mut Vec<(u32, usize)>,
    ) {
        if !std::mem::replace(&mut self.is_used[index], true) {
            chain.members.push((depth, index));
            let awaited = self.awaited[index].iter().rev();
            pending.extend(awaited.map(|awaited| (depth + 1, *awaited)));
        }
    }
}

struct PromiseReader<'r> {
    target: &'r dyn Target,
    frames: &'r [LiveFrame],
    by_address: &'r HashMap<u64, usize>,
    functions: &'r CoroutineFunctions,
    types: &'r FrameTypes,
}

impl PromiseReader<'_> {
    /// The index of the frame that continues when this frame has run to its end.
    fn caller(&self, frame: &LiveFrame) -> Option<usize> {
        if frame.is_finished {
            return None;
        }
        let mut bytes = [0; MAX_PROMISE_BYTES];
        let read = self
            .target
            .read(frame.address.checked_add(PROMISE_OFFSET)?, &mut bytes);
        let words = bytes[..read].as_chunks().0.iter();
        let words: Vec<u64> = words.map(|word| u64::from_le_bytes(*word)).collect();
        let end = self.promise_words(frame, &words);
        let mut callers = words.iter().take(end).filter_map(|word| {
            let index = *self.by_address.get(word)?;
            (*word != frame.address).then_some(index)
        });
        callers.next().filter(|caller| {
            let caller = &self.frames[*caller];
            !caller.is_finished && caller.is_certain == frame.is_certain
        })
    }

    /// How many words the promise has, given the words from its start on.
    fn promise_words(&self, frame: &LiveFrame, words: &[u64]) -> usize {
        let coroutine = &self.functions.coroutines[frame.coroutine];
        let own = words.iter().position(|word| *word == frame.address);
        let own = own.filter(|_| coroutine.is_by_gcc);
        let bytes = self.types.of(coroutine).and_then(|of| of.promise_bytes);
        let known = bytes.and_then(|bytes| usize::try_from(bytes / 8).ok());
        known.or(own).unwrap_or(1)
    }
}
