//! Excerpts of source files, if they can be read on this machine.

mod files;
pub mod paths;

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use symbolize::SearchPaths;

use crate::names::Label;
use crate::text::{self, ContextLines};
use files::{SourceFile, SourceFiles};

/// Maximum width of a line, in columns.
const MAX_COLUMNS: usize = 240;

/// Location of source files, and the start of the recording, to detect later changes.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Where to look for files.
    pub search_paths: SearchPaths,
    /// Start of the recording, or 0 if unknown.
    pub recorded_unix_ns: u64,
    /// Files that were read.
    pub files: SourceFiles,
}

/// The line of a place, marked, and the lines around. Empty if the file is missing.
pub fn excerpt(sources: &Sources, label: &Label, lines: ContextLines) -> Vec<String> {
    let (Some(file), Some(line)) = (&label.file, label.line) else {
        return Vec::new();
    };
    let relative = sources.read(Path::new(file), line, lines);
    relative
        .or_else(|| sources.read(label.absolute.as_deref()?, line, lines))
        .unwrap_or_default()
}

/// Formats a line. A line may be as long as the file, and longer when escaped, so the line is cut first.
fn show(number: u32, source: &str, marked: bool) -> String {
    let mark = if marked { '>' } else { ' ' };
    let start: String = source.chars().take(MAX_COLUMNS).collect();
    let source = text::escape(&start.trim_end().replace('\t', "    "));
    text::cut(&format!("  {mark}{number:>5} | {source}"), MAX_COLUMNS)
}

impl Sources {
    /// Reads the line and the lines around. `None` if the file is shorter, and so has changed.
    fn read(&self, path: &Path, line: u32, lines: ContextLines) -> Option<Vec<String>> {
        let file = self.files.open(&self.search_paths.file(path))?;
        let first = line.saturating_sub(lines.above).max(1);
        let last = line.saturating_add(lines.below);
        let numbered = (first..=last).zip(file.lines_from(first));
        let numbered: Vec<(u32, &str)> = numbered.collect();
        numbered.last().filter(|(number, _)| line <= *number)?;
        let shown = numbered.iter();
        let mut shown: Vec<String> = shown
            .map(|(number, text)| show(*number, text, *number == line))
            .collect();
        if self.is_newer(&file) {
            shown.push("        (the file was changed after the recording began)".to_owned());
        }
        Some(shown)
    }

    fn is_newer(&self, file: &SourceFile) -> bool {
        let recorded = UNIX_EPOCH + Duration::from_nanos(self.recorded_unix_ns);
        self.recorded_unix_ns > 0 && file.is_newer_than(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_a_device_is_not_read() {
        assert!(
            Sources::default()
                .read(Path::new("/dev/zero"), 1, ContextLines::FEW)
                .is_none()
        );
    }

    #[test]
    fn endless_lines_are_not_read() {
        let file = tempfile::NamedTempFile::with_suffix(".rs").unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        assert!(
            Sources::default()
                .read(file.path(), 2, ContextLines::FEW)
                .is_none()
        );
    }
}
