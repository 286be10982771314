//! Charges the budget for the tables that the first lookup in a unit makes: line rows, functions, inlined calls.
//!
//! Each function returns `None` if the budget has no room left.

use gimli::{Abbreviation, EntriesRaw, Reader as _, UnitRef};

use super::{DIRECTORY, ROW};
use crate::file::image::Account;
use crate::sections::Reader;

const FUNCTION: u64 = 128;
const INLINED: u64 = 96;
const RANGE: u64 = 64;
/// The maximum depth of inlined calls inside each other: addr2line reads them by recursion.
const MAX_INLINING_DEPTH: usize = 128;
/// Bytes that are charged in one step.
const PORTION: u64 = 1 << 20;

/// Charges the rows of the line table, and the path of each file, which is kept as a separate string.
pub(super) fn charge_lines(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
    let Some(program) = unit.line_program.clone() else {
        return Some(());
    };
    let length = |value| unit.attr_string(value).map(|text| text.len() as u64);
    let unit_directory = unit.comp_dir.map_or(0, |text| text.len() as u64);
    let header = program.header();
    for file in header.file_names() {
        let directory = file.directory(header).map_or(Ok(0), length);
        // The parser stops at a path that it cannot read.
        let (Ok(directory), Ok(name)) = (directory, length(file.path_name())) else {
            break;
        };
        let path = unit_directory + directory + name;
        account.take(DIRECTORY + 2 * path).then_some(())?;
    }
    let mut portion = Portion(account, 0);
    let mut rows = program.rows();
    while let Ok(Some(_)) = rows.next_row() {
        portion.take(ROW)?;
    }
    portion.rest()
}

/// Charges functions and inlined calls with their ranges. `None` also if calls are nested too deeply.
pub(super) fn charge_functions(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
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
            depths.truncate(depths.partition_point(|outer| *outer < depth));
            depths.push(depth);
        }
        if MAX_INLINING_DEPTH < depths.len() {
            return None;
        }
        let is_read = if cost == 0 {
            entries.skip_attributes(abbreviation.attributes()).is_ok()
        } else {
            charge_attributes(unit, &mut entries, abbreviation, &mut portion)?
        };
        if !is_read {
            break;
        }
    }
    portion.rest()
}

/// Charges the address ranges among the attributes of an entry. Returns whether all attributes could be read.
fn charge_attributes<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    entries: &mut EntriesRaw<'_, Reader<'i>>,
    abbreviation: &Abbreviation,
    portion: &mut Portion<'_>,
) -> Option<bool> {
    for spec in abbreviation.attributes() {
        let Ok(attribute) = entries.read_attribute(*spec) else {
            return Some(false);
        };
        if attribute.name() == gimli::DW_AT_ranges {
            charge_ranges(unit, attribute.value(), portion)?;
        }
    }
    Some(true)
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

/// Collects small costs, and charges the sum once it is large enough.
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
