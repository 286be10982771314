//! Dumps and programs that cannot be read.

use std::fs;
use std::path::Path;

use super::{Recorder, Target, target};

#[test]
fn truncated_dump_is_refused() {
    let Target { elf, dump, .. } = target();
    let junk_with_magic = [&dump[..8], &[0xFF; 4096]].concat();
    // In the header, in the stations, in the last table.
    let cuts = [600, 12_000, dump.len() - 1].map(|kept| (&dump[..kept], &[][..]));
    for (memory, after) in cuts
        .into_iter()
        .chain([(&dump[..12_000], &junk_with_magic[..])])
    {
        for before in [&[][..], &junk_with_magic] {
            let cut = [before, memory, after].concat();
            let found = memory.len() + after.len();
            let message = Recorder::given(&cut).refuses("ram.bin", elf);
            assert!(
                message.contains(&format!("memory has {found} bytes")),
                "{message}"
            );
            assert!(message.contains("dump the whole of it"), "{message}");
        }
    }
}

#[test]
fn a_dump_without_the_magic_is_refused() {
    for dump in [&[][..], b"CTP", &[0; 65_536]] {
        let message = Recorder::given(dump).refuses("ram.bin", &target().elf);
        assert!(message.contains("holds no memory of a probe"), "{message}");
    }
}

#[test]
fn missing_file_is_named() {
    let recorder = Recorder::given(&target().dump);
    let message = recorder.refuses("no such dump", &target().elf);
    assert!(message.contains("no such dump"), "{message}");
    let message = recorder.refuses("ram.bin", Path::new("no such program"));
    assert!(message.contains("no such program"), "{message}");
}

#[test]
fn file_that_is_not_elf_is_refused() {
    let recorder = Recorder::given(&target().dump);
    // 64-bit Mach-O and a COFF object for the same processor: formats that are known, too.
    let mach_o: &[u8] = &[0xCF, 0xFA, 0xED, 0xFE, 7, 0, 0, 1, 3, 0, 0, 0, 2, 0, 0, 0];
    let coff: &[u8] = &[0x64, 0x86];
    for head in [b"#!/bin/sh\n", mach_o, coff, b"\x7FELF"] {
        let mut file = head.to_vec();
        file.resize(32.max(head.len()), 0);
        fs::write(recorder.dir.path().join("other"), file).unwrap();
        let message = recorder.refuses("ram.bin", Path::new("other"));
        assert!(message.contains("other is not an ELF file"), "{message}");
    }
}
