//! The functions at the addresses of call stacks, by process.

use std::collections::BTreeMap;
use std::path::Path;

use ctp_trace::record::ProcessId;
use symbolize::{Avma, Lookup, Mapping, SearchPaths, Symbolizer};

use super::misses::Misses;
use super::source::paths;
use super::{in_module, label, mapping};
use crate::load::Model;
use crate::names::Label;

/// A function on a call stack, and whether the compiler inlined the function there.
pub type CallFrame = (Label, bool);

/// The functions at the addresses of call stacks.
#[derive(Debug, Default)]
pub struct CallStacks {
    /// By process, address, and whether the address is the innermost, which is looked up differently.
    known: BTreeMap<(ProcessId, u64, bool), Vec<CallFrame>>,
    /// The reasons for missing names.
    pub misses: Misses,
}

impl CallStacks {
    /// Looks up the call stacks of all threads and coroutines, in files at the given `search_paths`.
    pub fn resolve(model: &Model, search_paths: &SearchPaths) -> Self {
        let mut stacks = CallStacks::default();
        let mut symbolizer = Symbolizer::with_search_paths(Vec::new(), search_paths.clone());
        for (process, all) in addresses(model) {
            let modules = model.modules.iter();
            let modules: Vec<_> = modules
                .filter(|module| module.process == process)
                .map(mapping)
                .collect();
            symbolizer.set_mappings(modules.clone());
            for addresses in all {
                stacks.add(&mut symbolizer, (process, &modules), addresses);
            }
        }
        stacks.misses.note_refused(search_paths);
        stacks
    }

    /// Makes the files of the program relative to the same directory as those of other places.
    pub fn show_below(&mut self, root: &Path) {
        let labels = self.known.values_mut().flatten();
        paths::show_below(root, labels.map(|(label, _)| label));
    }

    /// Looks up the addresses of a call stack that are not known yet.
    fn add(
        &mut self,
        symbolizer: &mut Symbolizer,
        (process, modules): (ProcessId, &[Mapping]),
        addresses: &[u64],
    ) {
        for (at, address) in addresses.iter().enumerate() {
            let key = (process, *address, at == 0);
            if self.known.contains_key(&key) {
                continue;
            }
            let frames = match symbolizer.resolve(Avma(*address), lookup(at)) {
                Ok(found) => with_inlined(label::frames(found)),
                Err(miss) => {
                    self.misses.note(miss);
                    let module = in_module(modules, *address);
                    vec![(nameless(module, *address), false)]
                }
            };
            self.known.insert(key, frames);
        }
    }

    /// The functions of a call stack, innermost first.
    pub fn frames(&self, process: ProcessId, addresses: &[u64]) -> Vec<CallFrame> {
        let found = addresses
            .iter()
            .enumerate()
            .filter_map(|(at, address)| self.known.get(&(process, *address, at == 0)));
        found.flatten().cloned().collect()
    }
}

/// All call stacks by process.
fn addresses(model: &Model) -> BTreeMap<ProcessId, Vec<&[u64]>> {
    let mut all: BTreeMap<ProcessId, Vec<&[u64]>> = BTreeMap::new();
    for (process, inspected) in model.trace_model.inspected_threads() {
        let threads = inspected.threads.values();
        let threads = threads.map(|known| &known.latest.addresses[..]);
        all.entry(process).or_default().extend(threads);
    }
    for (coroutine, stack) in model.trace_model.coroutine_stacks() {
        let of_process = all.entry(coroutine.process).or_default();
        of_process.push(&stack.addresses);
    }
    all
}

/// The label of an address without a name.
fn nameless(module: Option<String>, address: u64) -> Label {
    Label {
        module: module.or_else(|| Some(format!("{address:#x}"))),
        ..Label::default()
    }
}

/// Marks all functions at an address as inlined, except the last, which contains the others.
fn with_inlined(labels: Vec<Label>) -> Vec<CallFrame> {
    let last = labels.len().saturating_sub(1);
    let labels = labels.into_iter().enumerate();
    labels.map(|(at, label)| (label, at < last)).collect()
}

/// The innermost address is that of an instruction, the others are return addresses.
fn lookup(at: usize) -> Lookup {
    if at == 0 {
        Lookup::Exact
    } else {
        Lookup::ReturnAddress
    }
}
