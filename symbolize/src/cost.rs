//! The memory that a lookup in debug info takes, charged before the lookup.
//!
//! A few bytes of debug info can expand enormously: a byte of a line program to a row, a shared file
//! name to a copy in each unit, a list of ranges to as many ranges in each function that refers to the
//! list. The tables made from a unit stay until the end, so each is charged to the budget first. A
//! unit that does not fit is refused: then only symbol tables give names there.

mod lookups;
mod units;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use gimli::{Reader as _, Section as _, UnitRef};

use crate::addr::Svma;
use crate::file::image::{Account, ImageFile};
use crate::sections::Reader;
use lookups::{charge_functions, charge_lines};
use units::{charge_line_header, is_line_header_short};

pub(crate) use units::admit_abbreviations;

type Dwarf<'i> = gimli::Dwarf<Reader<'i>>;

/// The units by address, and which of them are charged and may be used.
pub(crate) struct Costs {
    account: Account,
    ranges: Vec<UnitRange>,
    admitted: RefCell<HashMap<usize, bool>>,
}

struct UnitRange {
    begin: u64,
    end: u64,
    /// The largest end among this range and all before it: where a search to the left may stop.
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

// Bytes of memory that each takes, with the spare capacity of growing vectors.
const UNIT: u64 = 1024;
const UNIT_RANGE: u64 = 128;
const DIRECTORY: u64 = 64;
const ROW: u64 = 48;
/// The charge for each byte of the index of addresses.
const ARANGES_BYTE: u64 = 8;

/// The maximum number of units that cover the same address. If there are more, none of them is used.
const MAX_UNITS_AT_ONCE: usize = 64;

impl Costs {
    /// Charges the tables of all units together, including those of a supplementary file. `None` if there
    /// is not enough memory.
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
            let unit = header
                .debug_info_offset()
                .map_or(0, |debug_info_offset| debug_info_offset.0);
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

    /// Whether all units with this address may be used. `functions` finds the unit that describes the
    /// functions there, which may be in another file.
    pub(crate) fn admit<'i: 'u, 'u>(
        &self,
        address: Svma,
        sections: &Dwarf<'i>,
        functions: impl Fn() -> Option<UnitRef<'u, Reader<'i>>>,
    ) -> bool {
        let units = self.units_at(address);
        if MAX_UNITS_AT_ONCE < units.len() {
            self.account.refuse();
            return false;
        }
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
        units.iter().all(&mut is_admitted)
    }

    /// The units that contain an address, at most one more than the limit.
    fn units_at(&self, Svma(address): Svma) -> HashSet<usize> {
        let after = self.ranges.partition_point(|range| range.begin <= address);
        let before = self.ranges[..after].iter().rev();
        let reaching = before.take_while(|unit_range| address < unit_range.reach);
        let mut units = HashSet::new();
        for range in reaching.filter(|reaching| address < reaching.end) {
            units.insert(range.unit);
            if MAX_UNITS_AT_ONCE < units.len() {
                break;
            }
        }
        units
    }

    /// Charges the tables of a unit on first use.
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
            Some(_) => functions().map_or(Some(()), |unit_ref| {
                charge_functions(unit_ref, &self.account)
            }),
        }
    }
}

/// The ranges of a unit, or those of the line program if the unit states none.
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
    ranges.sort_unstable_by_key(|range| range.begin);
    let mut reach = 0;
    for range in &mut ranges {
        reach = reach.max(range.end);
        range.reach = reach;
    }
    ranges
}
