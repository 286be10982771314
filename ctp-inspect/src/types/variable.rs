//! Where the variables of a function are declared.

use super::module::{Die, Target, Unit, name_of};
use super::read::{file, line};

/// The maximum number of entries of a function that are visited.
const MAX_ENTRIES: usize = 65_536;

/// The declaration of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) of: Option<Target>,
}

/// The declarations of variables with this name in a function.
pub(super) fn declarations<'u>(unit: Unit<'u>, function: &Die<'u>, name: &str) -> Vec<Declaration> {
    let mut found = Vec::new();
    // An error ends the search.
    let _ = collect(unit, function, name, &mut found);
    found
}

fn collect<'u>(
    unit: Unit<'u>,
    function: &Die<'u>,
    name: &str,
    found: &mut Vec<Declaration>,
) -> gimli::Result<()> {
    let mut entries = unit.entries_at_offset(function.offset())?;
    entries.next_entry()?;
    let outer = entries.depth();
    for _ in 0..MAX_ENTRIES {
        if !entries.next_entry()? || entries.depth() <= outer {
            break;
        }
        let Some(entry) = entries.current() else {
            continue;
        };
        let is_variable = entry.tag() == gimli::DW_TAG_variable;
        if is_variable && name_of(unit, entry).is_some_and(|found| found == name) {
            let of = entry.attr_value(gimli::DW_AT_type);
            found.push(Declaration {
                file: file(unit, entry).unwrap_or_default(),
                line: line(entry),
                of: of.and_then(|value| Target::of(&value)),
            });
        }
    }
    Ok(())
}
