//! What looks like frames of coroutines in a program that has no symbols.

use std::ops::Range;

use crate::glibc_heap::Heaps;
use crate::modules::{Module, Modules};
use crate::scan::{Scan, WritableMemory};
use crate::target::Target;

/// The maximum number of objects that are checked.
const MAX_OBJECTS: usize = 1 << 16;
/// At most this many bytes after the two functions are searched for the address of the object itself.
const MAX_BYTES: usize = 1024;

/// How many objects look like frames of gcc: two functions of the program, and later the address of the object itself.
/// Only programs with a C++ library are searched.
pub fn count(target: &dyn Target, scan: &mut Scan, memory: &WritableMemory) -> usize {
    let modules = Modules::of(target.mappings());
    let has_cpp = modules.iter().any(is_cpp_library);
    let program = modules.iter().find(|module| module.path == target.exe());
    let Some(program) = program.filter(|_| has_cpp) else {
        return 0;
    };
    let objects = with_two_functions(target, scan, memory, program);
    let chunks = Heaps::of(target).chunks(&objects);
    let objects = objects.into_iter().filter(|object| {
        let chunk = chunks.get(object);
        chunk.is_some_and(|chunk| chunk.memory == *object && chunk.is_in_use)
            && has_own_address(target, *object)
    });
    objects.count()
}

fn is_cpp_library(module: &Module) -> bool {
    let name = module.path.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default();
    name.starts_with(b"libstdc++.so") || name.starts_with(b"libc++.so")
}

/// The objects that begin with the addresses of two functions, sorted.
fn with_two_functions(
    target: &dyn Target,
    scan: &mut Scan,
    memory: &WritableMemory,
    program: &Module,
) -> Vec<u64> {
    let text = span(&program.text);
    let mut objects = Vec::new();
    scan.each_piece(target, &memory.ranges, |piece| {
        piece.each_within(&text, |at, second| {
            let object = at.checked_sub(8).filter(|object| object.is_multiple_of(16));
            let first = object.and_then(|object| piece.word(object));
            let is_frame = first.is_some_and(|first| first != second && text.contains(&first));
            if is_frame && objects.len() < MAX_OBJECTS {
                objects.extend(object);
            }
        });
    });
    objects
}

fn span(ranges: &[Range<u64>]) -> Range<u64> {
    let first = ranges.first().map_or(0, |range| range.start);
    first..ranges.last().map_or(0, |range| range.end)
}

fn has_own_address(target: &dyn Target, object: u64) -> bool {
    let mut bytes = [0; MAX_BYTES];
    let read = object
        .checked_add(16)
        .map_or(0, |start| target.read(start, &mut bytes));
    let mut words = bytes[..read].as_chunks().0.iter();
    words.any(|word| u64::from_le_bytes(*word) == object)
}
