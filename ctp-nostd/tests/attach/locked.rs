//! A program that locks its memory (`mlockall`) before it attaches.

use std::fs::File;

use crate::recorder::{Recorder, STATIONS, printed, run};

const MEMORY_BYTES: u64 = 256 << 20;

// CTP-03
#[test]
fn mlockall_does_not_fill_the_shared_memory() {
    let recorder = Recorder::new();
    let file = File::options().write(true).open(recorder.shm());
    let grown = file.and_then(|file| file.set_len(MEMORY_BYTES));
    grown.expect("the file may have holes");
    let output = run(&mut recorder.program("locked"));
    let Ok(kib) = printed(&output, "resident=").parse::<u64>() else {
        return eprintln!("SKIPPED: memory may not be locked here");
    };
    assert_eq!(printed(&output, "recorded="), STATIONS.to_string());
    assert!(kib < 16 << 10, "{kib} KiB are resident");
}
