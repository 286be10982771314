//! [`Symbolizer`]: resolves addresses and source lines, and caches files and answers.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::addr::{Avma, Lookup, Svma};
use crate::dwarf::Located;
use crate::error::Miss;
use crate::mapping::{Mapping, Mappings};
use crate::module::Module;
use crate::name::Name;
use crate::search_paths::SearchPaths;
use crate::source_line::{self, FunctionAt, SourceLine};

/// A function at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The demangled name, if known.
    pub function: Option<Arc<str>>,
    /// The source file as DWARF has it, absolute where the directory of the compilation is known.
    pub file: Option<Arc<str>>,
    /// The line in `file`: of the code itself in the innermost frame, of the call in the others.
    pub line: Option<u32>,
    /// The column in `line`, if known.
    pub column: Option<u32>,
    /// Whether this function was inlined into that of the next frame.
    pub inlined: bool,
}

/// What is known about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Innermost first, never empty; a frame may be without function, file and line.
    pub frames: Vec<Frame>,
    /// The file name of the module, without directories.
    pub module: Arc<str>,
    /// The address within the module: the stated address ([`Svma`]) of the byte that was looked up.
    pub offset: u64,
}

/// Resolves addresses of one process at a time; [`set_mappings`](Self::set_mappings) switches to another process.
///
/// Every file is opened at most once, even if several processes map the file. Every address of a process is resolved
/// at most once.
pub struct Symbolizer {
    mappings: Mappings,
    modules: Modules,
    answers: HashMap<(Avma, Lookup), Result<Resolved, Miss>>,
    functions: HashMap<SourceLine, Option<FunctionAt>>,
}

impl Symbolizer {
    /// Opens nothing yet.
    pub fn new(mappings: Vec<Mapping>) -> Self {
        Self::with_search_paths(mappings, SearchPaths::recorded())
    }

    /// Like [`new`](Self::new), but looks for files in `search_paths`.
    pub fn with_search_paths(mappings: Vec<Mapping>, search_paths: SearchPaths) -> Self {
        let mut symbolizer = Self {
            modules: Modules::in_places(search_paths),
            mappings: Mappings::new(Vec::new()),
            answers: HashMap::new(),
            functions: HashMap::new(),
        };
        symbolizer.set_mappings(mappings);
        symbolizer
    }

    /// Switches to another process, with these mappings.
    pub fn set_mappings(&mut self, mappings: Vec<Mapping>) {
        self.mappings = Mappings::new(mappings);
        self.answers.clear();
        if self.modules.set_mappings(&self.mappings) {
            self.functions.clear();
        }
    }

    /// The frames at an address.
    ///
    /// If the module has no name for the address, the result is a single frame without a function: show module and
    /// offset instead.
    ///
    /// # Errors
    ///
    /// A [`Miss`] has the reason why the address cannot be resolved.
    pub fn resolve(&mut self, address: Avma, how: Lookup) -> Result<&Resolved, &Miss> {
        let (mappings, modules) = (&self.mappings, &self.modules);
        self.answers
            .entry((address, how))
            .or_insert_with(|| look_up(mappings, modules, address, how))
            .as_ref()
    }

    /// Whether, while the code at an address runs, the frame pointer leads to the return address and
    /// to the frame pointer of the caller. False if unknown.
    pub fn can_follow_frame_pointer(&self, address: Avma, how: Lookup) -> bool {
        let found = stated(&self.mappings, &self.modules, address.looked_up(how));
        found.is_ok_and(|(module, address)| module.can_follow_frame_pointer(address))
    }

    /// Whether the frame pointer can be followed anywhere in the function that begins at an address.
    /// False for a function that was compiled without frame pointers, `None` if unknown.
    pub fn keeps_frame_pointer(&self, function: Avma) -> Option<bool> {
        let (module, address) = stated(&self.mappings, &self.modules, function).ok()?;
        module.keeps_frame_pointer(address)
    }

    /// The file name of a mapping, if the file can be read and has no debug info, not even in a
    /// separate file.
    pub fn lacks_debug_info(&self, mapping: &Mapping) -> Option<&str> {
        let module = self.modules.open(mapping).ok()?;
        module.dwarf().is_none().then_some(&*module.name)
    }

    /// Whether the address lies in a recorded executable mapping.
    pub fn is_text(&self, address: Avma) -> bool {
        self.mappings.contains(address)
    }

    /// The function that contains the code of each of these source lines, in the same order.
    ///
    /// `None` if no readable module has code for the line, if the debug info does not name the function, or if
    /// several files match equally well.
    /// Each call passes over the line tables of all modules, so pass many lines in a single call.
    pub fn functions_at(&mut self, requested: &[SourceLine]) -> Vec<Option<FunctionAt>> {
        let mut new: Vec<SourceLine> = requested.to_vec();
        new.retain(|line| !self.functions.contains_key(line));
        new.sort();
        new.dedup();
        if !new.is_empty() {
            let found = source_line::find(&new, self.modules.readable());
            self.functions.extend(new.into_iter().zip(found));
        }
        requested
            .iter()
            .map(|line| self.functions.get(line).cloned().flatten())
            .collect()
    }
}

fn look_up(
    mappings: &Mappings,
    modules: &Modules,
    address: Avma,
    how: Lookup,
) -> Result<Resolved, Miss> {
    let (module, Svma(offset)) = stated(mappings, modules, address.looked_up(how))?;
    Ok(Resolved {
        frames: shown(module.frames(Svma(offset))),
        module: Arc::clone(&module.name),
        offset,
    })
}

/// The module that contains an address, and the stated address.
fn stated<'m>(
    mappings: &Mappings,
    modules: &'m Modules,
    address: Avma,
) -> Result<(&'m Module, Svma), Miss> {
    let mapping = mappings.find(address)?;
    let module = modules.open(mapping).map_err(Miss::clone)?;
    Ok((module, module.svma(address, mapping)?))
}

fn shown(located: Vec<Located>) -> Vec<Frame> {
    let mut frames: Vec<Frame> = located.into_iter().map(inlined_frame).collect();
    if let Some(outermost) = frames.last_mut() {
        outermost.inlined = false;
    }
    frames
}

fn inlined_frame(located: Located) -> Frame {
    Frame {
        function: located.name.map(Name::into_shown),
        file: located.file,
        line: located.line,
        column: located.column,
        inlined: true,
    }
}

/// The distinct files of all mappings, opened on first use, and the mappings of the present process.
struct Modules {
    by_path: HashMap<Vec<u8>, Builds>,
    in_order: Vec<Mapping>,
    search_paths: SearchPaths,
}

/// By build id: two builds may have had the same path during a recording.
type Builds = HashMap<Vec<u8>, OnceCell<Result<Module, Miss>>>;

impl Modules {
    fn in_places(search_paths: SearchPaths) -> Self {
        Self {
            by_path: HashMap::new(),
            in_order: Vec::new(),
            search_paths,
        }
    }

    /// Adds the files of these mappings, which become the present mappings. Returns whether the files differ from the
    /// previous files.
    fn set_mappings(&mut self, mappings: &Mappings) -> bool {
        let mut seen = HashSet::new();
        let in_order = mappings
            .iter()
            .filter(|mapping| seen.insert(identity(mapping)));
        let in_order: Vec<Mapping> = in_order.cloned().collect();
        for Mapping { path, build_id, .. } in &in_order {
            let of_path = self.by_path.entry(path.clone()).or_default();
            of_path.entry(build_id.clone()).or_default();
        }
        let before = std::mem::replace(&mut self.in_order, in_order);
        !before
            .iter()
            .map(identity)
            .eq(self.in_order.iter().map(identity))
    }

    fn open(&self, mapping: &Mapping) -> Result<&Module, &Miss> {
        self.by_path[&mapping.path][&mapping.build_id]
            .get_or_init(|| Module::open(mapping, &self.search_paths))
            .as_ref()
    }

    fn readable(&self) -> impl Iterator<Item = &Module> {
        self.in_order
            .iter()
            .filter_map(|mapping| self.open(mapping).ok())
    }
}

fn identity(mapping: &Mapping) -> (&[u8], &[u8]) {
    (&mapping.path, &mapping.build_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn can_be_sent_to_another_thread() {
        fn assert_send<T: Send>() {}
        assert_send::<Symbolizer>();
    }
}
