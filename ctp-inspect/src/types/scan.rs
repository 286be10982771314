//! Scans the debug info of a compilation unit once, and fills the [`Index`] by which types are found: functions that
//! poll, vtables, task cells and namespaces.

use gimli::{AttributeValue, DwTag, EntriesRaw};
use symbolize::DebugReader;

use super::Entry;
use super::index::{Index, Namespace, UnitIndex};
use super::module::{Target, Unit, Value};
use super::name::generics;

/// The end of the name of a vtable for `dyn Future`. The compiler leaves out the type of the result.
const FUTURE_VTABLE: &[u8] = b" as core::future::future::Future>::{vtable}";

/// The attributes of an entry that the index needs.
#[derive(Default)]
struct EntryAttributes<'u> {
    offset: usize,
    name: Option<&'u [u8]>,
    linkage_name: Option<&'u [u8]>,
    low_pc: Option<u64>,
    location: Option<u64>,
    /// The entry of the type.
    of_type: Option<Target>,
    /// The entry that declares this function.
    origin: Option<usize>,
    is_declaration: bool,
}

/// Adds a unit to the index. Damaged data ends the unit.
pub(super) fn scan_unit(number: usize, part: usize, unit: Unit<'_>, index: &mut Index) {
    let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
    index.units.push(UnitIndex {
        part,
        start,
        namespaces: Vec::new(),
    });
    let mut open = Vec::new();
    // An error ends the unit.
    let _ = scan_entries(number, unit, index, &mut open);
    let end = start + unit.header.length_including_self();
    close_namespaces(&mut index.units[number], &mut open, isize::MIN, end);
}

/// Namespaces that are not closed yet, with their depths.
type Open = Vec<(isize, usize)>;

fn scan_entries(
    number: usize,
    unit: Unit<'_>,
    index: &mut Index,
    open: &mut Open,
) -> gimli::Result<()> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let (offset, depth) = (entries.next_offset().0, entries.next_depth());
        let Some(abbreviation) = entries.read_abbreviation()? else {
            continue;
        };
        close_namespaces(&mut index.units[number], open, depth, offset);
        let (tag, attributes) = (abbreviation.tag(), abbreviation.attributes());
        if tag == gimli::DW_TAG_namespace {
            open_namespace(&mut index.units[number], open, depth, offset);
        }
        if is_needed(tag) {
            let found = read_attributes(unit, offset, attributes, &mut entries)?;
            add(number, unit, tag, found, index);
        } else {
            entries.skip_attributes(attributes)?;
        }
    }
    Ok(())
}

fn is_needed(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_compile_unit
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_subprogram
            | gimli::DW_TAG_variable
    )
}

fn open_namespace(unit: &mut UnitIndex, open: &mut Open, depth: isize, start: usize) {
    let parent = open.last().map_or(u32::MAX, |(_, index)| *index as u32);
    open.push((depth, unit.namespaces.len()));
    unit.namespaces.push(Namespace {
        start,
        end: start,
        parent,
    });
}

/// Closes the namespaces that end before an entry at this depth and offset.
fn close_namespaces(unit: &mut UnitIndex, open: &mut Open, depth: isize, offset: usize) {
    while let Some((_, index)) = open.pop_if(|(opened, _)| depth <= *opened) {
        unit.namespaces[index].end = offset;
    }
}

fn read_attributes<'u>(
    unit: Unit<'u>,
    offset: usize,
    attributes: &[gimli::AttributeSpecification],
    entries: &mut EntriesRaw<'_, DebugReader<'u>>,
) -> gimli::Result<EntryAttributes<'u>> {
    let mut found = EntryAttributes {
        offset,
        ..EntryAttributes::default()
    };
    for spec in attributes {
        let attribute = entries.read_attribute(*spec)?;
        let value = attribute.value();
        match attribute.name() {
            gimli::DW_AT_name => found.name = text(unit, value),
            gimli::DW_AT_linkage_name => found.linkage_name = text(unit, value),
            gimli::DW_AT_low_pc => found.low_pc = unit.attr_address(value)?,
            gimli::DW_AT_location => found.location = fixed_address(unit, value),
            gimli::DW_AT_type => found.of_type = Target::of(&value),
            gimli::DW_AT_declaration => found.is_declaration = true,
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                found.origin = in_unit(&value);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn in_unit(value: &Value<'_>) -> Option<usize> {
    match Target::of(value)? {
        Target::InUnit(offset) => Some(offset),
        Target::InPart(_) => None,
    }
}

fn text<'u>(unit: Unit<'u>, value: Value<'u>) -> Option<&'u [u8]> {
    unit.attr_string(value).ok().map(|text| text.slice())
}

/// The address of a variable with a fixed address.
fn fixed_address<'u>(unit: Unit<'u>, value: Value<'u>) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = value else {
        return None;
    };
    let mut operations = expression.operations(unit.encoding());
    match operations.next().ok()?? {
        gimli::Operation::Address { address } => Some(address),
        gimli::Operation::AddressIndex { index } => unit.address(index).ok(),
        _ => None,
    }
}

fn add(number: usize, unit: Unit<'_>, tag: DwTag, found: EntryAttributes<'_>, index: &mut Index) {
    match tag {
        gimli::DW_TAG_compile_unit => add_panic_runtime(&found, index),
        gimli::DW_TAG_variable => add_variable(number, &found, index),
        gimli::DW_TAG_structure_type => add_task_type(number, &found, index),
        _ => add_function(number, unit, &found, index),
    }
}

/// Notes whether panics unwind or abort: the standard library has a crate for each.
fn add_panic_runtime(found: &EntryAttributes<'_>, index: &mut Index) {
    let name = String::from_utf8_lossy(found.name.unwrap_or_default());
    if name.contains("library/panic_unwind/") {
        index.does_unwind = Some(true);
    } else if name.contains("library/panic_abort/") {
        index.does_unwind = Some(false);
    }
}

/// Adds a vtable, or a static variable.
fn add_variable(number: usize, found: &EntryAttributes<'_>, index: &mut Index) {
    let (Some(name), Some(address)) = (found.name, found.location) else {
        return;
    };
    if name.ends_with(b"{vtable}") {
        if name.ends_with(FUTURE_VTABLE) {
            index.future_vtables.insert(address);
        }
        add_vtable(number, found, address, index);
    } else {
        let entry = Entry {
            unit: number,
            offset: found.offset,
        };
        index.statics.insert(address, entry);
    }
}

fn add_vtable(number: usize, found: &EntryAttributes<'_>, address: u64, index: &mut Index) {
    let of = match found.of_type {
        Some(Target::InUnit(offset)) => Some(Entry {
            unit: number,
            offset,
        }),
        Some(Target::InPart(offset)) => index.entry_at(number, offset),
        None => None,
    };
    index.vtables.entry(address).or_default().extend(of);
}

/// Adds a type `Cell<T, S>`, in which tokio keeps a task, or a type `RawTask<F, T, S, M>` of async-task. Skips
/// declarations: an optimised unit only declares the types of functions that were inlined from other units.
fn add_task_type(number: usize, found: &EntryAttributes<'_>, index: &mut Index) {
    let is_task = |name: &&[u8]| name.starts_with(b"Cell<") || name.starts_with(b"RawTask<");
    let name = found.name.filter(is_task);
    let Some(name) = name.filter(|_| !found.is_declaration) else {
        return;
    };
    let Ok(name) = std::str::from_utf8(name) else {
        return;
    };
    let entry = Entry {
        unit: number,
        offset: found.offset,
    };
    if generics(name).is_some_and(|text| text.contains(", ")) {
        index.tasks.entry(name.to_owned()).or_insert(entry);
    }
}

fn add_function(number: usize, unit: Unit<'_>, found: &EntryAttributes<'_>, index: &mut Index) {
    if found.name.is_some_and(|name| name.starts_with(b"{async_")) {
        index.bodies.push(Entry {
            unit: number,
            offset: found.offset,
        });
    }
    let origin = found.origin.filter(|_| found.name.is_none());
    let declared = origin.and_then(|offset| names_at(unit, offset));
    let (name, linkage_name) = declared.unwrap_or((found.name, found.linkage_name));
    let is_needed = |name: &&[u8]| name.starts_with(b"poll") || name.starts_with(b"run<");
    let Some(name) = name.filter(is_needed) else {
        return;
    };
    let (name, linkage_name) = (
        String::from_utf8_lossy(name),
        String::from_utf8_lossy(linkage_name.unwrap_or_default()),
    );
    index.add_future(&linkage_name);
    let (Some(address), Some(task)) = (found.low_pc, polled_task(&name, &linkage_name)) else {
        return;
    };
    let polls = index.polls.entry(address).or_default();
    if !polls.contains(&task) {
        polls.push(task);
    }
}

/// The name of the type of task that a function polls: `Cell<T, S>` for the function `poll<T, S>` of tokio, and
/// `RawTask<F, T, S, M>` for `run<F, T, S, M>` of async-task.
fn polled_task(name: &str, linkage_name: &str) -> Option<String> {
    let parameters = generics(name)?;
    if name.starts_with("poll") {
        return Some(format!("Cell<{parameters}>"));
    }
    let is_of_async_task =
        linkage_name.contains("10async_task3raw") && linkage_name.contains("RawTask");
    is_of_async_task.then(|| format!("RawTask<{parameters}>"))
}

type Names<'u> = (Option<&'u [u8]>, Option<&'u [u8]>);

/// The names of the function that an entry refers to.
fn names_at<'u>(unit: Unit<'u>, offset: usize) -> Option<Names<'u>> {
    let entry = unit.entry(gimli::UnitOffset(offset)).ok()?;
    let value = |name| text(unit, entry.attr_value(name)?);
    Some((value(gimli::DW_AT_name), value(gimli::DW_AT_linkage_name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_are_only_declared_are_passed_over() {
        let mut index = Index::default();
        let mut add = |unit, offset, is_declaration| {
            let found = EntryAttributes {
                offset,
                name: Some(b"Cell<app::F, app::S>"),
                is_declaration,
                ..EntryAttributes::default()
            };
            add_task_type(unit, &found, &mut index);
        };
        add(1, 10, true);
        add(2, 20, false);
        add(3, 30, true);
        let expected = Entry {
            unit: 2,
            offset: 20,
        };
        assert_eq!(index.task_with("Cell<app::F, app::S>"), Some(expected));
    }

    #[test]
    fn functions_say_which_tasks_they_poll() {
        let legacy = "_ZN10async_task3raw28RawTask$LT$F$C$T$C$S$C$M$GT$3run17h018f338d09c06cf0E";
        let v0 = "_RNvMs0_NtCs5_10async_task3rawINtB5_7RawTaskNtCs6_3app1FuNtB8_1SuE3run";
        let task = Some("RawTask<app::F, (), app::S, ()>".to_owned());
        assert_eq!(polled_task("run<app::F, (), app::S, ()>", legacy), task);
        assert_eq!(polled_task("run<app::F, (), app::S, ()>", v0), task);
        assert_eq!(
            polled_task("run<app::F>", "_ZN3app3run17h018f338d09c06cf0E"),
            None
        );
        let cell = Some("Cell<app::F, app::S>".to_owned());
        assert_eq!(polled_task("poll<app::F, app::S>", "_ZN5tokio4pollE"), cell);
    }
}
