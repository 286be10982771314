//! Debug info in which a few bytes expand to very much data, or with endless nesting.

use ctp_trace::record::{Place, Record};

use crate::elf::{self, BASE, Section};
use crate::modules::{flat, module};
use crate::room::{MIB, Room, Run, trace};

/// DWARF 4: a unit with a program of lines, functions, and what is inlined in them.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 1, 0x12, 6, 0x10, 0x17, 0, 0, // unit: low_pc, high_pc, stmt_list
    2, 0x2e, 1, 0x11, 1, 0x12, 6, 0, 0, // function: low_pc, high_pc
    3, 0x1d, 1, 0, 0, // inlined call
    4, 0x2e, 0, 0x55, 0x17, 0, 0, // function: ranges
    0,
];
const UNIT: u8 = 1;
const FUNCTION: u8 = 2;
const INLINED: u8 = 3;
const WITH_RANGES: u8 = 4;

fn place(code: u8) -> Vec<u8> {
    let mut entry = vec![code];
    entry.extend(BASE.to_le_bytes());
    entry.extend(0x8000u32.to_le_bytes());
    entry
}

/// A program with one unit, of these entries.
fn program(entries: &[u8], lines: Vec<u8>, ranges: Vec<u8>) -> Vec<u8> {
    let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
    unit.extend(place(UNIT));
    unit.extend(0u32.to_le_bytes());
    unit.extend(entries);
    elf::file(vec![
        Section::plain(".debug_info", with_length(unit)),
        Section::plain(".debug_abbrev", ABBREVIATIONS.to_vec()),
        Section::plain(".debug_line", with_length(lines)),
        Section::plain(".debug_ranges", ranges),
    ])
}

fn with_length(bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len() as u32;
    [&length.to_le_bytes()[..], &bytes].concat()
}

/// A program of lines for one file, with so many rows of a byte each.
fn lines(rows: usize) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    header.extend(b"a.c\0\0\0\0\0");
    let mut lines = vec![4, 0];
    lines.extend(with_length(header));
    lines.extend([0, 9, 2]);
    lines.extend(BASE.to_le_bytes());
    lines.extend(std::iter::repeat_n(0x20, rows));
    lines.extend([0, 1, 1]);
    lines
}

/// The page of a coroutine that waits within the program.
fn page(program: &[u8]) -> Run {
    let room = Room::new();
    let path = room.write("app", program);
    let modules = vec![Record::Module(module(&path, &elf::BUILD_ID))];
    room.write(
        "ctp.data",
        &trace(modules, "task", Place::Address(BASE + 0x10)),
    );
    let run = room.run(&[]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(run.peak_bytes < 256 * MIB, "{}", run.peak_bytes);
    run
}

#[test]
fn lines_are_found_in_a_program_made_by_hand() {
    let mut entries = place(FUNCTION);
    entries.extend([INLINED, 0, 0, 0]);
    let text = flat(&page(&program(&entries, lines(100), Vec::new())));
    assert!(text.contains("a.c:"), "{text}");
    assert!(!text.contains("--max-module"), "{text}");
}

// CT-21
#[test]
fn a_byte_of_lines_for_each_row_is_charged() {
    let text = flat(&page(&program(
        &place(FUNCTION),
        lines(30_000_000),
        Vec::new(),
    )));
    assert!(text.contains("--max-module"), "{text}");
}

#[test]
fn calls_inlined_without_end_are_not_followed() {
    let mut entries = place(FUNCTION);
    entries.extend(std::iter::repeat_n(INLINED, 1_000_000));
    entries.extend(std::iter::repeat_n(0, 1_000_002));
    page(&program(&entries, lines(100), Vec::new()));
}

#[test]
fn a_list_of_ranges_that_all_share_is_charged_each_time() {
    let mut ranges = Vec::new();
    for at in 0..20_000u64 {
        ranges.extend((2 * at + 1).to_le_bytes());
        ranges.extend((2 * at + 2).to_le_bytes());
    }
    ranges.extend([0; 16]);
    let mut entries = Vec::new();
    for _ in 0..100_000 {
        entries.extend([WITH_RANGES, 0, 0, 0, 0]);
    }
    entries.push(0);
    let text = flat(&page(&program(&entries, lines(100), ranges)));
    assert!(text.contains("--max-module"), "{text}");
}

#[test]
fn units_that_share_a_table_do_not_multiply_the_cost() {
    let mut info = Vec::new();
    for _ in 0..200_000 {
        let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
        unit.extend(place(UNIT));
        unit.extend(0u32.to_le_bytes());
        info.extend(with_length(unit));
    }
    let mut abbreviations = ABBREVIATIONS[..ABBREVIATIONS.len() - 1].to_vec();
    for code in 5..0x4000u16 {
        abbreviations.extend([code as u8 | 0x80, (code >> 7) as u8, 0x2e, 0, 0, 0]);
    }
    abbreviations.push(0);
    page(&elf::file(vec![
        Section::plain(".debug_info", info),
        Section::plain(".debug_abbrev", abbreviations),
        Section::plain(".debug_line", with_length(lines(100))),
    ]));
}

#[test]
fn names_that_overlap_are_charged_as_they_are_copied() {
    let mut names = vec![b'n'; 64 << 10];
    (names[0], names[(64 << 10) - 1]) = (0, 0);
    let mut symbols = vec![0; 24];
    for _ in 0..100_000 {
        symbols.extend(1u32.to_le_bytes());
        symbols.extend([0x12, 0, 1, 0]);
        symbols.extend(BASE.to_le_bytes());
        symbols.extend(0x100u64.to_le_bytes());
    }
    let code = Section {
        flags: 6,
        ..Section::plain(".text", vec![0; 16])
    };
    let table = Section {
        kind: 2,
        link: 3,
        ..Section::plain(".symtab", symbols)
    };
    let strings = Section {
        kind: 3,
        ..Section::plain(".strtab", names)
    };
    let text = flat(&page(&elf::file(vec![code, table, strings])));
    assert!(text.contains("--max-module"), "{text}");
}
