//! [`FrameTypes`]: the layout of frames, and the lines of suspension points, from debug info.
//!
//! gcc and clang describe the frame of a coroutine `X` as a structure `X.Frame` or `X.coro_frame_ty`. clang also
//! describes the promise as a variable of the coroutine, and in newer versions each suspension point as a label.

mod scan;

use std::collections::{HashMap, HashSet};

use symbolize::{DebugInfo, SearchPaths};

use crate::cpp::functions::{CoroutineFunctions, CppCoroutine};
use crate::target::Target;
use crate::types::in_symbolize;

/// What debug info says about the frames of coroutines.
pub struct FrameTypes {
    search_paths: SearchPaths,
    /// By the name of the coroutine in the symbols. `None` until they were read.
    known: Option<HashMap<String, FrameType>>,
}

/// What debug info says about the frames of a coroutine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameType {
    /// Bytes of the promise; `None` if unknown.
    pub promise_bytes: Option<u64>,
    /// Where the number of the suspension point is: its offset in the frame, and its bytes.
    pub index: Option<(u64, u64)>,
    /// File and line at which the function is declared, those of its body if that is known.
    pub declared: Option<SourcePlace>,
    /// File and line of suspension points, by their numbers. `None` if debug info contradicts itself.
    pub lines: HashMap<u64, Option<SourcePlace>>,
}

/// File and line.
pub type SourcePlace = (String, u32);

impl FrameTypes {
    /// Reads debug info from files in `search_paths`.
    pub fn new(search_paths: SearchPaths) -> Self {
        FrameTypes {
            search_paths,
            known: None,
        }
    }

    /// Forgets everything. The program may have loaded and unloaded libraries.
    pub fn forget(&mut self) {
        self.known = None;
    }

    /// Reads the debug info of the modules with coroutines, unless that was done before.
    pub fn read(&mut self, target: &dyn Target, functions: &CoroutineFunctions) {
        if self.known.is_some() {
            return;
        }
        let coroutines = functions.coroutines.iter();
        let symbols = coroutines.map(|coroutine| &*coroutine.symbol).collect();
        let mut known = HashMap::new();
        for mapping in target.mappings() {
            let has_coroutines = mapping.is_executable
                && mapping.has_file()
                && functions
                    .addresses()
                    .any(|address| mapping.contains(address));
            if has_coroutines {
                let mapping = in_symbolize(target, mapping);
                let debug_info = DebugInfo::open(&mapping, &self.search_paths);
                if let Ok(Some(debug_info)) = debug_info {
                    scan_all(&debug_info, &symbols, &mut known);
                }
            }
        }
        self.known = Some(known);
    }

    /// What is known about the frames of a coroutine.
    pub fn of(&self, coroutine: &CppCoroutine) -> Option<&FrameType> {
        self.known.as_ref()?.get(&coroutine.symbol)
    }
}

fn scan_all(
    debug_info: &DebugInfo,
    symbols: &HashSet<&str>,
    known: &mut HashMap<String, FrameType>,
) {
    for number in 0..debug_info.unit_count() {
        // An error ends the unit.
        let _ = debug_info.with_unit(number, |_, unit| scan::scan_unit(unit, symbols, known));
    }
}

impl FrameType {
    /// The number of the suspension point at which a frame is suspended, counted from 1 as the compiler counts. `None`
    /// if unknown.
    pub fn suspension(
        &self,
        target: &dyn Target,
        frame: u64,
        coroutine: &CppCoroutine,
    ) -> Option<u64> {
        let (offset, bytes) = self.index?;
        let mut word = [0; 8];
        let index = word.get_mut(..usize::try_from(bytes).ok()?)?;
        let is_read = target.read(frame.checked_add(offset)?, index) == index.len();
        let index = u64::from_le_bytes(word);
        let number = if coroutine.is_by_gcc {
            // gcc uses even numbers to resume and odd numbers to destroy.
            (index.is_multiple_of(2) && 0 < index).then_some(index / 2)
        } else {
            index.checked_add(1)
        };
        number.filter(|_| is_read)
    }

    /// File and line of a suspension point if that is known, or else of the function.
    pub fn place(&self, suspension: Option<u64>) -> Option<&SourcePlace> {
        let line = suspension.and_then(|number| self.lines.get(&number)?.as_ref());
        line.or(self.declared.as_ref())
    }
}
