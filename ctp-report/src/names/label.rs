//! Labels of places, from the trace or from the file of the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ctp_trace::model::stem;
use serde::Serialize;
use symbolize::{Frame, FunctionAt, Mapping, Resolved, SourceLine};

use crate::names::source::paths;
use crate::text;

/// The label of a place. JSON documents contain the source position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The function, as the user wrote it.
    pub function: Option<String>,
    /// The source file as named in the program.
    pub file: Option<String>,
    /// The path on pages, if it differs from what [`paths::displayed`] makes of the file.
    #[serde(skip)]
    pub shown: Option<String>,
    /// The absolute path of the source file, if known.
    #[serde(skip)]
    pub absolute: Option<PathBuf>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// The line is the beginning of the function, and the position in the function is unknown.
    #[serde(skip)]
    pub in_function: bool,
    /// Column, from 1, if known.
    pub column: Option<u32>,
    /// The functions into which this function was inlined, or that await this function, innermost first.
    #[serde(skip)]
    pub callers: Vec<String>,
    /// The library function, or the `poll` function of the user's own leaf future, in which this function waits, if
    /// known.
    #[serde(skip)]
    pub within: Option<String>,
    /// Module and offset, if there is no source position.
    #[serde(skip)]
    pub module: Option<String>,
}

impl Label {
    /// File and line as on all pages, or module and offset.
    pub fn at(&self) -> Option<String> {
        match (self.displayed_file(), self.line) {
            (Some(file), Some(line)) => Some(source(file, line, self.in_function)),
            (Some(file), None) => Some(file.to_owned()),
            _ => self.module.clone(),
        }
    }

    /// The path of the source file, in the style of all pages.
    pub fn displayed_file(&self) -> Option<&str> {
        let file = self.shown.as_deref().or(self.file.as_deref());
        file.map(paths::displayed)
    }

    /// Whether both labels are on the same source line. Their files may be relative to different folders.
    pub fn is_same_line(&self, other: &Label) -> bool {
        let is_same_file = match (&self.absolute, &other.file) {
            (Some(file), Some(other)) => file.ends_with(other),
            _ => false,
        };
        is_same_file && self.line.is_some() && self.line == other.line
    }

    /// Whether the program calls this function `name`. Programs name an async body as a closure.
    fn is_called(&self, name: &str) -> bool {
        let function = self.function.as_deref();
        function
            .is_some_and(|function| symbolize::enclosing(function) == symbolize::enclosing(name))
    }

    /// File and line, without directories.
    pub fn short(&self) -> Option<String> {
        let at = self.at()?;
        Some(at.rsplit('/').next().unwrap_or(&at).to_owned())
    }
}

/// Formats a source line as `main.rs:7`, or as `main.rs:7..` for an unknown line of the function that
/// begins there.
pub fn source(file: &str, line: u32, in_function: bool) -> String {
    let on = if in_function { ".." } else { "" };
    format!("{file}:{line}{on}")
}

/// The path of a function without type arguments and trait, such as
/// `tokio::sync::oneshot::Receiver::poll`.
pub fn plain(function: &str) -> Option<String> {
    let (of, method) = match function.strip_prefix('<') {
        Some(rest) => {
            let (as_trait, _) =
                outside_brackets(rest).find(|(at, _)| rest[*at..].starts_with(" as "))?;
            let method = rest.rfind(">::").map_or("", |at| &rest[at + 1..]);
            (&rest[..as_trait], method)
        }
        None => (function, ""),
    };
    let path: String = outside_brackets(of).map(|(_, c)| c).collect();
    let path = (path + method).replace("::::", "::");
    Some(path.trim_start_matches("::").to_owned())
}

/// The characters outside of `<…>`, with their positions. The `>` of `->` is no bracket.
fn outside_brackets(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut before) = (0usize, ' ');
    text.char_indices().filter(move |(_, c)| {
        depth += usize::from(*c == '<');
        let is_outside = depth == 0;
        depth = depth.saturating_sub(usize::from(*c == '>' && before != '-'));
        before = *c;
        is_outside
    })
}

/// The name that users know: `Notified` for `tokio::sync::notify::Notified::poll`, and
/// `Semaphore::acquire` for the full path of this function.
pub fn api(function: &str) -> &str {
    let function = function.strip_suffix("::poll").unwrap_or(function);
    let mut parts = function.rmatch_indices("::");
    let is_type = |rest: &str| rest.starts_with(char::is_uppercase);
    match (parts.next(), parts.next()) {
        (Some((at, _)), _) if is_type(&function[at + 2..]) => &function[at + 2..],
        (Some(_), Some((at, _))) => &function[at + 2..],
        _ => function,
    }
}

/// Displayed if neither name nor place is known.
pub const NO_NAME: &str = "(no name)";

/// Joins up to two names: `conn-1, conn-2`. Of more, lists the stems, with `*` for a number: `conn-*, probe`.
pub fn few_names(names: &[String]) -> Option<String> {
    let stems: BTreeSet<String> = names.iter().map(|name| numbered(name)).collect();
    match names {
        [] => None,
        [_] | [_, _] => Some(names.join(", ")),
        _ => Some(text::few(&stems.into_iter().collect::<Vec<_>>())),
    }
}

/// Returns `conn-*` for `conn-17`.
pub fn numbered(name: &str) -> String {
    match stem(name) {
        stem if stem == name => name.to_owned(),
        stem => format!("{stem}*"),
    }
}

/// The displayed form of a name: tidied and escaped, with a `{{closure}}` in a closure as `async block in f`. `None` for
/// an empty name.
pub fn tidy(name: &str) -> Option<String> {
    let tidy = symbolize::tidy(name);
    let tidy = match tidy.strip_prefix("closure in ") {
        Some(function) if name.ends_with("{{closure}}") => format!("async block in {function}"),
        _ => tidy,
    };
    (!name.is_empty()).then(|| text::escape(&tidy))
}

/// The label of a recorded line. The file of the program only adds the function.
pub fn at_line(line: &SourceLine, found: Option<FunctionAt>) -> Label {
    Label {
        function: found.as_ref().map(|found| text::escape(&found.function)),
        absolute: found.map(|found| PathBuf::from(found.file)),
        file: Some(text::escape(&line.file)),
        line: Some(line.line),
        column: Some(line.column).filter(|&column| 0 < column),
        ..Label::default()
    }
}

/// The code that the kernel maps into every process. Its functions are not recorded, and may differ on
/// this machine.
const VDSO: &[u8] = b"[vdso]";

/// The module and offset of an address, from the mappings in the trace.
pub fn in_module(modules: &[Mapping], address: u64) -> Option<String> {
    let module = modules
        .iter()
        .find(|module| module.start.0 <= address && address < module.end.0)?;
    let offset = (address - module.start.0).saturating_add(module.file_offset.0);
    if module.path == VDSO {
        return Some(format!("[vdso]+{offset:#x}"));
    }
    let is_file = module.path.starts_with(b"/");
    let name = module.path.rsplit(|&byte| byte == b'/').next();
    let name = text::escape_bytes(name.filter(|_| is_file)?);
    Some(format!("{name}, file offset {offset:#x}"))
}

/// The label of a function, found by its first instruction. Functions inlined there are ignored. If the
/// program gave another name, the function is only a wrapper, and its source is not that of the user.
pub fn of_function(found: &Resolved, name: &str) -> Label {
    let label = found
        .frames
        .last()
        .map(|frame| at_frame(frame, found))
        .unwrap_or_default();
    match tidy(name) {
        Some(name) if !label.is_called(&name) => Label {
            function: Some(name),
            module: label.module,
            ..Label::default()
        },
        _ => Label {
            in_function: label.line.is_some(),
            ..label
        },
    }
}

pub fn of_frames(found: &Resolved) -> Label {
    let innermost = found.frames.first().map(|frame| at_frame(frame, found));
    let callers = found.frames.iter().skip(1);
    let callers = callers.filter_map(|frame| frame.function.as_deref().map(text::escape));
    let callers = callers.collect();
    Label {
        callers,
        ..innermost.unwrap_or_default()
    }
}

/// The functions at an address, innermost first.
pub fn frames(found: &Resolved) -> Vec<Label> {
    let all = found.frames.iter();
    all.map(|frame| at_frame(frame, found)).collect()
}

fn at_frame(frame: &Frame, found: &Resolved) -> Label {
    Label {
        function: frame.function.as_deref().map(text::escape),
        file: frame
            .file
            .as_deref()
            .map(|file| text::escape(from_here(file))),
        absolute: frame.file.as_deref().map(PathBuf::from),
        line: frame.line,
        column: frame.column,
        module: Some(format!(
            "{}+{:#x}",
            text::escape(&found.module),
            found.offset
        )),
        ..Label::default()
    }
}

/// Makes a path below the working directory relative.
pub fn from_here(file: &str) -> &str {
    let here = std::env::current_dir().unwrap_or_default();
    let below = Path::new(file)
        .strip_prefix(here)
        .ok()
        .and_then(Path::to_str);
    below.unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_have_no_types_and_traits() {
        for (function, path) in [
            (
                "<tokio::sync::oneshot::Receiver<T> as core::future::future::Future>::poll",
                "tokio::sync::oneshot::Receiver::poll",
            ),
            (
                "tokio::sync::broadcast::Receiver<Option<u8>>::recv",
                "tokio::sync::broadcast::Receiver::recv",
            ),
            ("tokio::time::sleep", "tokio::time::sleep"),
            ("Vec::<u8>::push", "Vec::push"),
            ("app::Map<I, fn(u8) -> u8>::poll", "app::Map::poll"),
            (
                "<<app::T as app::Connect>::Output as core::future::future::Future>::poll",
                "Output::poll",
            ),
        ] {
            assert_eq!(plain(function).as_deref(), Some(path));
        }
        assert_eq!(plain("<impl>"), None);
    }

    #[test]
    fn functions_have_their_public_names() {
        for (path, known) in [
            ("tokio::sync::notify::Notified::poll", "Notified"),
            (
                "tokio::sync::semaphore::Semaphore::acquire",
                "Semaphore::acquire",
            ),
            ("tokio::time::timeout", "time::timeout"),
            ("poll", "poll"),
            ("", ""),
        ] {
            assert_eq!(api(path), known);
        }
    }
}
