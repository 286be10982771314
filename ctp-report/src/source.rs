//! Lines of the user's source file, if it can be read here.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::names::Label;
use crate::text;

/// Lines shown above the one in question.
const ABOVE: u32 = 2;

/// The line of a place and those above it, marked; nothing if the file is not there.
pub fn excerpt(label: &Label) -> Vec<String> {
    let (Some(file), Some(line)) = (&label.file, label.line) else {
        return Vec::new();
    };
    let relative = read(Path::new(file), line);
    let absolute = || {
        label
            .absolute
            .as_deref()
            .map(|path| read(path, line))
            .unwrap_or_default()
    };
    let found = if relative.is_empty() {
        absolute()
    } else {
        relative
    };
    found
        .iter()
        .map(|(number, text)| show(*number, text, *number == line))
        .collect()
}

fn show(number: u32, source: &str, marked: bool) -> String {
    let mark = if marked { '>' } else { ' ' };
    let source = text::escape(&source.trim_end().replace('\t', "    "));
    text::cut(&format!("  {mark}{number:>5} | {source}"), text::WIDTH)
}

/// The wanted line and what stands above it. A file that is shorter is not the one recorded.
fn read(path: &Path, line: u32) -> Vec<(u32, String)> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let first = line.saturating_sub(ABOVE).max(1);
    let numbered = (1u32..).zip(BufReader::new(file).lines());
    let wanted = numbered.skip_while(|(number, _)| *number < first);
    let lines: Vec<_> = wanted
        .take_while(|(number, text)| *number <= line && text.is_ok())
        .filter_map(|(number, text)| Some((number, text.ok()?)))
        .collect();
    if lines.last().is_some_and(|(number, _)| *number == line) {
        lines
    } else {
        Vec::new()
    }
}
