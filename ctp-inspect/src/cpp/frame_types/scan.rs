//! Scans a unit of debug info for the frames of coroutines.

use std::collections::{HashMap, HashSet};

use gimli::{AttributeValue, UnitOffset, UnitRef};
use symbolize::DebugReader;

use super::FrameType;
use crate::types::{declaration_file, declaration_line};

type Unit<'u> = UnitRef<'u, DebugReader<'u>>;
type Die<'u> = gimli::DebuggingInformationEntry<DebugReader<'u>>;

/// Where the promise begins in a frame.
const PROMISE_OFFSET: u64 = 16;
/// How many types of types are followed.
const MAX_HOPS: u32 = 16;
/// The largest promise and the largest number of a suspension point that make sense.
const MAX_PROMISE_BYTES: u64 = 1 << 20;
const MAX_SUSPENSION: u64 = 1 << 20;

/// The structure or function that contains the present entry, with its depth.
#[derive(Default)]
struct Around<'s> {
    frame: Option<(isize, &'s str)>,
    function: Option<(isize, &'s str)>,
}

impl Around<'_> {
    /// Leaves what ends before an entry at this depth.
    fn leave(&mut self, depth: isize) {
        self.frame = self.frame.filter(|(around, _)| *around < depth);
        self.function = self.function.filter(|(around, _)| *around < depth);
    }
}

/// Adds what a unit says about the coroutines with these symbols.
pub fn scan_unit(
    unit: Unit<'_>,
    symbols: &HashSet<&str>,
    known: &mut HashMap<String, FrameType>,
) -> gimli::Result<()> {
    let mut around = Around::default();
    let mut entries = unit.entries();
    while entries.next_entry()? {
        let depth = entries.depth();
        let Some(entry) = entries.current() else {
            continue;
        };
        around.leave(depth);
        match entry.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let name = text(unit, entry, gimli::DW_AT_name);
                let symbol = name.and_then(|name| symbols.get(frame_of(&name)?).copied());
                around.frame = symbol.map(|symbol| (depth, symbol)).or(around.frame);
            }
            gimli::DW_TAG_subprogram => {
                let origin = origin(unit, entry);
                let symbol = symbol_of(unit, entry, origin.as_ref(), symbols);
                if let Some(symbol) = symbol {
                    let frame = known.entry(symbol.to_owned()).or_default();
                    add_declaration(unit, entry, origin.as_ref(), frame);
                }
                around.function = symbol.map(|symbol| (depth, symbol));
            }
            gimli::DW_TAG_member => {
                if let Some((_, symbol)) = around.frame.filter(|(frame, _)| frame + 1 == depth) {
                    add_member(unit, entry, known.entry(symbol.to_owned()).or_default());
                }
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_label => {
                if let Some((_, symbol)) = around.function {
                    add_part(unit, entry, known.entry(symbol.to_owned()).or_default());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The name of the coroutine whose frame a structure with this name is.
fn frame_of(name: &str) -> Option<&str> {
    let mut suffixes = [".Frame", ".frame", ".coro_frame_ty"].into_iter();
    suffixes.find_map(|suffix| name.strip_suffix(suffix))
}

/// Adds a member of a frame.
fn add_member<'u>(unit: Unit<'u>, member: &Die<'u>, frame: &mut FrameType) {
    let offset = number(member, gimli::DW_AT_data_member_location);
    let Some((offset, bytes)) = offset.zip(type_bytes(unit, member)) else {
        return;
    };
    let name = text(unit, member, gimli::DW_AT_name).unwrap_or_default();
    if offset == PROMISE_OFFSET && bytes <= MAX_PROMISE_BYTES {
        frame.promise_bytes = Some(bytes);
    }
    if ["_Coro_resume_index", "__coro_index"].contains(&&*name) && bytes <= 8 {
        frame.index = Some((offset, bytes));
    }
}

/// The entry that declares the function of which this entry is the body or an instance.
fn origin<'u>(unit: Unit<'u>, entry: &Die<'u>) -> Option<Die<'u>> {
    let names = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
    let value = names.into_iter().find_map(|name| entry.attr_value(name))?;
    match value {
        AttributeValue::UnitRef(offset) => unit.entry(offset).ok(),
        _ => None,
    }
}

/// The symbol of a function, if the function is a coroutine.
fn symbol_of<'u, 's>(
    unit: Unit<'u>,
    entry: &Die<'u>,
    origin: Option<&Die<'u>>,
    symbols: &HashSet<&'s str>,
) -> Option<&'s str> {
    let own = text(unit, entry, gimli::DW_AT_linkage_name);
    let name = own.or_else(|| text(unit, origin?, gimli::DW_AT_linkage_name))?;
    symbols.get(&*name).copied()
}

/// Adds where a function is declared. The body is the better place.
fn add_declaration<'u>(
    unit: Unit<'u>,
    entry: &Die<'u>,
    origin: Option<&Die<'u>>,
    frame: &mut FrameType,
) {
    let line = declaration_line(entry);
    let is_body = entry.attr(gimli::DW_AT_declaration).is_none();
    if line == 0 || frame.declared.is_some() && !is_body {
        return;
    }
    let file = declaration_file(unit, entry);
    let file = file.or_else(|| declaration_file(unit, origin?));
    frame.declared = file.map(|file| (file, line)).or(frame.declared.take());
}

/// Adds a variable or a label of a coroutine.
fn add_part<'u>(unit: Unit<'u>, part: &Die<'u>, frame: &mut FrameType) {
    let name = text(unit, part, gimli::DW_AT_name).unwrap_or_default();
    if name == "__promise" && frame.promise_bytes.is_none() {
        frame.promise_bytes = type_bytes(unit, part).filter(|bytes| *bytes <= MAX_PROMISE_BYTES);
    }
    let number = name.strip_prefix("__coro_resume_");
    let number = number.and_then(|number| number.parse::<u64>().ok());
    let Some(number) = number.filter(|number| *number < MAX_SUSPENSION) else {
        return;
    };
    let file = declaration_file(unit, part);
    let place = file.map(|file| (file, declaration_line(part)));
    let place = place.filter(|(_, line)| 0 < *line);
    let same = frame.lines.entry(number + 1).or_insert(place.clone());
    if *same != place {
        *same = None;
    }
}

/// The size of the type of an entry.
fn type_bytes<'u>(unit: Unit<'u>, entry: &Die<'u>) -> Option<u64> {
    let mut next = entry.attr_value(gimli::DW_AT_type)?;
    for _ in 0..MAX_HOPS {
        let AttributeValue::UnitRef(UnitOffset(offset)) = next else {
            return None;
        };
        let of = unit.entry(UnitOffset(offset)).ok()?;
        if let Some(bytes) = number(&of, gimli::DW_AT_byte_size) {
            return Some(bytes);
        }
        next = of.attr_value(gimli::DW_AT_type)?;
    }
    None
}

fn number(entry: &Die<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr(name)?.udata_value()
}

fn text<'u>(unit: Unit<'u>, entry: &Die<'u>, name: gimli::DwAt) -> Option<String> {
    let text = unit.attr_string(entry.attr_value(name)?).ok()?;
    Some(text.to_string_lossy().into_owned())
}
