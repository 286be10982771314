//! Where the variables of a function are declared.

use std::collections::BTreeSet;

use super::module::{Die, Unit, name_of};
use super::read::line;

/// How many entries of a function are visited.
const MOST_ENTRIES: usize = 65_536;

/// The lines that declare variables with this name in a function.
pub(super) fn lines_of<'u>(unit: Unit<'u>, function: &Die<'u>, name: &str) -> BTreeSet<u32> {
    let mut lines = BTreeSet::new();
    // An error ends the search.
    let _ = collect(unit, function, name, &mut lines);
    lines
}

fn collect<'u>(
    unit: Unit<'u>,
    function: &Die<'u>,
    name: &str,
    lines: &mut BTreeSet<u32>,
) -> gimli::Result<()> {
    let mut entries = unit.entries_at_offset(function.offset())?;
    entries.next_entry()?;
    let outer = entries.depth();
    for _ in 0..MOST_ENTRIES {
        if !entries.next_entry()? || entries.depth() <= outer {
            break;
        }
        let Some(entry) = entries.current() else {
            continue;
        };
        let is_variable = entry.tag() == gimli::DW_TAG_variable;
        if is_variable && name_of(unit, entry).is_some_and(|found| found == name) {
            lines.insert(line(entry));
        }
    }
    Ok(())
}
