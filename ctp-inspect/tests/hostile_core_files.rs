//! Damaged core files give less, and nothing else happens.
#![cfg(target_arch = "x86_64")]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use ctp_inspect::stacks::Unwinder;
use ctp_inspect::threads::ThreadState;
use ctp_inspect::{CoreFile, Inspector, Target, TargetError, TraceIds};
use ctp_trace::record::ProcessId;
use proptest::collection::vec;
use proptest::prelude::*;

const MEMORY: u64 = 0x7000;
const MEMORY_BYTES: u64 = 0x2000;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn note(kind: u32, contents: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for number in [5, contents.len() as u32, kind] {
        note.extend(number.to_le_bytes());
    }
    note.extend(b"CORE\0\0\0\0");
    note.extend(contents);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

fn notes() -> Vec<u8> {
    let mut status = vec![0; 336];
    status[32] = 77;
    status[112 + 8 * 16..][..8].copy_from_slice(&(MEMORY + 0x100).to_le_bytes());
    status[112 + 8 * 19..][..8].copy_from_slice(&(MEMORY + 0x1000).to_le_bytes());
    let mut files = words(&[1, 4096, MEMORY, MEMORY + MEMORY_BYTES, 0]);
    files.extend(b"/none/app\0");
    [
        note(1, &status),
        note(6, &words(&[3, MEMORY])),
        note(0x4649_4c45, &files),
    ]
    .concat()
}

/// A core file with a thread, a mapped file and memory.
fn core_file() -> Vec<u8> {
    let notes = notes();
    let memory_start = 64 + 2 * 56 + notes.len() as u64;
    let mut core = b"\x7fELF\x02\x01\x01".to_vec();
    core.resize(16, 0);
    core.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    core.extend(words(&[0, 64, 0, 64 << 32 | 56 << 48]));
    core[52..54].copy_from_slice(&[64, 0]);
    core.resize(64, 0);
    core[54..58].copy_from_slice(&[56, 0, 2, 0]);
    core.extend(words(&[
        4 | 4 << 32,
        64 + 2 * 56,
        0,
        0,
        notes.len() as u64,
        0,
        4,
    ]));
    core.extend(words(&[
        1 | 7 << 32,
        memory_start,
        MEMORY,
        0,
        MEMORY_BYTES,
        MEMORY_BYTES,
        1,
    ]));
    core.extend(notes);
    core.extend(words(&[MEMORY + 0x123; MEMORY_BYTES as usize / 8]));
    core
}

/// Does everything that an inspection does.
fn exercise(bytes: &[u8]) -> Option<usize> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("core");
    std::fs::write(&path, bytes).unwrap();
    let core = CoreFile::open(&path, None).ok()?;
    let threads = core.thread_ids();
    for tid in &threads {
        if let Some(ThreadState::Blocked { registers, .. }) = core.thread(*tid).map(|t| t.state) {
            Unwinder::default().unwind(&core, &registers);
        }
    }
    let inspected = Inspector::new(Box::new(core), ProcessId(1)).inspect(&mut TraceIds::default());
    inspected.unwrap();
    Some(threads.len())
}

#[test]
fn undamaged_core_is_read() {
    let bytes = core_file();
    assert_eq!(exercise(&bytes), Some(1));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("core");
    std::fs::write(&path, &bytes).unwrap();
    let core = CoreFile::open(&path, None).unwrap();
    assert_eq!(core.exe(), b"/none/app");
    assert_eq!(core.word(MEMORY + 8), Some(MEMORY + 0x123));
    assert_eq!(core.word(MEMORY + MEMORY_BYTES - 4), None);
}

#[test]
fn core_from_an_unknown_processor_is_refused() {
    const RISC_V: u16 = 243;
    let mut bytes = core_file();
    bytes[18..20].copy_from_slice(&RISC_V.to_le_bytes());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let error = CoreFile::open(file.path(), None).err().unwrap();
    assert!(matches!(error, TargetError::Processor(RISC_V)), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn damaged_core_is_survived(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
        in_headers in any::<bool>(),
        length in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = core_file();
        let most = if in_headers { 64 + 2 * 56 + 200 } else { bytes.len() };
        for (index, byte) in damage {
            bytes[index.index(most)] = byte;
        }
        if is_cut {
            bytes.truncate(length.index(bytes.len()));
        }
        exercise(&bytes);
    }

    #[test]
    fn any_bytes_are_survived(tail in vec(any::<u8>(), 0..400), has_magic in any::<bool>()) {
        let mut bytes = if has_magic { b"\x7fELF\x02\x01".to_vec() } else { Vec::new() };
        bytes.extend(tail);
        exercise(&bytes);
    }
}
