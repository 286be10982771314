//! Finds the function at an address in the debug info of a module.

use gimli::{EntriesTreeNode, RangeIter};
use symbolize::DebugReader;

use super::Entry;
use super::module::{Die, Module, Unit};

/// Functions nested deeper than this in a unit are not found.
const MAX_DEPTH: u32 = 128;

impl Module {
    /// The debug entry of the function that contains the code at an address. `stated` is the address in the file's own
    /// tables. The result is cached. A damaged unit is skipped.
    pub(super) fn function_at(&self, stated: u64) -> Option<Entry> {
        if let Some(known) = self.functions.borrow().get(&stated) {
            return *known;
        }
        let function = (0..self.unit_count()).find_map(|number| {
            let found = self.with_unit(number, |_, unit| function_in(unit, stated).ok().flatten());
            let offset = found.flatten()?;
            Some(Entry {
                unit: number,
                offset,
            })
        });
        self.functions.borrow_mut().insert(stated, function);
        function
    }
}

/// Finds the function with the code at an address. Returns the offset of its entry in the unit.
fn function_in(unit: Unit<'_>, stated: u64) -> gimli::Result<Option<usize>> {
    if !any_contains(unit.unit_ranges()?, stated)? {
        return Ok(None);
    }
    let mut tree = unit.entries_tree(None)?;
    function_below(unit, tree.root()?, stated, 0)
}

fn function_below<'u>(
    unit: Unit<'u>,
    node: EntriesTreeNode<'_, '_, DebugReader<'u>>,
    stated: u64,
    depth: u32,
) -> gimli::Result<Option<usize>> {
    let mut children = node.children();
    while let Some(child) = children.next()? {
        let is_function = child.entry().tag() == gimli::DW_TAG_subprogram;
        if is_function && code_contains(unit, child.entry(), stated)? {
            return Ok(Some(child.entry().offset().0));
        }
        if !is_function && depth < MAX_DEPTH {
            let found = function_below(unit, child, stated, depth + 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// Whether the code of an entry contains this address.
pub(super) fn code_contains<'u>(
    unit: Unit<'u>,
    entry: &Die<'u>,
    stated: u64,
) -> gimli::Result<bool> {
    any_contains(unit.die_ranges(entry)?, stated)
}

fn any_contains(mut ranges: RangeIter<DebugReader<'_>>, stated: u64) -> gimli::Result<bool> {
    while let Some(range) = ranges.next()? {
        if (range.begin..range.end).contains(&stated) {
            return Ok(true);
        }
    }
    Ok(false)
}
