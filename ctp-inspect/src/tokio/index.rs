//! [`VtableIndex`]: the vtables and the versions of tokio in the modules of a process. The modules are searched
//! again only when the program has loaded or unloaded a library.

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::HashMap;

use crate::crate_version;
use crate::modules::Modules;
use crate::references::waker_vtables::WakerVtables;
use crate::scan::Scan;
use crate::target::Target;
use crate::tokio::vtable::{self, TaskVtable};

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
    /// The vtables of wakers, in the modules with vtables of tasks.
    pub wakers: WakerVtables,
}

impl VtableIndex {
    /// Searches the modules of the process, if they differ from those of the last call.
    pub fn refresh(&mut self, target: &dyn Target, scan: &mut Scan) {
        let modules = Modules::of(target.mappings());
        if modules == self.modules {
            return;
        }
        *self = VtableIndex::default();
        let (mut vtables, mut runtimes) = (Vec::new(), Vec::new());
        for module in modules.iter() {
            let found = vtable::find(target, scan, module);
            if !found.is_empty() {
                self.versions
                    .extend(crate_version::find(target, scan, module, "tokio"));
                runtimes.push(module.clone());
            }
            vtables.extend(found);
        }
        vtables.sort_by_key(|vtable| vtable.address);
        self.range = vtable::range_of(&vtables);
        let addresses = vtables.iter().map(|vtable| vtable.address);
        self.wakers = WakerVtables::of(runtimes, addresses);
        self.data = self.wakers.data();
        let by_address = vtables.into_iter().map(|vtable| (vtable.address, vtable));
        self.vtables = by_address.collect();
        self.modules = modules;
    }
}
