//! [`Index`]: where in the debug info functions, vtables and namespaces are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use symbolize::DebugInfo;

use super::Entry;
use super::name::future_path;
use super::scan::scan_unit;

/// Where in the debug info of a module the starting points of a search are.
#[derive(Default)]
pub(super) struct Index {
    pub(super) units: Vec<UnitIndex>,
    /// The types of the vtables at each address.
    pub(super) vtables: HashMap<u64, Vec<Entry>>,
    /// The addresses of the vtables for `dyn Future`.
    pub(super) future_vtables: BTreeSet<u64>,
    /// The static variables with a name, by their addresses.
    pub(super) statics: BTreeMap<u64, Entry>,
    /// The names of the types of tasks that the functions at each address poll.
    pub(super) polls: HashMap<u64, Vec<String>>,
    /// The types of tasks, by their names without path: `Cell<T, S>` of tokio, and `RawTask<F, T, S, M>` of async-task.
    pub(super) tasks: HashMap<String, Entry>,
    /// The bodies of async functions and blocks.
    pub(super) bodies: Vec<Entry>,
    /// The paths of the types that implement `Future`.
    pub(super) futures: HashSet<String>,
    /// Whether a panic unwinds.
    pub(super) does_unwind: Option<bool>,
}

/// What is known of a unit.
#[derive(Default)]
pub(super) struct UnitIndex {
    /// The part of the debug info with the unit.
    pub(super) part: usize,
    /// Where the unit begins in its part.
    pub(super) start: usize,
    /// The namespaces, sorted by where they begin.
    pub(super) namespaces: Vec<Namespace>,
}

/// A namespace.
#[derive(Clone, Copy)]
pub(super) struct Namespace {
    /// Where the entry of the namespace is.
    pub(super) start: usize,
    /// Where the first entry after the namespace is.
    pub(super) end: usize,
    /// The index of the enclosing namespace; `u32::MAX` if there is none.
    pub(super) parent: u32,
}

/// The maximum depth of nested namespaces.
const MAX_DEPTH: usize = 64;

impl Index {
    /// Reads all units.
    pub(super) fn of(debug_info: &DebugInfo) -> Self {
        let mut index = Self::default();
        for number in 0..debug_info.unit_count() {
            let scanned = debug_info.with_unit(number, |part, unit| {
                scan_unit(number, part, unit, &mut index);
            });
            debug_assert!(scanned.is_some(), "the unit was counted");
        }
        index
    }

    pub(super) fn vtables_at(&self, address: u64) -> &[Entry] {
        self.vtables.get(&address).map_or(&[], Vec::as_slice)
    }

    pub(super) fn polls_at(&self, address: u64) -> &[String] {
        self.polls.get(&address).map_or(&[], Vec::as_slice)
    }

    pub(super) fn task_with(&self, name: &str) -> Option<Entry> {
        self.tasks.get(name).copied()
    }

    pub(super) fn is_future(&self, path: &str) -> bool {
        self.futures.contains(path)
    }

    pub(super) fn does_unwind(&self) -> Option<bool> {
        self.does_unwind
    }

    /// The entry at an offset in the part with this unit.
    pub(super) fn entry_at(&self, unit: usize, offset: usize) -> Option<Entry> {
        let part = self.units.get(unit)?.part;
        let after = self
            .units
            .partition_point(|unit| (unit.part, unit.start) <= (part, offset));
        let unit = after.checked_sub(1)?;
        let found = &self.units[unit];
        let offset = offset.checked_sub(found.start)?;
        (found.part == part).then_some(Entry { unit, offset })
    }

    /// The namespaces around an entry, outermost first.
    pub(super) fn namespaces_around(&self, of: Entry) -> Vec<usize> {
        let namespaces = &self.units[of.unit].namespaces;
        let after = namespaces.partition_point(|namespace| namespace.start < of.offset);
        let mut around = Vec::new();
        let mut next = after.checked_sub(1);
        while let Some(namespace) = next.and_then(|index| namespaces.get(index)) {
            if of.offset < namespace.end {
                around.push(namespace.start);
            }
            if around.len() == MAX_DEPTH {
                break;
            }
            next = usize::try_from(namespace.parent).ok();
        }
        around.reverse();
        around
    }

    /// Notes that the type of a function `poll` implements `Future`, if the mangled name says so.
    pub(super) fn add_future(&mut self, linkage_name: &str) {
        self.futures.extend(future_path(linkage_name));
    }
}
