//! [`VtableIndex`]: what the modules of a process say about tokio. This does not change while the program
//! runs, unless it loads a library.

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::HashMap;

use crate::modules::{Module, Modules};
use crate::scan::Scan;
use crate::target::Target;
use crate::tokio::vtable::TaskVtable;
use crate::tokio::{version, vtable};

/// Vtables and versions of tokio in the modules of a process.
#[derive(Debug, Default)]
pub struct VtableIndex {
    modules: Modules,
    /// The vtables by their address.
    pub vtables: HashMap<u64, TaskVtable>,
    /// The versions, such as `1.54.1`.
    pub versions: BTreeSet<String>,
    /// The smallest range that contains all vtables.
    pub range: Range<u64>,
    /// The smallest range that contains the data of all modules with vtables.
    pub data: Range<u64>,
    /// Whether a word that was checked is the address of a vtable of wakers.
    waker_vtables: HashMap<u64, bool>,
    /// The modules with vtables of tasks. They contain the vtables of the wakers too.
    runtimes: Vec<Module>,
}

impl VtableIndex {
    /// Searches the modules, if they differ from those of the last call.
    pub fn refresh(&mut self, target: &dyn Target, scan: &mut Scan) {
        let modules = Modules::of(target.mappings());
        if modules == self.modules {
            return;
        }
        *self = VtableIndex::default();
        let mut vtables = Vec::new();
        for module in modules.iter() {
            let found = vtable::find(target, scan, module);
            if !found.is_empty() {
                self.versions.extend(version::find(target, scan, module));
                self.runtimes.push(module.clone());
            }
            vtables.extend(found);
        }
        vtables.sort_by_key(|vtable| vtable.address);
        self.range = vtable::range_of(&vtables);
        self.data = data_of(&self.runtimes);
        let by_address = vtables.into_iter().map(|vtable| (vtable.address, vtable));
        self.vtables = by_address.collect();
        self.modules = modules;
    }

    /// Whether a word is the address of a vtable of wakers: four functions in the data of a module.
    pub fn is_waker_vtable(&mut self, target: &dyn Target, word: u64) -> bool {
        let mut modules = self.runtimes.iter();
        let Some(module) = modules.find(|module| module.is_data(word)) else {
            return false;
        };
        if let Some(known) = self.waker_vtables.get(&word) {
            return *known;
        }
        let mut words = [0; 4];
        let is_vtable = word.is_multiple_of(8)
            && !self.vtables.contains_key(&word)
            && target.words(word, &mut words)
            && words.iter().all(|word| module.is_text(*word));
        self.waker_vtables.insert(word, is_vtable);
        is_vtable
    }
}

/// The smallest range that contains the data of these modules.
fn data_of(modules: &[Module]) -> Range<u64> {
    let data = modules.iter().flat_map(|module| &module.data);
    let start = data.clone().map(|range| range.start).min();
    let start = start.unwrap_or_default();
    let end = data.map(|range| range.end).max().unwrap_or_default();
    start..end
}
