//! Lines of the user's source file, if it can be read here.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use symbolize::{Places, open_regular};

use crate::names::label::Label;
use crate::text;

/// Lines shown above the one in question.
const ABOVE: u32 = 2;

/// Of a source file, as far as it is read: a line might have no end.
const MOST_BYTES: u64 = 16 << 20;

/// Where sources lie, and from when on a change of them is later than what was recorded.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Where files lie that have a path.
    pub places: Places,
    /// When the recording began; 0 if that is not known.
    pub recorded_unix_ns: u64,
}

/// A few lines of a file.
struct Excerpt {
    lines: Vec<(u32, String)>,
    /// The file was written after the recording began.
    is_newer: bool,
}

/// The line of a place and those above it, marked; nothing if the file is not there.
pub fn excerpt(sources: &Sources, label: &Label) -> Vec<String> {
    let (Some(file), Some(line)) = (&label.file, label.line) else {
        return Vec::new();
    };
    let relative = sources.read(Path::new(file), line);
    let absolute = || sources.read(label.absolute.as_deref()?, line);
    let Some(found) = relative.or_else(absolute) else {
        return Vec::new();
    };
    let lines = found.lines.iter();
    let mut shown: Vec<String> = lines
        .map(|(number, text)| show(*number, text, *number == line))
        .collect();
    if found.is_newer {
        shown.push("        (the file was changed after the recording began)".to_owned());
    }
    shown
}

fn show(number: u32, source: &str, marked: bool) -> String {
    let mark = if marked { '>' } else { ' ' };
    // A line may be as long as the file, and its escapes several times that.
    let start: String = source.chars().take(text::WIDTH).collect();
    let source = text::escape(&start.trim_end().replace('\t', "    "));
    text::cut(&format!("  {mark}{number:>5} | {source}"), text::WIDTH)
}

impl Sources {
    /// The wanted line and what stands above it. A file that is shorter is not the one recorded.
    fn read(&self, path: &Path, line: u32) -> Option<Excerpt> {
        let path = self.places.file(path);
        let file = open_source(&path)?;
        let is_newer = self.is_newer(&file);
        let first = line.saturating_sub(ABOVE).max(1);
        let numbered = (1u32..).zip(BufReader::new(file.take(MOST_BYTES)).lines());
        let wanted = numbered.skip_while(|(number, _)| *number < first);
        let lines: Vec<_> = wanted
            .take_while(|(number, text)| *number <= line && text.is_ok())
            .filter_map(|(number, text)| Some((number, text.ok()?)))
            .collect();
        let is_there = lines.last().is_some_and(|(number, _)| *number == line);
        is_there.then_some(Excerpt { lines, is_newer })
    }

    fn is_newer(&self, file: &File) -> bool {
        let recorded = UNIX_EPOCH + Duration::from_nanos(self.recorded_unix_ns);
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        self.recorded_unix_ns > 0 && modified.is_ok_and(|modified| recorded < modified)
    }
}

/// Opens a source file. Its name comes from the program or its debug info, and what is read is
/// printed: it must be the name of a source file, and so must be the name of the file that it leads to.
fn open_source(path: &Path) -> Option<File> {
    if !has_name_of_source(path) {
        return None;
    }
    let file = open_regular(path).ok()?;
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    has_name_of_source(&fs::read_link(opened).ok()?).then_some(file)
}

/// What names of source files end in, in the languages that can link a probe.
const EXTENSIONS: [&str; 29] = [
    "rs", "c", "cc", "cpp", "cxx", "c++", "cppm", "ixx", "h", "hh", "hpp", "hxx", "h++", "inc",
    "inl", "ipp", "tcc", "tpp", "m", "mm", "zig", "go", "d", "nim", "swift", "s", "asm", "f90",
    "cu",
];

fn has_name_of_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| EXTENSIONS.contains(&it.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_a_device_is_not_read() {
        assert!(Sources::default().read(Path::new("/dev/zero"), 1).is_none());
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let file = tempfile::NamedTempFile::with_suffix(".rs").unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        assert!(Sources::default().read(file.path(), 2).is_none());
    }
}
