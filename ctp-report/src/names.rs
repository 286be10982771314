//! Finds names for places: from the trace, and from the file of the program if available.

pub mod branches;
pub mod call_stacks;
pub mod chains;
mod code_place;
pub mod displayed;
pub mod duplicates;
pub mod label;
mod misses;
pub mod runtime_parts;
pub mod source;
pub mod user_code;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ctp_trace::record::{Chain, Module, Place, ProcessId, Site, SiteId};
use symbolize::{Avma, FileOffset, Lookup, Mapping, SearchPaths, SourceLine, Symbolizer};

use crate::config::ignore::Ignore;
use crate::load::Model;
use crate::names::branches::{RegisteredLeaf, WaitBranch};
use crate::names::chains::{AllFunctions, AwaitChain};
use crate::names::label::{at_line, in_module, of_frames, of_function, plain, tidy};
use crate::names::misses::Misses;
use crate::names::runtime_parts::RuntimePart;
use crate::names::source::{Sources, paths};
use crate::names::user_code::{UserCode, is_of_library};

pub use code_place::CodePlace;
pub use label::Label;

/// The labels of all places of a trace.
#[derive(Debug, Default)]
pub struct Names {
    labels: BTreeMap<SiteId, Label>,
    awaits: BTreeMap<SiteId, AwaitChain>,
    leaves: BTreeMap<SiteId, Label>,
    branches: BTreeMap<SiteId, Vec<WaitBranch>>,
    runtime_parts: BTreeMap<SiteId, RuntimePart>,
    frameless: BTreeSet<SiteId>,
    unchained: BTreeSet<SiteId>,
    misses: Misses,
    sources: Sources,
    /// The directory to which the paths of places are relative.
    root: Option<PathBuf>,
    user: UserCode,
    /// The names of async bodies in the debug info, by the names that the program gives these
    /// bodies.
    bodies: BTreeMap<String, String>,
}

impl Names {
    /// Looks up all places of the trace, in files at the given `search_paths`. Functions that match `skip` do
    /// not count as code of the user.
    pub fn resolve(model: &Model, search_paths: &SearchPaths, skip: &Ignore) -> Self {
        let mut names = Names {
            sources: Sources {
                search_paths: search_paths.clone(),
                recorded_unix_ns: model.start.started_unix_ns,
                ..Sources::default()
            },
            ..Names::default()
        };
        let mut user = UserCode::new(skip.clone());
        let lasts = model.last_branches();
        let mut symbolizer = Symbolizer::with_search_paths(Vec::new(), search_paths.clone());
        let mut modules: BTreeMap<ProcessId, Vec<Mapping>> = BTreeMap::new();
        for module in &model.modules {
            let of_process = modules.entry(module.process).or_default();
            of_process.push(mapping(module));
        }
        let mut sites: BTreeMap<ProcessId, Vec<&Site>> = BTreeMap::new();
        for site in model.sites.values() {
            sites.entry(site.process).or_default().push(site);
        }
        for (process, sites) in sites {
            let modules = modules.remove(&process).unwrap_or_default();
            symbolizer.set_mappings(modules.clone());
            names.resolve_process(&mut symbolizer, &modules, &sites);
            let leaves = resolve_chains(&mut symbolizer, &sites, &model.chains, &mut user);
            names.place_chains(&mut symbolizer, &sites, &leaves, &user);
            names.place_branches(model, &lasts, &leaves, &user);
        }
        names.misses.note_refused(search_paths);
        names.share_root();
        names.user = user;
        if model.start.precise_chains || names.awaits.is_empty() {
            names.unchained.clear();
        }
        names
    }

    /// Makes the paths of all places relative to a common directory.
    fn share_root(&mut self) {
        self.root = paths::common_root(self.labels());
        let chains = self.awaits.values_mut();
        let of_chains =
            chains.flat_map(|chain| chain.frames.iter_mut().chain(&mut chain.outermost));
        if let Some(root) = &self.root {
            let labels = self.labels.values_mut().chain(self.leaves.values_mut());
            paths::show_below(root, labels.chain(of_chains));
        }
    }

    /// The directory to which the paths of places are relative on pages, if there is one.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The labels of all places and of the functions that await each other there.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        let chains = self.awaits.values();
        let of_chains = chains.flat_map(|chain| chain.frames.iter().chain(&chain.outermost));
        let of_places = self.labels.values().chain(self.leaves.values());
        of_places.chain(of_chains)
    }

    /// The label of a place.
    pub fn of(&self, site: SiteId) -> Option<&Label> {
        self.labels.get(&site)
    }

    /// File and line of a place, or module and offset.
    pub fn at(&self, site: SiteId) -> Option<String> {
        self.of(site)?.at()
    }

    /// Like [`Self::at`], without directories.
    pub fn short(&self, site: SiteId) -> Option<String> {
        self.of(site)?.short()
    }

    /// The await chain of a place, as far as known.
    pub fn awaits(&self, site: SiteId) -> Option<&AwaitChain> {
        self.awaits.get(&site)
    }

    /// The `poll` function of the user's own leaf future that coroutines await at a place, if known.
    pub fn leaf(&self, site: SiteId) -> Option<&Label> {
        self.leaves.get(&site)
    }

    /// Whether a function belongs to a library or to the probe.
    pub fn is_of_library(&self, label: &Label) -> bool {
        is_of_library(label) || self.user.is_of_probe(label)
    }

    /// Whether a function belongs to the probe.
    pub fn is_of_probe(&self, label: &Label) -> bool {
        self.user.is_of_probe(label)
    }

    /// Whether a function is code of the user, for a coroutine with this name.
    pub fn is_leaf_of_user(&self, label: &Label, coroutine: &str) -> bool {
        self.user.is_leaf_of_user(label, coroutine)
    }

    /// The branches of the waits at a place, if there are several.
    pub fn branches(&self, site: SiteId) -> &[WaitBranch] {
        self.branches.get(&site).map_or(&[], Vec::as_slice)
    }

    /// The part of a runtime to which the functions at a place belong, if known.
    pub fn runtime_part(&self, site: SiteId) -> Option<RuntimePart> {
        self.runtime_parts.get(&site).copied()
    }

    /// The innermost awaiting function.
    pub fn awaiter(&self, site: SiteId) -> Option<String> {
        self.awaits(site)?.frames.first()?.function.clone()
    }

    /// Whether the chain cannot be known because the function was compiled without frame pointers.
    pub fn is_frameless(&self, site: SiteId) -> bool {
        self.frameless.contains(&site)
    }

    /// Whether a recording with `--precise-chains` may find the chain: other chains were found, and this
    /// function was compiled with frame pointers.
    pub fn is_unchained(&self, site: SiteId) -> bool {
        self.unchained.contains(&site)
    }

    /// The source files.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Adds reasons for missing names.
    pub fn add_misses(&mut self, misses: Misses) {
        self.misses.add(misses);
    }

    /// The distinct reasons for missing names.
    pub fn misses(&self) -> impl Iterator<Item = String> {
        self.misses.reasons()
    }

    fn resolve_process(
        &mut self,
        symbolizer: &mut Symbolizer,
        modules: &[Mapping],
        sites: &[&Site],
    ) {
        let lines: Vec<SourceLine> = sites.iter().filter_map(|site| line(&site.place)).collect();
        let mut functions = symbolizer.functions_at(&lines).into_iter();
        let mut unnamed = false;
        for site in sites {
            let label = match line(&site.place) {
                Some(line) => {
                    let function = functions.next().flatten();
                    unnamed |= function.is_none();
                    at_line(&line, function)
                }
                None => self.at_address(symbolizer, modules, &site.place),
            };
            if let (Place::Function { name, .. }, Some(function)) = (&site.place, &label.function)
                && label.in_function
            {
                self.bodies.insert(name.clone(), function.clone());
            }
            self.labels.insert(site.id, label);
        }
        if unnamed {
            let search_paths = &self.sources.search_paths;
            self.misses
                .note_unreadable(symbolizer, modules, search_paths);
        }
    }

    fn place_chains(
        &mut self,
        symbolizer: &mut Symbolizer,
        sites: &[&Site],
        leaves: &BTreeMap<SiteId, AllFunctions>,
        user: &UserCode,
    ) {
        for site in sites {
            self.note_runtime_part(site.id, leaves.get(&site.id));
            let awaits = leaves.get(&site.id).map(|all| AwaitChain::of(all, user));
            let is_placed = awaits
                .as_ref()
                .is_some_and(|awaits| !awaits.frames.is_empty());
            if let Some(awaits) = awaits {
                self.place_in_chain(site.id, &site.place, awaits);
            }
            if !is_placed && let Place::Function { address, .. } = site.place {
                self.note_what_is_missing(symbolizer, site.id, Avma(address));
            }
        }
    }

    fn note_runtime_part(&mut self, site: SiteId, chain: Option<&AllFunctions>) {
        let part = match chain {
            Some(chain) => RuntimePart::of(&chain.labels),
            None => RuntimePart::of(self.labels.get(&site).map_or(&[], std::slice::from_ref)),
        };
        if let Some(part) = part {
            self.runtime_parts.insert(site, part);
        }
    }

    /// Sets the places of waits with several branches: the branch for which the coroutine still
    /// waits, or what several such branches have in common.
    fn place_branches(
        &mut self,
        model: &Model,
        lasts: &BTreeMap<Vec<SiteId>, BTreeSet<SiteId>>,
        leaves: &BTreeMap<SiteId, AllFunctions>,
        user: &UserCode,
    ) {
        for branches in model.branches.values() {
            let mut set = branches.sites.clone();
            set.sort_unstable();
            let known = set.iter().filter_map(|&site| {
                let all = leaves.get(&site)?.clone();
                Some(RegisteredLeaf { site, all })
            });
            let known: Vec<RegisteredLeaf> = known.collect();
            let (Some(site), Some(last)) = (model.sites.get(&branches.site), lasts.get(&set))
            else {
                continue;
            };
            if known.is_empty() {
                continue;
            }
            let waiting = branches::waiting(&known, last);
            let (awaits, inside) = match &waiting[..] {
                [leaf] => (AwaitChain::of(&leaf.all, user), Vec::new()),
                several => branches::place(several, last, user),
            };
            let is_placed = !awaits.frames.is_empty();
            self.place_in_chain(site.id, &site.place, awaits);
            if is_placed {
                self.unchained.remove(&site.id);
            }
            self.branches.insert(site.id, inside);
        }
    }

    /// Notes why the await chain of a place is unknown.
    fn note_what_is_missing(&mut self, symbolizer: &mut Symbolizer, site: SiteId, function: Avma) {
        match symbolizer.keeps_frame_pointer(function) {
            Some(true) => self.unchained.insert(site),
            Some(false) => self.frameless.insert(site),
            None => false,
        };
    }

    /// Uses the innermost function of a chain as the place, unless the program recorded a line.
    fn place_in_chain(&mut self, site: SiteId, place: &Place, mut awaits: AwaitChain) {
        let label = self.labels.entry(site).or_default();
        label.within = awaits.within.take();
        if let Some(leaf) = awaits.take_leaf() {
            let function = leaf.function.as_deref();
            label.within = label.within.take().or_else(|| plain(function?));
            self.leaves.insert(site, leaf);
        }
        if awaits.frames.is_empty() {
            return;
        }
        let is_recorded = matches!(place, Place::Source { .. });
        if let Place::Function { .. } = place
            && !awaits.is_whole
        {
            awaits.end_at(label.clone());
        }
        if !is_recorded {
            let within = label.within.take();
            *label = awaits.frames.remove(0);
            label.within = within;
        } else if awaits.frames[0].is_same_line(label) {
            awaits.frames.remove(0);
        }
        label.callers = awaits.functions();
        if !label.callers.is_empty() {
            self.awaits.insert(site, awaits);
        }
    }

    fn at_address(
        &mut self,
        symbolizer: &mut Symbolizer,
        modules: &[Mapping],
        place: &Place,
    ) -> Label {
        let (address, how, name) = match place {
            Place::Function { address, name } => (*address, Lookup::Exact, name.as_str()),
            Place::Address(address) => (*address, Lookup::Exact, ""),
            Place::ReturnAddress(address) => (*address, Lookup::ReturnAddress, ""),
            _ => return Label::default(),
        };
        let mut label = match symbolizer.resolve(Avma(address), how) {
            Ok(found) if matches!(place, Place::Function { .. }) => of_function(found, name),
            Ok(found) => of_frames(found),
            Err(miss) => {
                self.misses.note(miss);
                Label {
                    module: in_module(modules, address),
                    ..Label::default()
                }
            }
        };
        label.function = label.function.or_else(|| tidy(name));
        label
    }
}

/// The functions of each chain.
fn resolve_chains(
    symbolizer: &mut Symbolizer,
    sites: &[&Site],
    chains: &BTreeMap<SiteId, Chain>,
    user: &mut UserCode,
) -> BTreeMap<SiteId, AllFunctions> {
    let mut leaves = BTreeMap::new();
    for site in sites {
        let future = match &site.place {
            Place::Function { name, .. } => name.as_str(),
            _ => "",
        };
        if let Some(chain) = chains.get(&site.id) {
            let all = AllFunctions::of(symbolizer, chain, future, user);
            leaves.insert(site.id, all);
        }
    }
    leaves
}

fn mapping(module: &Module) -> Mapping {
    Mapping {
        start: Avma(module.start),
        end: Avma(module.end),
        file_offset: FileOffset(module.file_offset),
        path: module.path.clone(),
        build_id: module.build_id.clone(),
    }
}

fn line(place: &Place) -> Option<SourceLine> {
    match place {
        Place::Source { file, line, column } => Some(SourceLine {
            file: file.clone(),
            line: *line,
            column: *column,
        }),
        _ => None,
    }
}
