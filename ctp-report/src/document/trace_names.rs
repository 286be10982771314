//! Finds the names in a trace, within the memory that reading the trace has left.

use std::path::Path;

use symbolize::SearchPaths;

use crate::config::Config;
use crate::load::{Input, Model};
use crate::names::Names;
use crate::names::call_stacks::CallStacks;

/// Finds the names of the places in a trace. Without `--max-module`, this takes at most the memory
/// that the trace has left.
pub fn resolve(config: &Config, input: &Input, model: &Model) -> Names {
    Names::resolve(model, &search_paths(config, input), &config.skip)
}

/// Finds the functions on the call stacks of inspected threads. The reasons for missing names are added
/// to `names`.
pub fn call_stacks(config: &Config, input: &Input, model: &Model, names: &mut Names) -> CallStacks {
    let mut stacks = call_stacks_below(names.root(), config, input, model);
    names.add_misses(std::mem::take(&mut stacks.misses));
    stacks
}

/// Like [`call_stacks`], but the reasons for missing names stay in the result. The files of the program are shown
/// relative to the directory `root`, if there is one.
pub fn call_stacks_below(
    root: Option<&Path>,
    config: &Config,
    input: &Input,
    model: &Model,
) -> CallStacks {
    let mut stacks = CallStacks::resolve(model, &search_paths(config, input));
    if let Some(root) = root {
        stacks.show_below(root);
    }
    stacks
}

fn search_paths(config: &Config, input: &Input) -> SearchPaths {
    let search_paths = config.search_paths.clone();
    if config.max_module.is_some() {
        return search_paths;
    }
    let max_bytes = search_paths.max_bytes().min(input.allowance().left());
    search_paths.with_max_bytes(max_bytes)
}
