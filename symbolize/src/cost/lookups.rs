//! Charges the budget for what addr2line allocates at the first lookup in a unit: line rows, functions, inlined calls.
//!
//! Each function returns `None` if the unit must not be read: the budget has no room left, or inlined calls are nested
//! too deeply.

use gimli::{Abbreviation, EntriesRaw, Reader as _, UnitRef};

use super::ROW;
use crate::file::image::Account;
use crate::sections::Reader;

// Bytes of memory that each takes.
const FILE_PATH: u64 = 64;
const FUNCTION: u64 = 128;
const INLINED: u64 = 96;
const RANGE: u64 = 64;
/// The maximum depth of inlined calls inside each other: addr2line recurses once per level.
const MAX_INLINING_DEPTH: usize = 128;
/// Bytes that are charged in one step.
const BATCH_BYTES: u64 = 1 << 20;

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
        // addr2line stops here, too.
        let (Ok(directory), Ok(name)) = (directory, length(file.path_name())) else {
            break;
        };
        let path = unit_directory + directory + name;
        // A growing string may reserve twice its length.
        account.take(FILE_PATH + 2 * path).then_some(())?;
    }
    let mut batch = ChargeBatch::new(account);
    let mut rows = program.rows();
    while let Ok(Some(_)) = rows.next_row() {
        batch.add(ROW)?;
    }
    batch.flush()
}

/// Charges functions and inlined calls with their ranges.
pub(super) fn charge_functions(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
    let mut batch = ChargeBatch::new(account);
    let mut inlined = InlinedCalls::default();
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
        let cost = cost_of_entry(abbreviation.tag());
        batch.add(cost)?;
        inlined.enter(depth, cost == INLINED)?;
        let is_read = if cost == 0 {
            entries.skip_attributes(abbreviation.attributes()).is_ok()
        } else {
            charge_attributes(unit, &mut entries, abbreviation, &mut batch)?
        };
        if !is_read {
            break;
        }
    }
    batch.flush()
}

fn cost_of_entry(tag: gimli::DwTag) -> u64 {
    match tag {
        gimli::DW_TAG_subprogram => FUNCTION,
        gimli::DW_TAG_inlined_subroutine => INLINED,
        _ => 0,
    }
}

/// The depths of the inlined calls around the present entry.
#[derive(Default)]
struct InlinedCalls(Vec<isize>);

impl InlinedCalls {
    /// Goes on to an entry at this depth. `None` if too many inlined calls contain each other.
    fn enter(&mut self, depth: isize, is_inlined: bool) -> Option<()> {
        let around = self.0.partition_point(|outer| *outer < depth);
        self.0.truncate(around);
        self.0.extend(is_inlined.then_some(depth));
        (self.0.len() <= MAX_INLINING_DEPTH).then_some(())
    }
}

/// Charges the address ranges among the attributes of an entry. Returns whether all attributes could be read.
fn charge_attributes<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    entries: &mut EntriesRaw<'_, Reader<'i>>,
    abbreviation: &Abbreviation,
    batch: &mut ChargeBatch<'_>,
) -> Option<bool> {
    for spec in abbreviation.attributes() {
        let Ok(attribute) = entries.read_attribute(*spec) else {
            return Some(false);
        };
        if attribute.name() == gimli::DW_AT_ranges {
            charge_ranges(unit, attribute.value(), batch)?;
        }
    }
    Some(true)
}

fn charge_ranges<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    value: gimli::AttributeValue<Reader<'i>>,
    batch: &mut ChargeBatch<'_>,
) -> Option<()> {
    let offset = unit.attr_ranges_offset(value).ok().flatten();
    let Some(mut ranges) = offset.and_then(|offset| unit.ranges(offset).ok()) else {
        return Some(());
    };
    while let Ok(Some(_)) = ranges.next() {
        batch.add(RANGE)?;
    }
    Some(())
}

/// Collects small costs, and charges the sum once it is large enough.
struct ChargeBatch<'c> {
    account: &'c Account,
    pending_bytes: u64,
}

impl<'c> ChargeBatch<'c> {
    fn new(account: &'c Account) -> Self {
        ChargeBatch {
            account,
            pending_bytes: 0,
        }
    }

    fn add(&mut self, bytes: u64) -> Option<()> {
        self.pending_bytes += bytes;
        if self.pending_bytes < BATCH_BYTES {
            return Some(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Option<()> {
        let bytes = std::mem::take(&mut self.pending_bytes);
        self.account.take(bytes).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-21
    #[test]
    fn depth_counts_calls_that_contain_each_other() {
        let mut calls = InlinedCalls::default();
        for function in 0..1000 {
            assert_eq!(calls.enter(1, false), Some(()), "{function}");
            assert_eq!(calls.enter(2, true), Some(()), "{function}");
        }
        for depth in 3..MAX_INLINING_DEPTH as isize + 2 {
            assert_eq!(calls.enter(depth, true), Some(()));
        }
        assert_eq!(calls.enter(MAX_INLINING_DEPTH as isize + 2, true), None);
    }
}
