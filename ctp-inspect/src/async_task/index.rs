//! [`VtableIndex`]: the vtables and the versions of async-task in the modules of a process. The modules are searched
//! again only when the program has loaded or unloaded a library.

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::HashMap;

use crate::crate_version;
use crate::modules::Modules;
use crate::references::waker_vtables::WakerVtables;
use crate::scan::Scan;
use crate::target::Target;

use super::vtable::{self, TaskVtable};

/// Vtables and versions of async-task in the modules of a process.
#[derive(Debug, Default)]
pub struct VtableIndex {
    modules: Modules,
    /// The vtables by their address.
    pub vtables: HashMap<u64, TaskVtable>,
    /// The versions, such as `4.7.1`.
    pub versions: BTreeSet<String>,
    /// The vtables of wakers, in the modules with vtables of tasks.
    pub wakers: WakerVtables,
    /// The smallest range that contains the data of all modules with vtables.
    pub data: Range<u64>,
}

impl VtableIndex {
    /// Searches the modules of the process, if they differ from those of the last call.
    pub fn refresh(&mut self, target: &dyn Target, scan: &mut Scan) {
        let modules = Modules::of(target.mappings());
        if modules == self.modules {
            return;
        }
        *self = VtableIndex::default();
        let mut runtimes = Vec::new();
        for module in modules.iter() {
            let found = vtable::find(target, scan, module);
            if !found.is_empty() {
                self.versions
                    .extend(crate_version::find(target, scan, module, "async-task"));
                runtimes.push(module.clone());
            }
            let by_address = found.into_iter().map(|vtable| (vtable.address, vtable));
            self.vtables.extend(by_address);
        }
        self.wakers = WakerVtables::of(runtimes, self.vtables.keys().copied());
        self.data = self.wakers.data();
        self.modules = modules;
    }
}
