//! Unwinding damaged memory ends, with at most a shorter stack.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use ctp_inspect::stacks::{Processor, Registers, StackFrame, Unwinder};
use ctp_inspect::{CoroutineStacks, Mapping, MemoryImage, Position, ProcessTarget, Target as _};
use proptest::collection::vec;
use proptest::prelude::*;

const CODE: u64 = 0x10_0000;
const STACK: u64 = 0x70_0000;
const STACK_BYTES: u64 = 0x4000;

/// The kernel's part of this process, which is a small library with an unwind table.
fn library() -> Vec<u8> {
    let Ok(own) = ProcessTarget::open(std::process::id()) else {
        return Vec::new();
    };
    let mut mappings = own.mappings().iter();
    let Some(vdso) = mappings.find(|mapping| mapping.path == b"[vdso]") else {
        return Vec::new();
    };
    let mut bytes = vec![0; usize::try_from(vdso.len()).unwrap_or_default()];
    let read = own.read(vdso.start, &mut bytes);
    bytes.truncate(read);
    bytes
}

fn image(library: Vec<u8>, stack: Vec<u8>) -> MemoryImage {
    let mut image = MemoryImage::default();
    let code = Mapping {
        start: CODE,
        end: CODE + 0x10_0000,
        is_readable: true,
        is_executable: true,
        path: b"[vdso]".to_vec(),
        ..Mapping::default()
    };
    image.add(code, library);
    let mapping = Mapping {
        start: STACK,
        end: STACK + STACK_BYTES,
        is_readable: true,
        is_writable: true,
        ..Mapping::default()
    };
    image.add(mapping, stack);
    image
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_tables_and_stacks_are_survived(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        words in vec(prop_oneof![
            CODE..CODE + 0x4000,
            STACK..STACK + STACK_BYTES,
            any::<u64>(),
        ], 1..2048),
        sp in (STACK..STACK + STACK_BYTES).prop_map(|sp| sp & !7),
        pcs in vec(CODE..CODE + 0x4000, 1..32),
    ) {
        let mut library = library();
        prop_assume!(!library.is_empty());
        for (index, byte) in damage {
            let at = index.index(library.len());
            library[at] = byte;
        }
        let stack = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let image = image(library, stack);
        for processor in [Processor::X86_64, Processor::Aarch64] {
            let mut unwinder = Unwinder::default();
            for pc in &pcs {
                let stack = unwinder.unwind(&image, &Registers::new(processor, *pc, sp));
                prop_assert!(stack.frames.len() <= 256);
                let is_in_stack = |frame: &StackFrame| {
                    frame.start <= frame.end && frame.end <= STACK + STACK_BYTES
                };
                prop_assert!(stack.frames.iter().all(is_in_stack), "{stack:x?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // STB-19
    #[test]
    fn corrupted_positions_give_short_stacks(
        words in vec(prop_oneof![
            CODE..CODE + 0x4000,
            STACK..STACK + STACK_BYTES,
            any::<u64>(),
        ], 1..2048),
        positions in vec((
            prop_oneof![CODE..CODE + 0x4000, any::<u64>()],
            prop_oneof![STACK - 64..STACK + STACK_BYTES + 64, CODE..CODE + 0x4000, any::<u64>()],
            prop_oneof![STACK..STACK + STACK_BYTES, any::<u64>()],
        ), 1..32),
    ) {
        let library = library();
        prop_assume!(!library.is_empty());
        let stack = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut stacks = CoroutineStacks::new(Box::new(image(library, stack)));
        for (pc, sp, fp) in positions {
            let position = Position { pc, sp, fp };
            let copy = stacks.copy(&position);
            let is_stack = (STACK..STACK + STACK_BYTES).contains(&sp) && sp.is_multiple_of(8);
            let read = stacks.unwind(&position, &copy);
            prop_assert!(read.addresses.len() <= 128);
            let code = CODE..CODE + 0x10_0000;
            prop_assert!(read.addresses.iter().all(|address| code.contains(address)));
            prop_assert!(is_stack || read.addresses.is_empty());
        }
    }
}
