//! A module: its debug info, with an index of what is needed to find types.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

use gimli::{AttributeValue, DebuggingInformationEntry, UnitOffset, UnitRef};
use symbolize::{Avma, DebugInfo, DebugReader, Mapping, SearchPaths, Svma};

use super::index::Index;
use super::layout::Type;
use super::name::without_generics;
use super::read::EntryReader;
use super::variable::{Declaration, declarations};
use super::{Entry, TypeRef};

pub(super) type Unit<'u> = UnitRef<'u, DebugReader<'u>>;
pub(super) type Die<'u> = DebuggingInformationEntry<DebugReader<'u>>;
pub(super) type Value<'u> = AttributeValue<DebugReader<'u>>;

/// The variable that the compiler adds for a future that is awaited.
const AWAITED: &str = "__awaitee";

/// The types of a module.
pub(super) struct Module {
    path: Vec<u8>,
    debug_info: DebugInfo,
    index: Index,
    /// The bodies of async functions and blocks, by their paths.
    bodies: OnceCell<HashMap<String, Vec<Entry>>>,
    /// The functions at addresses that were looked up.
    pub(super) functions: RefCell<HashMap<u64, Option<Entry>>>,
}

impl Module {
    /// Reads the debug info of the file of a mapping. The error is a sentence that says why this failed.
    pub(super) fn open(
        mapping: &Mapping,
        shown: &[u8],
        search_paths: &SearchPaths,
    ) -> Result<Self, String> {
        let path = String::from_utf8_lossy(shown);
        match DebugInfo::open(mapping, search_paths) {
            Err(miss) => Err(miss.to_string()),
            Ok(None) if !search_paths.refused().is_empty() => Err(format!(
                "the debug info of {path} does not fit into the memory for debug info"
            )),
            Ok(None) => Err(format!(
                "{path} has no debug info: build with debug = 2 to see where each task waits"
            )),
            Ok(Some(debug_info)) => Ok(Self {
                path: shown.to_owned(),
                index: Index::of(&debug_info),
                bodies: OnceCell::new(),
                functions: RefCell::default(),
                debug_info,
            }),
        }
    }

    pub(super) fn stated(&self, address: Avma, mapping: &Mapping) -> Option<u64> {
        let Svma(address) = self.debug_info.svma(address, mapping).ok()?;
        Some(address)
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// Whether there are types of tasks at all, which limited debug info lacks.
    pub(super) fn has_task_types(&self) -> bool {
        !self.index.tasks.is_empty()
    }

    /// The types of the tasks that the function at this address polls.
    pub(super) fn task_types(&self, address: u64) -> Vec<Entry> {
        let names = self.index.polls_at(address).iter();
        names
            .filter_map(|name| self.index.task_with(name))
            .collect()
    }

    /// The type of this vtable; `None` if equal vtables of several types share the address.
    pub(super) fn type_of_vtable(&self, address: u64) -> Option<Entry> {
        let mut types = self
            .index
            .vtables_at(address)
            .iter()
            .filter_map(|vtable| self.containing(*vtable));
        let first = types.next()?;
        let name = self.layout(TypeRef::new(0, first))?.name;
        types
            .all(|other| {
                self.layout(TypeRef::new(0, other))
                    .is_some_and(|of| of.name == name)
            })
            .then_some(first)
    }

    /// The type for which a type of vtables was made.
    fn containing(&self, vtable: Entry) -> Option<Entry> {
        let value = self.with_entry(vtable, |_, _, entry| {
            Target::of(&entry.attr_value(gimli::DW_AT_containing_type)?)
        });
        self.resolve(vtable, value??)
    }

    pub(super) fn layout(&self, of: TypeRef) -> Option<Type> {
        let reader = EntryReader { module: self, of };
        self.with_entry(of.entry, |_, unit, entry| reader.read(unit, &entry))?
    }

    pub(super) fn is_future(&self, path: &str) -> bool {
        self.index.is_future(path)
    }

    pub(super) fn does_unwind(&self) -> Option<bool> {
        self.index.does_unwind()
    }

    /// The line that declares a variable of a body, by the path of the body's type; 0 if unknown.
    pub(super) fn variable_line(&self, of: &str, variable: &str) -> u32 {
        let declarations = self.declarations(of, variable).into_iter();
        let lines: BTreeSet<u32> = declarations.map(|(_, found)| found.line).collect();
        match lines.first() {
            Some(line) if lines.len() == 1 => *line,
            _ => 0,
        }
    }

    /// File and line at which a body awaits a future of this type, by the path of the body's type. In
    /// the expansion of a macro, that is where the macro is called. `None` if unknown or ambiguous.
    pub(super) fn awaited_place(&self, of: &str, awaited: TypeRef) -> Option<(String, u32)> {
        let name = self.layout(awaited)?.name;
        let declarations = self.declarations(of, AWAITED).into_iter();
        let places = declarations.filter_map(|(body, found)| {
            let of = self.resolve(body, found.of?)?;
            let layout = self.layout(TypeRef::new(awaited.module, of))?;
            (layout.name == name).then_some((found.file, found.line))
        });
        let places: BTreeSet<_> = places.collect();
        let is_certain = places.len() == 1;
        places.into_iter().next().filter(|_| is_certain)
    }

    /// The declarations of a variable, each with the body that has it.
    fn declarations(&self, of: &str, variable: &str) -> Vec<(Entry, Declaration)> {
        let bodies = self.bodies.get_or_init(|| self.bodies_by_path());
        let entries = bodies
            .get(&of.replace("_env#", "#"))
            .map_or(&[][..], Vec::as_slice);
        let found = entries.iter().filter_map(|&body| {
            let found =
                self.with_entry(body, |_, unit, entry| declarations(unit, &entry, variable))?;
            Some(found.into_iter().map(move |declared| (body, declared)))
        });
        found.flatten().collect()
    }

    fn bodies_by_path(&self) -> HashMap<String, Vec<Entry>> {
        let mut bodies: HashMap<_, Vec<_>> = HashMap::new();
        for &body in &self.index.bodies {
            let name = self
                .with_entry(body, |_, unit, entry| name_of(unit, &entry))
                .flatten();
            let name = name.unwrap_or_default();
            let path = format!("{}::{}", self.scope(body), without_generics(&name));
            bodies.entry(path).or_default().push(body);
        }
        bodies
    }

    /// The path of the namespaces around an entry.
    pub(super) fn scope(&self, of: Entry) -> String {
        let namespaces = self.index.namespaces_around(of);
        let names = namespaces.into_iter().filter_map(|offset| {
            let namespace = Entry { offset, ..of };
            self.with_entry(namespace, |_, unit, entry| name_of(unit, &entry))?
        });
        names.collect::<Vec<_>>().join("::")
    }

    /// The entry that another entry refers to.
    pub(super) fn resolve(&self, from: Entry, to: Target) -> Option<Entry> {
        match to {
            Target::InUnit(offset) => Some(Entry { offset, ..from }),
            Target::InPart(offset) => self.index.entry_at(from.unit, offset),
        }
    }

    pub(super) fn unit_count(&self) -> usize {
        self.debug_info.unit_count()
    }

    pub(super) fn with_unit<T>(
        &self,
        number: usize,
        read: impl for<'u> FnOnce(usize, Unit<'u>) -> T,
    ) -> Option<T> {
        self.debug_info.with_unit(number, read)
    }

    pub(super) fn with_entry<T>(
        &self,
        of: Entry,
        read: impl for<'u> FnOnce(usize, Unit<'u>, Die<'u>) -> T,
    ) -> Option<T> {
        self.debug_info.with_unit(of.unit, |part, unit| {
            let entry = unit.entry(UnitOffset(of.offset)).ok()?;
            Some(read(part, unit, entry))
        })?
    }
}

/// Where a reference leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An offset in the same unit.
    InUnit(usize),
    /// An offset in the same part of the debug info.
    InPart(usize),
}

impl Target {
    pub(super) fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Self::InUnit(offset.0)),
            AttributeValue::DebugInfoRef(offset) => Some(Self::InPart(offset.0)),
            _ => None,
        }
    }
}

/// The name in the entry itself, not in the entry of which it is an instance.
pub(super) fn name_of<'u>(unit: Unit<'u>, entry: &Die<'u>) -> Option<String> {
    let name = unit
        .attr_string(entry.attr_value(gimli::DW_AT_name)?)
        .ok()?;
    Some(name.to_string_lossy().into_owned())
}
