//! Finds the function at an address in the debug info of a module.

use gimli::EntriesTreeNode;
use symbolize::DebugReader;

use super::Entry;
use super::module::{Die, Module, Unit};

/// The maximum depth of entries in a unit at which functions are searched for.
const MAX_DEPTH: u32 = 128;

impl Module {
    /// The debug entry of the function that contains the code at an address. The result is cached.
    pub(super) fn function_at(&self, address: u64) -> Option<Entry> {
        if let Some(known) = self.functions.borrow().get(&address) {
            return *known;
        }
        let function = (0..self.unit_count()).find_map(|number| {
            let found = self.with_unit(number, |_, unit| function_in(unit, address).ok());
            let offset = found???;
            Some(Entry {
                unit: number,
                offset,
            })
        });
        self.functions.borrow_mut().insert(address, function);
        function
    }
}

/// The offset in the unit of the entry of the function that contains the address.
fn function_in(unit: Unit<'_>, address: u64) -> gimli::Result<Option<usize>> {
    let mut ranges = unit.unit_ranges()?;
    while let Some(range) = ranges.next()? {
        if (range.begin..range.end).contains(&address) {
            let mut tree = unit.entries_tree(None)?;
            return function_below(unit, tree.root()?, address, 0);
        }
    }
    Ok(None)
}

fn function_below<'u>(
    unit: Unit<'u>,
    node: EntriesTreeNode<'_, '_, DebugReader<'u>>,
    address: u64,
    depth: u32,
) -> gimli::Result<Option<usize>> {
    let mut children = node.children();
    while let Some(child) = children.next()? {
        let is_function = child.entry().tag() == gimli::DW_TAG_subprogram;
        if is_function && contains(unit, child.entry(), address)? {
            return Ok(Some(child.entry().offset().0));
        }
        if !is_function && depth < MAX_DEPTH {
            let found = function_below(unit, child, address, depth + 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// Whether the code of an entry includes this address.
pub(super) fn contains<'u>(unit: Unit<'u>, entry: &Die<'u>, address: u64) -> gimli::Result<bool> {
    let mut ranges = unit.die_ranges(entry)?;
    while let Some(range) = ranges.next()? {
        if (range.begin..range.end).contains(&address) {
            return Ok(true);
        }
    }
    Ok(false)
}
