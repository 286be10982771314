//! What a lookup in debug info would cost, counted before it is made.
//!
//! A few bytes of debug info can stand for very much: a byte of a line program for a row, a file name
//! that all units use for a copy in each, a list of ranges for as many ranges in each function that
//! refers to it. The tables that are made of a unit stay until the end, so each is charged to the
//! budget first. What does not fit is refused: then only symbol tables give names there.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use gimli::{AbbreviationsCacheStrategy, Reader as _, Section as _, UnitHeader, UnitRef};

use crate::addr::Svma;
use crate::file::image::{Account, ImageFile};
use crate::sections::Reader;

type Dwarf<'i> = gimli::Dwarf<Reader<'i>>;

/// The units by address, and which of them may be looked into.
pub(crate) struct Costs {
    account: Account,
    ranges: Vec<UnitRange>,
    admitted: RefCell<HashMap<usize, bool>>,
}

struct UnitRange {
    begin: u64,
    end: u64,
    /// The largest end up to here: where a search to the left may stop.
    reach: u64,
    /// Where the unit lies in its section.
    unit: usize,
}

impl UnitRange {
    fn new(begin: u64, end: u64, unit: usize) -> Option<Self> {
        (begin < end).then_some(Self {
            begin,
            end,
            reach: end,
            unit,
        })
    }
}

// What each takes, in bytes, with spare capacity of vectors that grow.
const UNIT: u64 = 1024;
const UNIT_RANGE: u64 = 128;
const FILE: u64 = 160;
const DIRECTORY: u64 = 64;
const ROW: u64 = 48;
const FUNCTION: u64 = 128;
const INLINED: u64 = 96;
const RANGE: u64 = 64;
/// For each byte of a table of abbreviations.
const ABBREVIATION_BYTE: u64 = 16;
/// For each byte of the index of addresses.
const ARANGES_BYTE: u64 = 8;

/// A longer header of a line program is not parsed: to do that takes a hundred times its length.
const MOST_LINE_HEADER_BYTES: u64 = 256 << 10;
/// Calls that are inlined into each other are read by recursion.
const DEEPEST_INLINING: usize = 128;
/// Units that cover one address.
const MOST_UNITS_AT_ONCE: usize = 64;
/// Charged at once.
const PORTION: u64 = 1 << 20;

impl Costs {
    /// Charges what is made of all units at once, also of a file that others refer to. `None` if there is not so much memory.
    pub(crate) fn of_units(sections: &mut Dwarf<'_>, file: &ImageFile) -> Option<Self> {
        let account = file.account();
        admit_abbreviations(sections, &account)?;
        let aranges = sections.debug_aranges.reader().len() as u64;
        account.take(aranges * ARANGES_BYTE).then_some(())?;
        let mut ranges = Vec::new();
        let mut headers = sections.units();
        while let Ok(Some(header)) = headers.next() {
            account.take(UNIT).then_some(())?;
            if !is_line_header_short(sections, &header) {
                account.refuse();
                return None;
            }
            let unit = header.debug_info_offset().map_or(0, |it| it.0);
            if let Ok(parsed) = sections.unit(header) {
                let parsed = parsed.unit_ref(sections);
                charge_line_header(parsed, &account)?;
                collect_ranges(parsed, unit, &account, &mut ranges)?;
            }
        }
        Some(Self {
            account,
            ranges: with_reach(ranges),
            admitted: RefCell::default(),
        })
    }

    /// Whether all units with this address may be looked into. `functions` finds the unit that tells of
    /// functions there, which may be in another file.
    pub(crate) fn admit<'i: 'u, 'u>(
        &self,
        address: Svma,
        sections: &Dwarf<'i>,
        functions: impl Fn() -> Option<UnitRef<'u, Reader<'i>>>,
    ) -> bool {
        let units = self.units_at(address);
        let mut admitted = self.admitted.borrow_mut();
        let mut is_admitted = |unit: &usize| {
            *admitted.entry(*unit).or_insert_with(|| {
                let cost = self.charge_unit(*unit, sections, &functions);
                if cost.is_none() {
                    self.account.refuse();
                }
                cost.is_some()
            })
        };
        units.len() <= MOST_UNITS_AT_ONCE && units.iter().all(&mut is_admitted)
    }

    /// Not more of them than show that there are too many.
    fn units_at(&self, Svma(address): Svma) -> HashSet<usize> {
        let after = self.ranges.partition_point(|it| it.begin <= address);
        let before = self.ranges[..after].iter().rev();
        let reaching = before.take_while(|it| address < it.reach);
        let mut units = HashSet::new();
        for range in reaching.filter(|it| address < it.end) {
            units.insert(range.unit);
            if MOST_UNITS_AT_ONCE < units.len() {
                break;
            }
        }
        units
    }

    /// Charges what is made of one unit when it is first looked into.
    fn charge_unit<'i: 'u, 'u>(
        &self,
        unit: usize,
        sections: &Dwarf<'i>,
        functions: &impl Fn() -> Option<UnitRef<'u, Reader<'i>>>,
    ) -> Option<()> {
        let offset = gimli::DebugInfoOffset(unit);
        let header = sections.debug_info.header_from_offset(offset).ok()?;
        let parsed = sections.unit(header).ok()?;
        let parsed = parsed.unit_ref(sections);
        charge_lines(parsed, &self.account)?;
        match parsed.dwo_id {
            None => charge_functions(parsed, &self.account),
            Some(_) => functions().map_or(Some(()), |it| charge_functions(it, &self.account)),
        }
    }
}

/// Charges each table of abbreviations once, and parses each once.
pub(crate) fn admit_abbreviations(sections: &mut Dwarf<'_>, account: &Account) -> Option<()> {
    let mut seen = HashSet::new();
    let mut headers = sections.units();
    while let Ok(Some(header)) = headers.next() {
        let offset = header.debug_abbrev_offset().0;
        if seen.insert(offset) {
            let mut table = *sections.debug_abbrev.reader();
            let bytes = table.skip(offset).map_or(0, |()| length_of_table(table));
            let cost = UNIT + bytes as u64 * ABBREVIATION_BYTE;
            account.take(cost).then_some(())?;
        }
    }
    sections.populate_abbreviations_cache(AbbreviationsCacheStrategy::All);
    Some(())
}

/// Up to its end, or to where it cannot be read.
fn length_of_table(table: Reader<'_>) -> usize {
    let mut rest = table;
    // An error ends the table.
    let _ = skip_abbreviations(&mut rest);
    table.len() - rest.len()
}

fn skip_abbreviations(table: &mut Reader<'_>) -> gimli::Result<()> {
    while table.read_uleb128()? != 0 {
        table.read_uleb128()?;
        table.read_u8()?;
        loop {
            let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                table.read_sleb128()?;
            }
            if (name, form) == (0, 0) {
                break;
            }
        }
    }
    Ok(())
}

/// Looked up without parsing the unit, which would parse that header too.
fn is_line_header_short(sections: &Dwarf<'_>, header: &UnitHeader<Reader<'_>>) -> bool {
    let offset = line_program_of(sections, header);
    let length = offset.and_then(|offset| line_header_bytes(sections, offset).ok());
    length.is_none_or(|length| length <= MOST_LINE_HEADER_BYTES)
}

fn line_program_of(sections: &Dwarf<'_>, header: &UnitHeader<Reader<'_>>) -> Option<usize> {
    let abbreviations = sections.abbreviations(header).ok()?;
    let mut entries = header.entries_raw(&abbreviations, None).ok()?;
    let abbreviation = entries.read_abbreviation().ok()??;
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec).ok()?;
        if let gimli::AttributeValue::DebugLineRef(offset) = attribute.value() {
            return Some(offset.0);
        }
    }
    None
}

/// Laid out as in DWARF 5, section 6.2.4, and in the versions before.
fn line_header_bytes(sections: &Dwarf<'_>, offset: usize) -> gimli::Result<u64> {
    let mut program = *sections.debug_line.reader();
    program.skip(offset)?;
    let (_, format) = program.read_initial_length()?;
    let version = program.read_u16()?;
    if 5 <= version {
        program.skip(2)?;
    }
    Ok(program.read_length(format)? as u64)
}

/// The header of the line program is kept with each unit, also where units share one.
fn charge_line_header(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
    let header = unit.line_program.as_ref().map(|it| it.header());
    let cost = header.map_or(0, |header| {
        let files = header.file_names().len() as u64;
        let directories = header.include_directories().len() as u64;
        files * FILE + directories * DIRECTORY
    });
    account.take(cost).then_some(())
}

/// The ranges of a unit, or, where it states none, those of its line program.
fn collect_ranges(
    unit: UnitRef<'_, Reader<'_>>,
    offset: usize,
    account: &Account,
    ranges: &mut Vec<UnitRange>,
) -> Option<()> {
    let before = ranges.len();
    if let Ok(mut stated) = unit.unit_ranges() {
        while let Ok(Some(range)) = stated.next() {
            account.take(UNIT_RANGE).then_some(())?;
            ranges.extend(UnitRange::new(range.begin, range.end, offset));
        }
    }
    let program = unit.line_program.clone();
    let Some(program) = program.filter(|_| ranges.len() == before) else {
        return Some(());
    };
    let (mut rows, mut begin) = (program.rows(), None);
    while let Ok(Some((_, row))) = rows.next_row() {
        account.take(ROW).then_some(())?;
        let from = *begin.get_or_insert(row.address());
        if row.end_sequence() {
            account.take(UNIT_RANGE).then_some(())?;
            ranges.extend(UnitRange::new(from, row.address(), offset));
            begin = None;
        }
    }
    Some(())
}

fn with_reach(mut ranges: Vec<UnitRange>) -> Vec<UnitRange> {
    ranges.sort_unstable_by_key(|it| it.begin);
    let mut reach = 0;
    for range in &mut ranges {
        reach = reach.max(range.end);
        range.reach = reach;
    }
    ranges
}

/// Rows, and the path of each file, which is a text of its own.
fn charge_lines(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
    let Some(program) = unit.line_program.clone() else {
        return Some(());
    };
    let length = |value| unit.attr_string(value).map(|it| it.len() as u64);
    let own = unit.comp_dir.map_or(0, |it| it.len() as u64);
    let header = program.header();
    for file in header.file_names() {
        let directory = file.directory(header).map_or(Ok(0), length);
        // Behind a path that cannot be read no other is read.
        let (Ok(directory), Ok(name)) = (directory, length(file.path_name())) else {
            break;
        };
        let path = own + directory + name;
        account.take(DIRECTORY + 2 * path).then_some(())?;
    }
    let mut portion = Portion(account, 0);
    let mut rows = program.rows();
    while let Ok(Some(_)) = rows.next_row() {
        portion.take(ROW)?;
    }
    portion.rest()
}

/// Functions and inlined calls with their ranges. `None` also if calls are nested too deeply.
fn charge_functions(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
    let mut portion = Portion(account, 0);
    let mut depths = Vec::new();
    let Ok(mut entries) = unit.entries_raw(None) else {
        return Some(());
    };
    while !entries.is_empty() {
        let depth = entries.next_depth();
        let abbreviation = match entries.read_abbreviation() {
            Ok(Some(abbreviation)) => abbreviation,
            Ok(None) => continue,
            Err(_) => break,
        };
        let cost = match abbreviation.tag() {
            gimli::DW_TAG_subprogram => FUNCTION,
            gimli::DW_TAG_inlined_subroutine => INLINED,
            _ => 0,
        };
        portion.take(cost)?;
        if cost == INLINED {
            depths.truncate(depths.partition_point(|it| *it < depth));
            depths.push(depth);
        }
        if DEEPEST_INLINING < depths.len() {
            return None;
        }
        for spec in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*spec) else {
                return portion.rest();
            };
            if 0 < cost && attribute.name() == gimli::DW_AT_ranges {
                charge_ranges(unit, attribute.value(), &mut portion)?;
            }
        }
    }
    portion.rest()
}

fn charge_ranges<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    value: gimli::AttributeValue<Reader<'i>>,
    portion: &mut Portion<'_>,
) -> Option<()> {
    let offset = unit.attr_ranges_offset(value).ok().flatten();
    let Some(mut ranges) = offset.and_then(|offset| unit.ranges(offset).ok()) else {
        return Some(());
    };
    while let Ok(Some(_)) = ranges.next() {
        portion.take(RANGE)?;
    }
    Some(())
}

/// Small costs, charged when they have become a large one.
struct Portion<'c>(&'c Account, u64);

impl Portion<'_> {
    fn take(&mut self, bytes: u64) -> Option<()> {
        self.1 += bytes;
        if self.1 < PORTION {
            return Some(());
        }
        self.rest()
    }

    fn rest(&mut self) -> Option<()> {
        self.0.take(std::mem::take(&mut self.1)).then_some(())
    }
}
