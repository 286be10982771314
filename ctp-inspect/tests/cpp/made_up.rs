//! Frames in memory that was made up: exactly those in memory that is in use certainly live, and hostile memory is
//! survived.

use ctp_inspect::cpp::chains::Chains;
use ctp_inspect::cpp::frame_types::FrameTypes;
use ctp_inspect::cpp::functions::CoroutineFunctions;
use ctp_inspect::cpp::live::LiveFrames;
use ctp_inspect::cpp::{candidates, live};
use ctp_inspect::glibc_heap::Heaps;
use ctp_inspect::scan::{Scan, WritableMemory};
use ctp_inspect::stack_ranges::StackRanges;
use ctp_inspect::target::mapping;
use ctp_inspect::{MemoryImage, SearchPaths};
use proptest::collection::vec;
use proptest::prelude::*;
use symbolize::{Avma, NamedFunction};

const ACTOR: u64 = 0x1100;
const DESTROY: u64 = 0x1200;
const RESUME: u64 = 0x1300;
const CLEANUP: u64 = 0x1400;
const LIBRARY: u64 = 0x8000;
const HEAP: u64 = 0x10_0000;
const HEAP_BYTES: u64 = 0x8000;
/// A heap of another arena, and where its first chunk begins.
const ARENA_HEAP: u64 = 0x400_0000;
const FIRST_CHUNK: u64 = ARENA_HEAP + 0x8d0;
const MAPS: &[u8] = b"\
1000-2000 r-xp 0 8:1 7 /app\n7000-8000 r-xp 0 8:1 8 /lib/libc.so.6\n8000-9000 r--p 1000 8:1 8 /lib/libc.so.6\n\
100000-108000 rw-p 0 0:0 0 [heap]\n4000000-4008000 rw-p 0 0:0 0\n";
const IN_USE: u64 = 1;

/// A process with glibc 2.36, a coroutine by gcc, a coroutine by clang, and nothing in its heaps.
fn process() -> MemoryImage {
    let mut image = MemoryImage::default();
    for mapping in mapping::parse(MAPS) {
        let bytes = vec![0; mapping.len() as usize];
        image.add(mapping, bytes);
    }
    let version = b"GNU C Library (Debian) stable release version 2.36.\n";
    for (index, part) in version.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        image.set_word(LIBRARY + 8 * index as u64, u64::from_le_bytes(word));
    }
    image
}

fn functions() -> CoroutineFunctions {
    let names = [
        (ACTOR, "_Z4leafiPZ4leafiE12_Z4leafi.Frame.actor"),
        (DESTROY, "_Z4leafiPZ4leafiE12_Z4leafi.Frame.destroy"),
        (RESUME, "_Z5outerv.resume"),
        (RESUME + 0x50, "_Z5outerv.destroy"),
        (CLEANUP - 0x50, "_Z5innerv.resume"),
        (CLEANUP, "_Z5innerv.cleanup"),
    ];
    let functions = names.map(|(address, name)| NamedFunction {
        address: Avma(address),
        name: name.to_owned(),
    });
    let mut found = CoroutineFunctions::new(SearchPaths::recorded());
    found.replace(&functions);
    found
}

fn find(image: &MemoryImage) -> LiveFrames {
    let functions = functions();
    let types = FrameTypes::new(SearchPaths::recorded());
    let mut stacks = StackRanges::default();
    stacks.refresh(image);
    let memory = WritableMemory::of(image, 1 << 30);
    let candidates = candidates::find(image, &mut Scan::default(), &memory, &functions);
    let found = live::judge(image, &stacks, &Heaps::of(image), &candidates);
    let chains = Chains::of(image, &found, (&functions, &types));
    let members: usize = chains.iter().map(|chain| chain.members.len()).sum();
    assert_eq!(members, found.frames.len(), "each frame is in one chain");
    found
}

/// The addresses of the frames that certainly live, and of the others.
fn addresses(found: &LiveFrames) -> [Vec<u64>; 2] {
    [true, false].map(|is_certain| {
        let frames = found.frames.iter();
        let frames = frames.filter(|frame| frame.is_certain == is_certain);
        frames.map(|frame| frame.address).collect()
    })
}

/// What a chunk has.
#[derive(Clone, Copy, Debug)]
enum Content {
    Frame,
    Finished,
    /// A frame that was destroyed and is free, or merged with free memory before it.
    Free,
    /// In the cache of a thread: `free` has overwritten both words.
    Cached,
    /// In a fast bin: `free` has overwritten the first word.
    Fast,
    /// Memory of another size with remains of a frame in the middle, or nothing of a frame.
    Other,
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        Just(Content::Frame),
        Just(Content::Finished),
        Just(Content::Free),
        Just(Content::Cached),
        Just(Content::Fast),
        Just(Content::Other),
    ]
}

/// Writes chunks from `start` on, and the top up to `end`. Returns where the memory of each chunk begins.
fn place(image: &mut MemoryImage, start: u64, end: u64, chunks: &[Content]) -> Vec<u64> {
    let (mut at, mut in_use) = (start, IN_USE);
    let mut memory = Vec::new();
    for content in chunks {
        let bytes = if matches!(content, Content::Other) {
            0x80
        } else {
            0x50
        };
        let words = match content {
            Content::Frame | Content::Free => [ACTOR, DESTROY],
            Content::Finished => [0, DESTROY],
            Content::Cached => [at >> 12, 0x1234_5678],
            Content::Fast => [at >> 12, DESTROY],
            Content::Other => [1, 2],
        };
        image.set_word(at + 8, bytes | in_use);
        image.set_word(at + 16, words[0]);
        image.set_word(at + 24, words[1]);
        in_use = u64::from(!matches!(content, Content::Free));
        memory.push(at + 16);
        at += bytes;
    }
    image.set_word(at + 8, (end - at) | in_use);
    memory
}

/// Writes the header of a heap with an arena.
fn place_arena(image: &mut MemoryImage) {
    image.set_word(ARENA_HEAP, ARENA_HEAP + 0x30);
    image.set_word(ARENA_HEAP + 16, HEAP_BYTES);
}

fn in_use(memory: &[u64], chunks: &[Content]) -> Vec<u64> {
    let placed = memory.iter().zip(chunks);
    let live = placed.filter(|(_, content)| matches!(content, Content::Frame | Content::Finished));
    live.map(|(address, _)| *address).collect()
}

proptest! {
    #[test]
    fn exactly_the_frames_in_use_are_certain(chunks in vec(content(), 0..100)) {
        let mut image = process();
        let memory = place(&mut image, HEAP, HEAP + HEAP_BYTES, &chunks);
        prop_assert_eq!(addresses(&find(&image)), [in_use(&memory, &chunks), vec![]]);
    }

    #[test]
    fn the_heaps_of_all_arenas_are_read(chunks in vec(content(), 1..100)) {
        let mut image = process();
        place_arena(&mut image);
        // The first chunk has the cache of the thread.
        let chunks = [vec![Content::Other], chunks].concat();
        let memory = place(&mut image, FIRST_CHUNK, ARENA_HEAP + HEAP_BYTES, &chunks);
        image.set_word(FIRST_CHUNK + 8, 0x85);
        prop_assert_eq!(addresses(&find(&image)), [in_use(&memory, &chunks), vec![]]);
    }

    #[test]
    fn hostile_heaps_are_survived(
        words in vec((0..HEAP_BYTES / 8, hostile_word()), 0..400),
        arena in vec((0..HEAP_BYTES / 8, hostile_word()), 0..400),
        has_arena: bool,
    ) {
        let mut image = process();
        if has_arena {
            place_arena(&mut image);
        }
        for (start, words) in [(HEAP, words), (ARENA_HEAP, arena)] {
            for (index, word) in words {
                image.set_word(start + 8 * index, word);
            }
        }
        let found = find(&image);
        prop_assert!(found.frames.iter().all(|frame| frame.words[1] != 0));
    }
}

/// A word that a frame, a chunk or the header of a heap may have, or any other.
fn hostile_word() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(ACTOR),
        Just(DESTROY),
        Just(RESUME),
        Just(CLEANUP),
        Just(0),
        (0..0x400_u64),
        (HEAP..HEAP + HEAP_BYTES).prop_map(|address| address & !15),
        Just(ARENA_HEAP + 0x30),
        any::<u64>(),
    ]
}

#[test]
fn frames_are_uncertain_if_the_allocator_is_unknown() {
    let chunks = [Content::Frame, Content::Finished, Content::Free];
    let mut image = process();
    let memory = place(&mut image, HEAP, HEAP + HEAP_BYTES, &chunks);
    // The C library is another.
    image.set_word(LIBRARY, 0);
    assert_eq!(addresses(&find(&image)), [vec![], memory.clone()]);
    // The chunks do not lead to the top.
    let mut image = process();
    place(&mut image, HEAP, HEAP + HEAP_BYTES, &chunks);
    image.set_word(memory[2] + 0x48, 0x18);
    assert_eq!(addresses(&find(&image)), [vec![], memory]);
}

#[test]
fn remains_in_memory_of_another_size_are_uncertain() {
    let chunks = [
        Content::Frame,
        Content::Frame,
        Content::Other,
        Content::Other,
    ];
    let mut image = process();
    let memory = place(&mut image, HEAP, HEAP + HEAP_BYTES, &chunks);
    image.set_word(memory[2], ACTOR);
    image.set_word(memory[2] + 8, DESTROY);
    image.set_word(memory[3] + 32, ACTOR);
    image.set_word(memory[3] + 40, DESTROY);
    let expected = [memory[..2].to_vec(), vec![memory[2], memory[3] + 32]];
    assert_eq!(addresses(&find(&image)), expected);
}

#[test]
fn a_frame_inside_the_caller_lives_with_the_caller() {
    let mut image = process();
    let chunks = [Content::Other, Content::Free, Content::Other];
    let memory = place(&mut image, HEAP, HEAP + HEAP_BYTES, &chunks);
    for outer in &memory {
        image.set_word(*outer, RESUME);
        image.set_word(outer + 8, RESUME + 0x50);
        image.set_word(outer + 0x20, CLEANUP - 0x50);
        image.set_word(outer + 0x28, CLEANUP);
    }
    // The inner coroutine of the last has run to its end.
    image.set_word(memory[2] + 0x20, 0);
    let expected = [vec![memory[0], memory[0] + 0x20, memory[2]], vec![]];
    assert_eq!(addresses(&find(&image)), expected);
    // The outer coroutine has run to its end, and with it the inner.
    image.set_word(memory[0], 0);
    let expected = [vec![memory[0], memory[2]], vec![]];
    assert_eq!(addresses(&find(&image)), expected);
}

#[test]
fn finished_frames_are_uncertain_before_glibc_2_32() {
    let mut image = process();
    let chunks = [Content::Frame, Content::Finished];
    let memory = place(&mut image, HEAP, HEAP + HEAP_BYTES, &chunks);
    let old = b"GNU C Library stable release version 2.31.\n";
    for (index, part) in old.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        image.set_word(LIBRARY + 8 * index as u64, u64::from_le_bytes(word));
    }
    let expected = [vec![memory[0]], vec![memory[1]]];
    assert_eq!(addresses(&find(&image)), expected);
}

#[test]
fn promises_that_name_each_other_end() {
    let mut image = process();
    let memory = place(&mut image, HEAP, HEAP + HEAP_BYTES, &[Content::Frame; 3]);
    // Each has its own address behind the promise, which has that of the next.
    for (index, frame) in memory.iter().enumerate() {
        image.set_word(frame + 16, memory[(index + 1) % 3]);
        image.set_word(frame + 24, *frame);
    }
    assert_eq!(addresses(&find(&image))[0], memory);
}
