//! What a place is called, from what the trace tells of it or the program's file.

use std::path::{Path, PathBuf};

use ctp_trace::trace_model::stem;
use serde::Serialize;
use symbolize::{Frame, FunctionAt, Mapping, Resolved, SourceLine};

use crate::text;

/// What a place is called. A JSON document has the position in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The function, as the user wrote it.
    pub function: Option<String>,
    /// The source file as it is named in the program.
    pub file: Option<String>,
    /// Its source file from the root, if known.
    #[serde(skip)]
    pub absolute: Option<PathBuf>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// That is where the function begins; where in it is not known.
    #[serde(skip)]
    pub in_function: bool,
    /// Column, from 1; `None` if not known.
    pub column: Option<u32>,
    /// The functions into which this one was inlined, or that await it, the innermost first.
    #[serde(skip)]
    pub callers: Vec<String>,
    /// The function of a library in which this one waits, if that is known.
    #[serde(skip)]
    pub within: Option<String>,
    /// Module and offset, where there is no source position.
    #[serde(skip)]
    pub module: Option<String>,
}

impl Label {
    /// Where that is: file and line, else module and offset.
    pub fn at(&self) -> Option<String> {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => Some(source(file, line, self.in_function)),
            (Some(file), None) => Some(file.clone()),
            _ => self.module.clone(),
        }
    }

    /// Whether both are of one line of source, whatever directory each file is named from.
    pub fn is_same_line(&self, other: &Label) -> bool {
        let is_same_file = match (&self.absolute, &other.file) {
            (Some(file), Some(other)) => file.ends_with(other),
            _ => false,
        };
        is_same_file && self.line.is_some() && self.line == other.line
    }

    /// Whether it is what the program calls so: that knows a body without a name of its own as a closure.
    fn is_called(&self, name: &str) -> bool {
        let function = self.function.as_deref();
        function
            .is_some_and(|function| symbolize::enclosing(function) == symbolize::enclosing(name))
    }

    /// File and line, without the directories.
    pub fn short(&self) -> Option<String> {
        let at = self.at()?;
        Some(at.rsplit('/').next().unwrap_or(&at).to_owned())
    }
}

/// A line of source, `main.rs:7`; `main.rs:7..` for somewhere in the function that begins there.
pub fn source(file: &str, line: u32, in_function: bool) -> String {
    let on = if in_function { ".." } else { "" };
    format!("{file}:{line}{on}")
}

/// A function's path without the arguments of types and the trait that it is of:
/// `tokio::sync::oneshot::Receiver::poll`.
pub fn plain(function: &str) -> Option<String> {
    let (of, method) = match function.strip_prefix('<') {
        Some(rest) => rest.split_once(" as ").map(|(of, rest)| {
            let method = rest.rfind(">::").map_or("", |at| &rest[at + 1..]);
            (of, method)
        })?,
        None => (function, ""),
    };
    let mut depth = 0usize;
    let mut is_outside = |c: char| {
        depth += usize::from(c == '<');
        let is_outside = depth == 0;
        depth = depth.saturating_sub(usize::from(c == '>'));
        is_outside
    };
    let path: String = of.chars().filter(|c| is_outside(*c)).collect();
    Some((path + method).replace("::::", "::"))
}

/// `Notified` for `tokio::sync::notify::Notified::poll`, `Semaphore::acquire` for the whole path of
/// that: by what it is known to those who use it.
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

/// What a coroutine is called that has no name at a place of which nothing is known.
pub const NO_NAME: &str = "(no name)";

/// `conn-*` for `conn-17`.
pub fn numbered(name: &str) -> String {
    match stem(name) {
        stem if stem == name => name.to_owned(),
        stem => format!("{stem}*"),
    }
}

/// A coroutine's name as the user wrote it. A body that has none, and is named after its type, is no
/// closure: nobody could poll that.
pub fn tidy(name: &str) -> Option<String> {
    let tidy = symbolize::tidy(name);
    let tidy = match tidy.strip_prefix("closure in ") {
        Some(function) if name.ends_with("{{closure}}") => format!("async block in {function}"),
        _ => tidy,
    };
    (!name.is_empty()).then(|| text::escape(&tidy))
}

/// What the trace knows of a line is true, whether or not the program's file is there.
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

/// The code that the kernel maps into every process. Which functions it has is not recorded, and
/// that of the kernel here may be another one.
const VDSO: &[u8] = b"[vdso]";

/// What the trace itself tells of an address: which file was mapped there, and which part of it.
pub fn in_module(modules: &[Mapping], address: u64) -> Option<String> {
    let covers = |module: &&Mapping| module.start.0 <= address && address < module.end.0;
    let module = modules.iter().find(covers)?;
    let offset = (address - module.start.0).saturating_add(module.file_offset.0);
    if module.path == VDSO {
        return Some(format!("[vdso]+{offset:#x}"));
    }
    let is_file = module.path.starts_with(b"/");
    let name = module.path.rsplit(|&byte| byte == b'/').next();
    let name = text::escape_bytes(name.filter(|_| is_file)?);
    Some(format!("{name}, file offset {offset:#x}"))
}

/// A function is known by its first instruction: what may be inlined there is not meant. If the
/// program gave it another name, it only wraps what is meant, and its source is not the user's.
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
    let name = |frame: &Frame| frame.function.as_deref().map(text::escape);
    let innermost = found.frames.first().map(|frame| at_frame(frame, found));
    let callers = found.frames.iter().skip(1).filter_map(name).collect();
    Label {
        callers,
        ..innermost.unwrap_or_default()
    }
}

/// The functions at an address, the innermost first.
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

/// A path below the working directory is shorter, and as true, without it.
fn from_here(file: &str) -> &str {
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
    fn a_function_is_plain_without_types_and_traits() {
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
        ] {
            assert_eq!(plain(function).as_deref(), Some(path));
        }
        assert_eq!(plain("<impl>"), None);
    }

    #[test]
    fn a_function_is_called_by_what_its_users_know() {
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
