//! [`FutureVtables`]: the vtables for `dyn Future` in the modules of a process.

use std::ops::Range;

use foldhash::HashMap;

use crate::awaits::AwaitReader;
use crate::modules::{Module, Modules};
use crate::scan::Scan;
use crate::target::Target;

/// The beginning of two messages of panics in every module that has bodies of async functions or blocks.
const MESSAGE: &[u8] = b"`async fn` resumed after ";
/// Maximum size of a future in bytes.
const MAX_SIZE: u64 = 1 << 28;
const MAX_ALIGNMENT: u64 = 1 << 16;

/// The vtables for `dyn Future` in a process.
#[derive(Debug, Default)]
pub struct FutureVtables {
    modules: Modules,
    vtables: HashMap<u64, FutureVtable>,
    range: Range<u64>,
    /// Paths of modules with async functions of which no vtables are known.
    unknown: Vec<String>,
}

/// What a vtable says about the futures of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FutureVtable {
    /// Size of the future in bytes.
    pub size: u64,
    /// The address of the future is a multiple of this.
    pub alignment: u64,
}

impl FutureVtables {
    /// Reads the debug info of the modules that have async functions, if the modules differ from those of the last
    /// call.
    pub fn refresh(&mut self, target: &dyn Target, awaits: &AwaitReader, scan: &mut Scan) {
        let modules = Modules::of(target.mappings());
        if modules == self.modules {
            return;
        }
        *self = FutureVtables::default();
        for module in modules.iter() {
            if has_bodies(target, scan, module) {
                self.add_module(target, awaits, module);
            }
        }
        let first = self.vtables.keys().min().copied().unwrap_or_default();
        let last = self.vtables.keys().max();
        self.range = first..last.map_or(0, |last| last.saturating_add(1));
        self.modules = modules;
    }

    /// Whether no vtables are known.
    pub fn is_empty(&self) -> bool {
        self.vtables.is_empty()
    }

    /// The smallest range that contains all vtables.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// The vtable at an address.
    pub fn at(&self, address: u64) -> Option<FutureVtable> {
        self.vtables.get(&address).copied()
    }

    /// Sentences about modules in which no boxed futures are found.
    pub fn gaps(&self) -> Vec<String> {
        let gaps = self.unknown.iter().map(|path| {
            format!("{path} has no debug info of vtables, so that its boxed futures are not found")
        });
        gaps.collect()
    }

    fn add_module(&mut self, target: &dyn Target, awaits: &AwaitReader, module: &Module) {
        let Some(data) = module.data.first() else {
            return;
        };
        let Some(vtables) = awaits.future_vtables(target, data.start) else {
            let path = String::from_utf8_lossy(&module.path);
            self.unknown.push(path.into_owned());
            return;
        };
        for address in vtables {
            // Values without a size need no memory, so there is nothing to find.
            let vtable = read(target, address).filter(|vtable| 0 < vtable.size);
            self.vtables.extend(vtable.map(|vtable| (address, vtable)));
        }
    }
}

/// Reads a vtable: the function that drops a future, the size, the alignment and the function that polls it.
fn read(target: &dyn Target, address: u64) -> Option<FutureVtable> {
    let mut words = [0; 4];
    let is_read = target.words(address, &mut words);
    let [_, size, alignment, _] = words;
    let is_vtable = is_read
        && size <= MAX_SIZE
        && alignment.is_power_of_two()
        && alignment <= MAX_ALIGNMENT
        && size.is_multiple_of(alignment);
    is_vtable.then_some(FutureVtable { size, alignment })
}

fn has_bodies(target: &dyn Target, scan: &mut Scan, module: &Module) -> bool {
    let mut is_found = false;
    scan.each_piece(target, &module.data, |piece| {
        is_found = is_found || has_message(piece.words.as_flattened());
    });
    is_found
}

fn has_message(bytes: &[u8]) -> bool {
    let starts = bytes.iter().enumerate();
    let mut starts = starts.filter(|(_, byte)| **byte == MESSAGE[0]);
    starts.any(|(start, _)| bytes[start..].starts_with(MESSAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_with_async_functions_have_a_message() {
        assert!(has_message(
            b"of zero`async fn` resumed after completion`async fn`"
        ));
        assert!(!has_message(b"`async fn` resumed afte"));
        assert!(!has_message(
            b"`async` and async fn resumed after completion"
        ));
    }
}
