//! Compares `LAYOUT.md` with the structs, in both directions, and the frozen words with a list.
#![cfg(not(loom))]

use ctp_nostd::layout::{
    Aggregate, Attach, COMPACT_MAGIC, Compact, CompactInterned, CompactStation, Field, Full,
    Header, Interned, LAYOUT_HASH, Lane, LaneRecord, Layout, MAGIC, RingHead, SLOTS, Slot, Span,
    Station,
};
use ctp_nostd::slot::Tail;

const SPEC: &str = include_str!("../LAYOUT.md");

/// Name, offset, size.
type Row = (String, usize, usize);

const STRUCTS: [(&str, &[Field], usize); 10] = [
    ("Header", Header::FIELDS, size_of::<Header>()),
    ("Span", Span::FIELDS, size_of::<Span>()),
    ("Station", Station::FIELDS, size_of::<Station>()),
    ("Slot", Slot::FIELDS, size_of::<Slot>()),
    ("Aggregate", Aggregate::FIELDS, size_of::<Aggregate>()),
    ("Interned", Interned::FIELDS, size_of::<Interned>()),
    ("Attach", Attach::FIELDS, size_of::<Attach>()),
    ("Lane", Lane::FIELDS, size_of::<Lane>()),
    ("LaneRecord", LaneRecord::FIELDS, size_of::<LaneRecord>()),
    ("RingHead", RingHead::FIELDS, size_of::<RingHead>()),
];

/// The table under a heading.
fn table(heading: &str) -> Vec<Row> {
    section(heading).filter_map(row).collect()
}

fn section(heading: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("## {heading}");
    let lines = SPEC.lines().skip_while(move |line| *line != heading);
    lines.skip(1).take_while(|line| !line.starts_with("## "))
}

/// Parses `| 0x10 | 8 | name | …`; nothing for any other line.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix("| 0x")?.split(" | ").collect();
    Some((name_in(&cells).to_owned(), hex(cells[0]), decimal(cells[1])))
}

/// Parses `| 0x240 | 8 | 0xC0 | 8 | name | …`: the offset and the size in the compact layout. Nothing for
/// a field that the compact layout does not have.
fn compact_row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix("| 0x")?.split(" | ").collect();
    let at = cells[2].strip_prefix("0x")?;
    Some((name_in(&cells).to_owned(), hex(at), decimal(cells[3])))
}

/// A table of both layouts has two more cells before the name.
fn name_in<'c>(cells: &[&'c str]) -> &'c str {
    let has_both = cells[2] == "-" || cells[2].starts_with("0x");
    if has_both { cells[4] } else { cells[2] }
}

fn hex(text: &str) -> usize {
    usize::from_str_radix(text, 16).expect("an offset")
}

fn decimal(text: &str) -> usize {
    text.parse().expect("a size")
}

fn fields(fields: &[Field]) -> Vec<Row> {
    fields
        .iter()
        .map(|field| (field.name.to_owned(), field.offset, field.bytes))
        .collect()
}

fn spec_of(heading: &str) -> Vec<Row> {
    let mut rows = table(heading);
    rows.retain(|(name, ..)| !name.contains('.'));
    rows
}

// CTP-01
#[test]
fn layout_tables_match_the_structs() {
    for (name, code, bytes) in STRUCTS {
        assert_eq!(
            spec_of(name),
            fields(code),
            "{name} in LAYOUT.md and memory/layout.rs"
        );
        let mut end = 0;
        for (field, offset, size) in spec_of(name) {
            assert_eq!(offset, end, "no hole before {name}.{field}");
            end = offset + size;
        }
        assert_eq!(end, bytes, "the end of {name}");
    }
}

// CTP-01
#[test]
fn compact_columns_match_the_structs() {
    let structs = [
        (
            "Station",
            CompactStation::FIELDS,
            size_of::<CompactStation>(),
        ),
        (
            "Interned",
            CompactInterned::FIELDS,
            size_of::<CompactInterned>(),
        ),
    ];
    for (name, code, bytes) in structs {
        let spec: Vec<Row> = section(name).filter_map(compact_row).collect();
        let mut code = fields(code);
        code.retain(|(_, _, bytes)| *bytes != 0);
        assert_eq!(spec, code, "{name}");
        assert_eq!(spec.iter().map(|(.., bytes)| bytes).sum::<usize>(), bytes);
    }
    assert_eq!(Compact::SLOTS, 2);
    assert_eq!(Compact::STATION_BYTES as usize, size_of::<CompactStation>());
}

// CTP-01
#[test]
fn compact_memory_has_another_magic_than_v1() {
    assert_eq!((Full::MAGIC, Full::HASH), (MAGIC, LAYOUT_HASH));
    assert_eq!(COMPACT_MAGIC.to_le_bytes(), *b"CTPSMALL");
    assert_ne!(Compact::HASH, LAYOUT_HASH);
    assert!(SPEC.contains("`CTPSMALL`"));
}

#[test]
fn every_table_belongs_to_a_struct() {
    let known = |line: &str| {
        STRUCTS
            .iter()
            .any(|(name, ..)| line == format!("## {name}"))
    };
    let last = "## How this may change";
    let headings = SPEC.lines().filter(|line| line.starts_with("## "));
    let unknown: Vec<&str> = headings
        .filter(|line| !known(line) && *line != last)
        .collect();
    assert_eq!(unknown, [] as [&str; 0]);
    let rows: usize = STRUCTS.iter().map(|(name, ..)| table(name).len()).sum();
    assert_eq!(
        rows,
        SPEC.lines().filter(|line| line.starts_with("| 0x")).count()
    );
}

// CTP-01, CTP-37
#[test]
fn tail_fields_match_the_bytes_of_the_word() {
    let whole = Tail {
        kind: 0x11,
        wait_kind: 0x22,
        wake_seen: 0x4433,
        user: [0x55, 0x66, 0x77],
        is_active: true,
    };
    let bytes = whole.to_word().to_le_bytes();
    let mut end = 0x38;
    for (name, offset, size) in table("Slot") {
        let Some(part) = name.strip_prefix("tail.") else {
            continue;
        };
        assert_eq!(offset, end, "no hole before {name}");
        end = offset + size;
        let expected: &[u8] = match part {
            "kind" => &[0x11],
            "wait_kind" => &[0x22],
            "wake_seen" => &[0x33, 0x44],
            "user" => &[0x55, 0x66, 0x77],
            "is_active" => &[1],
            other => panic!("tail.{other} is not a field of Tail"),
        };
        assert_eq!(&bytes[offset - 0x38..end - 0x38], expected, "{name}");
    }
    assert_eq!(end, 0x40, "the end of the tail");
}

/// The fields of cTP v1, from its published text: they never change.
const V1: [(&str, &str, usize, usize); 15] = [
    ("Header", "magic", 0x00, 8),
    ("Header", "version", 0x08, 4),
    ("Header", "max_stations", 0x0C, 4),
    ("Header", "allocated_count", 0x10, 4),
    ("Header", "tracer_sleeping", 0x14, 4),
    ("Station", "probe_id", 0x000, 8),
    ("Station", "birth_ts", 0x008, 8),
    ("Station", "is_dead", 0x010, 1),
    ("Station", "slots", 0x040, 8 * 64),
    ("Slot", "timestamp", 0x00, 8),
    ("Slot", "tid", 0x08, 8),
    ("Slot", "addr", 0x10, 8),
    ("Slot", "seq", 0x18, 8),
    ("Slot", "tail", 0x38, 8),
    ("Slot", "tail.is_active", 0x3F, 1),
];

// AGG-01
#[test]
fn aggregates_follow_the_owner_line_in_the_station() {
    let station = table("Station");
    let of_owner = station.iter().filter(|(_, at, _)| 0x240 <= *at);
    assert_eq!(of_owner.map(|(.., bytes)| bytes).sum::<usize>(), 448);
    let copies = ["waiting_a", "waiting_b", "running_a", "running_b"];
    for (name, at) in copies.iter().zip((0x280..).step_by(96)) {
        assert!(station.contains(&((*name).to_owned(), at, 96)), "{name}");
    }
}

// CTP-01
#[test]
fn v1_words_have_their_frozen_offsets() {
    for (heading, name, offset, bytes) in V1 {
        let row = (name.to_owned(), offset, bytes);
        assert!(table(heading).contains(&row), "{heading}.{name} moved");
    }
    let sizes = [size_of::<Header>(), size_of::<Station>(), size_of::<Slot>()];
    assert_eq!((sizes, SLOTS), ([1024, 1024, 64], 8));
    let aligns = [
        align_of::<Header>(),
        align_of::<Station>(),
        align_of::<Slot>(),
    ];
    assert_eq!(aligns, [256, 256, 64]);
}
