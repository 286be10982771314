//! What looks like the frame of a coroutine, found in a pass over memory.

use crate::cpp::functions::{CoroutineFunctions, FrameStart};
use crate::scan::{Scan, WritableMemory};
use crate::target::Target;

/// The maximum number of candidates that are kept.
const MAX_CANDIDATES: usize = 1 << 21;

/// What may be a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCandidate {
    /// Where the frame begins.
    pub address: u64,
    /// The first two words.
    pub words: [u64; 2],
    /// What these words say.
    pub start: FrameStart,
}

/// The candidates in this memory, sorted by address.
pub fn find(
    target: &dyn Target,
    scan: &mut Scan,
    memory: &WritableMemory,
    functions: &CoroutineFunctions,
) -> Vec<FrameCandidate> {
    let mut candidates = Vec::new();
    scan.each_piece(target, &memory.ranges, |piece| {
        piece.each_within(&functions.destroying, |at, second| {
            let Some(address) = at.checked_sub(8) else {
                return;
            };
            let first = piece.word(address).or_else(|| target.word(address));
            let Some(first) = first.filter(|_| candidates.len() < MAX_CANDIDATES) else {
                return;
            };
            let start = functions.frame_start([first, second]);
            candidates.extend(start.map(|start| FrameCandidate {
                address,
                words: [first, second],
                start,
            }));
        });
    });
    candidates
}
