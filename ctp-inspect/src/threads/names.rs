//! [`FrameMarks`]: what the functions at the addresses of a process say about their threads.

use std::collections::HashMap;

use symbolize::{Avma, Lookup, SearchPaths, Symbolizer};

use crate::stacks::StackFrame;
use crate::target::Target;
use crate::threads::block_on::BlockOnRole;
use crate::threads::mark::{RuntimeMark, function_path};

/// Finds the marks of functions by their names, and remembers them.
pub struct FrameMarks {
    symbolizer: Symbolizer,
    known: HashMap<(u64, bool), FrameFunctions>,
}

/// The functions of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameFunctions {
    /// The marks of the functions, innermost first.
    pub marks: Vec<RuntimeMark>,
    /// The roles of the functions if the thread is in `block_on`, innermost first.
    pub block_on: Vec<BlockOnRole>,
    /// Inlined functions are known too, because there is debug info.
    pub has_inlined: bool,
}

impl FrameMarks {
    /// Reads debug info from files in `search_paths`. Opens none yet.
    pub fn new(search_paths: SearchPaths) -> Self {
        FrameMarks {
            symbolizer: Symbolizer::with_search_paths(Vec::new(), search_paths),
            known: HashMap::new(),
        }
    }

    /// Takes over the files that the process has mapped.
    pub fn set_mappings(&mut self, target: &dyn Target) {
        let mappings = target.mappings().iter();
        let code = mappings.filter(|mapping| mapping.is_executable);
        // The process may see other files than this program, and its executable may have been deleted.
        let readable = code.map(|mapping| mapping.in_symbolize(target.readable_path(mapping)));
        self.symbolizer.set_mappings(readable.collect());
        self.known.clear();
    }

    /// The functions of a frame.
    pub fn of(&mut self, frame: &StackFrame) -> FrameFunctions {
        let key = (frame.address, frame.is_return_address);
        if let Some(functions) = self.known.get(&key) {
            return functions.clone();
        }
        let how = if frame.is_return_address {
            Lookup::ReturnAddress
        } else {
            Lookup::Exact
        };
        let resolved = self.symbolizer.resolve(Avma(frame.address), how);
        let frames = resolved
            .map(|resolved| &resolved.frames[..])
            .unwrap_or_default();
        let names = frames.iter().filter_map(|frame| frame.function.as_deref());
        let paths = names.clone().map(function_path);
        let functions = FrameFunctions {
            marks: names.filter_map(RuntimeMark::of).collect(),
            block_on: paths.map(|path| BlockOnRole::of(&path)).collect(),
            // Only debug info has files. Symbol tables have none.
            has_inlined: frames.iter().any(|frame| frame.file.is_some()),
        };
        self.known.insert(key, functions.clone());
        functions
    }
}
