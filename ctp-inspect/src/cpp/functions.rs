//! [`CoroutineFunctions`]: the functions of C++20 coroutines, by the symbols of the modules.
//!
//! The compiler splits a coroutine `X` into functions of its own. gcc names the function that resumes a frame
//! `X.actor`, clang `X.resume`. Both name the function that destroys a frame `X.destroy`. In a frame that clang has
//! placed inside the frame of the caller, `X.cleanup` is in its place.

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::HashMap;
use symbolize::{NamedFunction, SearchPaths};

use crate::modules::Modules;
use crate::target::Target;
use crate::target::mapping::Mapping;
use crate::types::in_symbolize;

/// What the names of the functions contain.
const PARTS: [&str; 4] = [".actor", ".resume", ".destroy", ".cleanup"];

/// How many of the coroutines whose functions the linker has merged are named.
const MAX_MERGED: usize = 3;

/// The coroutines of a process. They do not change while the program runs, unless it loads a library.
pub struct CoroutineFunctions {
    search_paths: SearchPaths,
    modules: Modules,
    /// The coroutines, in no particular order.
    pub coroutines: Vec<CppCoroutine>,
    /// Which coroutines have a function at an address, and what the function does.
    by_address: HashMap<u64, Vec<(Role, usize)>>,
    /// The smallest range that contains all functions that destroy a frame.
    pub destroying: Range<u64>,
}

/// A C++20 coroutine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CppCoroutine {
    /// The function in the source, such as `net::read(int)`.
    pub name: String,
    /// The mangled name of the function in the source, by which debug info knows the coroutine.
    pub symbol: String,
    /// The functions that resume a frame: several if there are several coroutines of this name.
    pub resuming: Vec<u64>,
    /// gcc compiled the coroutine.
    pub is_by_gcc: bool,
}

/// What a function does with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Resume,
    Destroy,
    /// Like `Destroy`, and leaves the memory to the frame around it.
    Cleanup,
}

/// What the first two words of a frame say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStart {
    /// The index of the coroutine.
    pub coroutine: usize,
    /// The coroutine has run to its end.
    pub is_finished: bool,
    /// The frame is inside the frame of the caller.
    pub is_inside_caller: bool,
}

impl CoroutineFunctions {
    /// Reads symbols from files in `search_paths`.
    pub fn new(search_paths: SearchPaths) -> Self {
        CoroutineFunctions {
            search_paths,
            modules: Modules::default(),
            coroutines: Vec::new(),
            by_address: HashMap::default(),
            destroying: 0..0,
        }
    }

    /// Reads the symbols, if the modules differ from those of the last call. Returns whether they do.
    pub fn refresh(&mut self, target: &dyn Target) -> bool {
        let modules = Modules::of(target.mappings());
        if modules == self.modules {
            return false;
        }
        self.modules = modules;
        self.clear();
        let mappings = target.mappings().iter();
        for mapping in mappings.filter(|mapping| mapping.is_executable && mapping.has_file()) {
            self.add(&functions_of(target, mapping, &self.search_paths));
        }
        true
    }

    /// Replaces the coroutines by those that have these functions.
    pub fn replace(&mut self, functions: &[NamedFunction]) {
        self.clear();
        self.add(functions);
    }

    /// What begins with these two words, if they can be the start of a frame.
    pub fn frame_start(&self, words: [u64; 2]) -> Option<FrameStart> {
        self.frame_starts(words).next()
    }

    /// The name of the coroutine whose frame begins with these two words. The linker may have merged equal functions of
    /// several coroutines.
    pub fn name(&self, words: [u64; 2]) -> String {
        let starts = self.frame_starts(words).take(MAX_MERGED);
        let names: BTreeSet<&str> = starts
            .map(|start| &*self.coroutines[start.coroutine].name)
            .collect();
        Vec::from_iter(names).join(" or ")
    }

    fn frame_starts(&self, [first, second]: [u64; 2]) -> impl Iterator<Item = FrameStart> {
        let destroying = self.by_address.get(&second).into_iter().flatten();
        destroying.filter_map(move |(role, coroutine)| {
            let is_frame = *role != Role::Resume
                && (first == 0 || self.coroutines[*coroutine].resuming.contains(&first));
            is_frame.then_some(FrameStart {
                coroutine: *coroutine,
                is_finished: first == 0,
                is_inside_caller: *role == Role::Cleanup,
            })
        })
    }

    /// The addresses of all functions.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.by_address.keys().copied()
    }

    fn clear(&mut self) {
        self.coroutines.clear();
        self.by_address.clear();
        self.destroying = 0..0;
    }

    /// Adds the coroutines of a module.
    fn add(&mut self, functions: &[NamedFunction]) {
        let mut known: HashMap<&str, usize> = HashMap::default();
        for function in functions {
            let Some((base, role, is_by_gcc)) = parse(&function.name) else {
                continue;
            };
            let index = *known.entry(base).or_insert_with(|| {
                self.coroutines.push(CppCoroutine::default());
                self.coroutines.len() - 1
            });
            let address = function.address.0;
            let coroutine = &mut self.coroutines[index];
            coroutine.is_by_gcc |= is_by_gcc;
            if coroutine.name.is_empty() {
                coroutine.name = symbolize::demangle(&function.name);
                coroutine.symbol = in_source(base).to_owned();
            }
            if role == Role::Resume {
                coroutine.resuming.push(address);
            }
            let functions = self.by_address.entry(address).or_default();
            functions.push((role, index));
            if role != Role::Resume {
                extend(&mut self.destroying, address);
            }
        }
    }
}

fn extend(range: &mut Range<u64>, address: u64) {
    if range.is_empty() {
        *range = address..address + 1;
    }
    *range = range.start.min(address)..range.end.max(address + 1);
}

fn functions_of(
    target: &dyn Target,
    mapping: &Mapping,
    search_paths: &SearchPaths,
) -> Vec<NamedFunction> {
    let mapping = in_symbolize(target, mapping);
    symbolize::functions_with(&mapping, &PARTS, search_paths).unwrap_or_default()
}

/// Splits the name of a function into the name of the coroutine and what the function does, and says whether gcc
/// compiled it. `None` for the name of another function.
fn parse(name: &str) -> Option<(&str, Role, bool)> {
    let name = without_suffix(name);
    let (base, part) = name.rsplit_once('.')?;
    let role = match part {
        "actor" | "resume" => Role::Resume,
        "destroy" => Role::Destroy,
        "cleanup" => Role::Cleanup,
        _ => return None,
    };
    let is_by_gcc = without_frame(base).is_some();
    (!base.is_empty()).then_some((base, role, is_by_gcc))
}

fn without_frame(base: &str) -> Option<&str> {
    let mut suffixes = [".Frame", ".frame"].into_iter();
    suffixes.find_map(|suffix| base.strip_suffix(suffix))
}

/// The mangled name of the function in the source. gcc appends it to the name of the function that it makes:
/// `_Z4leafiPZ4leafiE12_Z4leafi.Frame`.
fn in_source(base: &str) -> &str {
    let Some(whole) = without_frame(base) else {
        return base;
    };
    whole.rfind("_Z").map_or(whole, |start| &whole[start..])
}

/// Removes what optimizers append to local functions: `.lto_priv.0`, `.llvm.123`.
fn without_suffix(name: &str) -> &str {
    let Some((head, number)) = name.rsplit_once('.') else {
        return name;
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let head = is_number.then_some(head);
    let heads = head.and_then(|head| {
        let suffixes = [".lto_priv", ".llvm"].into_iter();
        suffixes
            .filter_map(|suffix| head.strip_suffix(suffix))
            .next()
    });
    heads.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolize::Avma;

    fn functions(names: &[(u64, &str)]) -> CoroutineFunctions {
        let functions = names.iter().map(|(address, name)| NamedFunction {
            address: Avma(*address),
            name: (*name).to_owned(),
        });
        let mut found = CoroutineFunctions::new(SearchPaths::recorded());
        found.replace(&functions.collect::<Vec<_>>());
        found
    }

    #[test]
    fn frames_of_gcc_begin_with_actor_and_destroy() {
        let found = functions(&[
            (0x1000, "_Z4leafiPZ4leafiE12_Z4leafi.Frame.actor"),
            (0x1100, "_Z4leafiPZ4leafiE12_Z4leafi.Frame.actor.cold"),
            (
                0x1200,
                "_Z4leafiPZ4leafiE12_Z4leafi.Frame.destroy.lto_priv.0",
            ),
            (0x1300, "_Z3topPZ3topvE10_Z3topv.Frame.destroy"),
        ]);
        let start = found.frame_start([0x1000, 0x1200]).expect("a frame");
        assert!(!start.is_finished && !start.is_inside_caller);
        assert_eq!(found.coroutines[start.coroutine].name, "leaf(int)");
        assert!(found.coroutines[start.coroutine].is_by_gcc);
        assert_eq!(found.coroutines[start.coroutine].symbol, "_Z4leafi");
        assert!(
            found
                .frame_start([0, 0x1200])
                .is_some_and(|start| start.is_finished)
        );
        assert_eq!(found.destroying, 0x1200..0x1301);
        for (first, second) in [
            (0x1000, 0x1300),
            (0x1100, 0x1200),
            (0x1200, 0x1000),
            (1, 0x1200),
        ] {
            assert_eq!(
                found.frame_start([first, second]),
                None,
                "{first:x} {second:x}"
            );
        }
    }

    #[test]
    fn frames_of_clang_may_be_inside_the_caller() {
        let found = functions(&[
            (0x1000, "_Z4leafi.resume"),
            (0x1100, "_Z4leafi.destroy"),
            (0x1200, "_Z4leafi.cleanup"),
        ]);
        let of = |second| found.frame_start([0x1000, second]).expect("a frame");
        assert_eq!(
            [0x1100, 0x1200].map(|second| of(second).is_inside_caller),
            [false, true]
        );
        assert!(!found.coroutines[0].is_by_gcc);
    }

    #[test]
    fn merged_functions_have_all_names() {
        let found = functions(&[
            (0x1000, "_Z4leafi.resume"),
            (0x1000, "_Z4rooti.resume"),
            (0x1100, "_Z4leafi.destroy"),
            (0x1100, "_Z4rooti.destroy"),
        ]);
        assert_eq!(found.name([0x1000, 0x1100]), "leaf(int) or root(int)");
        assert_eq!(found.name([0x1000, 0x1200]), "");
    }
}
