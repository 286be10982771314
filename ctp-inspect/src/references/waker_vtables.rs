//! [`WakerVtables`]: which words are addresses of vtables of wakers.

use std::ops::Range;

use foldhash::HashMap;

use crate::modules::Module;
use crate::target::Target;

/// Recognizes the vtables of wakers in modules with a runtime.
#[derive(Debug, Default)]
pub struct WakerVtables {
    modules: Vec<Module>,
    /// Whether a word that was checked is the address of a vtable of wakers.
    known: HashMap<u64, bool>,
}

impl WakerVtables {
    /// The vtables of wakers in these modules. `others` are addresses of other structures that begin with functions.
    pub fn of(modules: Vec<Module>, others: impl Iterator<Item = u64>) -> Self {
        WakerVtables {
            modules,
            known: others.map(|other| (other, false)).collect(),
        }
    }

    /// Whether a word is the address of a vtable of wakers: four functions in the data of a module.
    pub fn is_waker_vtable(&mut self, target: &dyn Target, word: u64) -> bool {
        let mut modules = self.modules.iter();
        let Some(module) = modules.find(|module| module.is_data(word)) else {
            return false;
        };
        if let Some(known) = self.known.get(&word) {
            return *known;
        }
        let mut words = [0; 4];
        let is_vtable = word.is_multiple_of(8)
            && target.words(word, &mut words)
            && words.iter().all(|word| module.is_text(*word));
        self.known.insert(word, is_vtable);
        is_vtable
    }

    /// The smallest range that contains the data of all modules.
    pub fn data(&self) -> Range<u64> {
        let data = self.modules.iter().flat_map(|module| &module.data);
        let start = data.clone().map(|range| range.start).min();
        let start = start.unwrap_or_default();
        let end = data.map(|range| range.end).max().unwrap_or_default();
        start..end
    }
}
