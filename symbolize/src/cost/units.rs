//! Charges the tables made from all units together: abbreviations, and the headers of line programs.

use std::collections::HashSet;

use gimli::{AbbreviationsCacheStrategy, Reader as _, Section as _, UnitHeader, UnitRef};

use super::{DIRECTORY, Dwarf, UNIT};
use crate::file::image::Account;
use crate::sections::Reader;

const FILE: u64 = 160;
/// The charge for each byte of a table of abbreviations.
const ABBREVIATION_BYTE: u64 = 16;
/// A longer header of a line program is not parsed: parsing takes memory of a hundred times its length.
const MAX_LINE_HEADER_BYTES: u64 = 256 << 10;

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

/// The length up to the end of the table, or up to an unreadable entry.
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

/// Whether the header of the unit's line program is short enough to be parsed. The unit itself is not
/// parsed for this, because that would parse the header too.
pub(super) fn is_line_header_short(sections: &Dwarf<'_>, header: &UnitHeader<Reader<'_>>) -> bool {
    let offset = line_program_of(sections, header);
    let length = offset.and_then(|offset| line_header_bytes(sections, offset).ok());
    length.is_none_or(|length| length <= MAX_LINE_HEADER_BYTES)
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

/// The length that the header of a line program states for itself, as in DWARF 5, section 6.2.4, and
/// in earlier versions.
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

/// Each unit keeps a copy of the line program's header, even if units share a line program.
pub(super) fn charge_line_header(unit: UnitRef<'_, Reader<'_>>, account: &Account) -> Option<()> {
    let header = unit
        .line_program
        .as_ref()
        .map(|line_program| line_program.header());
    let cost = header.map_or(0, |header| {
        let files = header.file_names().len() as u64;
        let directories = header.include_directories().len() as u64;
        files * FILE + directories * DIRECTORY
    });
    account.take(cost).then_some(())
}
