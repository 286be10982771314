//! What looks like a box of a future, found in a pass over memory.

use crate::boxed::vtables::FutureVtables;
use crate::scan::{Scan, WritableMemory};
use crate::target::Target;

/// The maximum number of boxes that are kept.
const MAX_POINTERS: usize = 1 << 20;

/// Two words that look like a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxPointer {
    /// Where the two words are.
    pub at: u64,
    /// The first word: the address of the future.
    pub future: u64,
    /// The second word: the address of the vtable.
    pub vtable: u64,
}

/// The boxes in this memory, sorted by their addresses.
pub fn find(
    target: &dyn Target,
    scan: &mut Scan,
    memory: &WritableMemory,
    vtables: &FutureVtables,
) -> Vec<BoxPointer> {
    let mut pointers = Vec::new();
    scan.each_piece(target, &memory.ranges, |piece| {
        piece.each_within(&vtables.range(), |second, vtable| {
            let of = vtables.at(vtable);
            let (Some(of), Some(at)) = (of, second.checked_sub(8)) else {
                return;
            };
            let future = piece.word(at).or_else(|| target.word(at));
            let future = future.filter(|future| {
                let mapping = target.mapping_at(*future);
                future.is_multiple_of(of.alignment) && mapping.is_some_and(|map| map.is_writable)
            });
            if pointers.len() < MAX_POINTERS {
                pointers.extend(future.map(|future| BoxPointer { at, future, vtable }));
            }
        });
    });
    pointers
}
