//! Finds the function that contains the code of a source line.

use std::collections::HashMap;

use crate::dependency::is_dependency;
use crate::dwarf::Located;
use crate::line_table::{self, Reach};
use crate::module::Module;
use crate::name::Name;

/// A place in the source as recorded by the program, from a `#[track_caller]` location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// The path as passed to the compiler, often relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}

/// The function that contains the code of a source line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionAt {
    /// The name for people.
    pub function: String,
    /// The path of the source file in DWARF, absolute where the directory of the compilation is known.
    pub file: String,
}

/// Returns an answer for each wanted line.
pub(crate) fn find<'m>(
    requested: &[SourceLine],
    modules: impl Iterator<Item = &'m Module>,
) -> Vec<Option<FunctionAt>> {
    let mut searches: Vec<Search<'_>> = requested.iter().map(Search::new).collect();
    for module in modules {
        visit(module, &mut searches, Reach::Line);
        // If all code of a line was inlined, the line occurs only as the place of the inlined calls.
        visit(module, &mut searches, Reach::Unit);
    }
    searches.into_iter().map(Search::best).collect()
}

fn visit(module: &Module, searches: &mut [Search<'_>], reach: Reach) {
    let Some(dwarf) = module.dwarf() else { return };
    let mut open: Vec<&mut Search<'_>> = searches
        .iter_mut()
        .filter(|search| reach == Reach::Line || search.candidates.is_empty())
        .collect();
    let requested: Vec<&SourceLine> = open.iter().map(|search| search.requested).collect();
    if requested.is_empty() {
        return;
    }
    dwarf.with_sections(|sections| {
        line_table::visit(sections, &requested, reach, |address, indices| {
            for frame in module.frames(address) {
                for &index in indices {
                    open[index].consider(&frame);
                }
            }
        })
    });
}

/// The candidates for a wanted line.
struct Search<'w> {
    requested: &'w SourceLine,
    candidates: HashMap<FunctionAt, Evidence>,
}

#[derive(Default)]
struct Evidence {
    has_path: bool,
    has_column: bool,
    rows: usize,
}

impl<'w> Search<'w> {
    fn new(requested: &'w SourceLine) -> Self {
        Self {
            requested,
            candidates: HashMap::new(),
        }
    }

    /// Adds a frame if its location is the wanted line.
    fn consider(&mut self, frame: &Located) {
        let Some(file) = frame.file.as_deref() else {
            return;
        };
        if frame.line != Some(self.requested.line) || !is_same_file(&self.requested.file, file) {
            return;
        }
        let Some(name) = frame.name.as_ref().filter(|name| !is_nameless(name)) else {
            return;
        };
        let candidate = FunctionAt {
            function: as_in_source(&name.clone().into_shown()),
            file: file.to_owned(),
        };
        let evidence = self.candidates.entry(candidate).or_default();
        evidence.has_path |= matches!(name, Name::Full(_));
        evidence.has_column |= frame.column == Some(self.requested.column);
        evidence.rows += 1;
    }

    fn best(self) -> Option<FunctionAt> {
        let is_relative = !self.requested.file.starts_with('/');
        let mut found: Vec<_> = self.candidates.into_iter().collect();
        // A path that the compiler recorded as relative is of the workspace, not of a dependency.
        prefer(&mut found, |(at, _)| {
            is_relative && !is_dependency(&at.file)
        });
        prefer(&mut found, |(_, evidence)| evidence.has_column);
        let is_single_file = found.iter().all(|(at, _)| at.file == found[0].0.file);
        if !is_single_file {
            return None;
        }
        let best = found.into_iter().max_by(|(at, a), (bt, b)| {
            let by_evidence = (a.has_path, a.rows).cmp(&(b.has_path, b.rows));
            by_evidence.then_with(|| bt.function.cmp(&at.function))
        });
        best.map(|(at, _)| at)
    }
}

/// Keeps the items that the test accepts, or all items if the test accepts none.
fn prefer<T>(found: &mut Vec<T>, test: impl Fn(&T) -> bool) {
    if found.iter().any(&test) {
        found.retain(test);
    }
}

/// Whether a name is only that of a body, such as `{async_fn#0}`: reduced debug info has no more about an
/// inlined body.
fn is_nameless(name: &Name) -> bool {
    matches!(name, Name::Short(short) if short.starts_with('{'))
}

/// The name of the function in the source: without generic arguments, and without the wrapper for code that drops
/// the coroutine at an await.
fn as_in_source(name: &str) -> String {
    let dropped = name
        .strip_prefix("core::ptr::drop_in_place")
        .map(|rest| rest.trim_start_matches("::"))
        .and_then(|rest| rest.strip_prefix('<')?.strip_suffix('>'));
    without_instance(dropped.unwrap_or(name))
}

/// Drops every `::<..>`.
fn without_instance(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("::<") {
        let (before, instance) = rest.split_at(at);
        let Some(len) = bracket_len(&instance[2..]) else {
            break;
        };
        kept.push_str(before);
        rest = &instance[2 + len..];
    }
    kept + rest
}

/// The length of the balanced `<..>` at the start of the text.
fn bracket_len(text: &str) -> Option<usize> {
    let mut open = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => open += 1,
            b'>' if text[..at].ends_with('-') => {}
            b'>' if open == 1 => return Some(at + 1),
            b'>' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Whether both paths may be of the same file: their components are equal from the end, as far as a relative path
/// goes.
pub(crate) fn is_same_file(requested: &str, in_dwarf: &str) -> bool {
    let (mut texts, mut other) = (components(requested), components(in_dwarf));
    if texts.is_empty() || other.is_empty() {
        return false;
    }
    match (requested.starts_with('/'), in_dwarf.starts_with('/')) {
        (true, true) => texts == other,
        (true, false) => texts.split_off(texts.len().saturating_sub(other.len())) == other,
        (false, true) => other.split_off(other.len().saturating_sub(texts.len())) == texts,
        (false, false) => texts == other,
    }
}

/// The components of a path, without those that do not change where the path leads: `.`, doubled slashes, a directory
/// followed by `..`.
fn components(path: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(component),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, name: &str, column: u32) -> Located {
        Located {
            name: Some(Name::Full(name.into())),
            file: Some(file.into()),
            line: Some(7),
            column: Some(column),
        }
    }

    fn best(frames: &[Located]) -> Option<String> {
        let requested = SourceLine {
            file: "src/lib.rs".to_owned(),
            line: 7,
            column: 5,
        };
        let mut search = Search::new(&requested);
        frames.iter().for_each(|frame| search.consider(frame));
        search.best().map(|at| at.function)
    }

    #[test]
    fn files_match_by_whole_components() {
        assert!(is_same_file("src/bin/a.rs", "/w/examples/src/bin/a.rs"));
        assert!(is_same_file("./src/a.rs", "/w/src/./a.rs"));
        assert!(is_same_file("../b/src/a.rs", "/w/a/../b/src/a.rs"));
        assert!(is_same_file("/w/src/a.rs", "/w/src/a.rs"));
        assert!(is_same_file("/w/src/a.rs", "src/a.rs"));
        assert!(!is_same_file("in/a.rs", "/w/src/bin/a.rs"));
        assert!(!is_same_file("/src/a.rs", "/w/src/a.rs"));
        assert!(!is_same_file("x/w/src/a.rs", "/w/src/a.rs"));
        assert!(!is_same_file("", "/w/src/a.rs"));
    }

    #[test]
    fn the_column_decides_between_functions_on_a_line() {
        let frames = [
            frame("/w/src/lib.rs", "f", 9),
            frame("/w/src/lib.rs", "f", 9),
            frame("/w/src/lib.rs", "g", 5),
        ];
        assert_eq!(best(&frames).as_deref(), Some("g"));
        assert_eq!(best(&frames[..1]).as_deref(), Some("f"));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn the_workspace_comes_before_dependencies() {
        let registry = frame("/c/registry/src/x/y-1.0.0/src/lib.rs", "y::f", 5);
        let local = frame("/w/src/lib.rs", "f", 9);
        assert_eq!(best(&[registry.clone(), local]).as_deref(), Some("f"));
        assert_eq!(best(&[registry]).as_deref(), Some("y::f"));
    }

    #[test]
    fn two_equally_good_files_give_no_answer() {
        let frames = [
            frame("/w/a/src/lib.rs", "f", 5),
            frame("/w/b/src/lib.rs", "g", 5),
        ];
        assert_eq!(best(&frames), None);
    }

    #[test]
    fn an_instance_is_the_function() {
        assert_eq!(
            without_instance("a::f::<fn() -> b::C<u8>>::g::<u8>"),
            "a::f::g"
        );
        assert_eq!(
            without_instance("<a::S<u8> as a::T>::m"),
            "<a::S<u8> as a::T>::m"
        );
        assert_eq!(without_instance("a::f::<"), "a::f::<");
    }

    #[test]
    fn drop_code_of_a_coroutine_counts_as_the_function() {
        let frames = [frame("/w/src/lib.rs", "core::ptr::drop_in_place<a::f>", 5)];
        assert_eq!(best(&frames).as_deref(), Some("a::f"));
    }
}
