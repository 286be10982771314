//! Links from places in the source to files, which terminals open (OSC 8).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The files behind the places of a page.
#[derive(Debug, Default)]
pub struct Links {
    host: String,
    /// Absolute paths by place, such as `src/main.rs:7`. `None` if a place may be in several files.
    files: BTreeMap<String, Option<PathBuf>>,
}

/// Characters around a place that do not belong to it.
const AROUND: [char; 6] = ['(', ')', ',', ';', ':', '.'];

impl Links {
    /// Creates links to files on this machine, which has the name `host`.
    pub fn new(host: &str) -> Self {
        Links {
            host: host.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// Adds a place. Relative paths are left out.
    pub fn add(&mut self, place: String, file: &Path) {
        if !file.is_absolute() {
            return;
        }
        match self.files.entry(place) {
            Entry::Vacant(new) => {
                new.insert(Some(file.to_owned()));
            }
            Entry::Occupied(mut known) => {
                if known.get().as_deref() != Some(file) {
                    known.insert(None);
                }
            }
        }
    }

    /// The line, with a link around each place of which the file exists.
    pub fn link(&self, line: &str) -> String {
        if self.files.is_empty() {
            return line.to_owned();
        }
        let words = line.split(' ').map(|word| self.link_word(word));
        words.collect::<Vec<_>>().join(" ")
    }

    fn link_word(&self, word: &str) -> String {
        let place = word.trim_matches(AROUND);
        let Some((before, after)) = word.split_once(place).filter(|_| !place.is_empty()) else {
            return word.to_owned();
        };
        match self.file(place) {
            Some(file) => format!(
                "{before}\x1b]8;;file://{}{}\x1b\\{place}\x1b]8;;\x1b\\{after}",
                encoded(self.host.as_bytes()),
                encoded(file.as_os_str().as_bytes())
            ),
            None => word.to_owned(),
        }
    }

    /// The file of a place, also of a place with a column.
    fn file(&self, place: &str) -> Option<&Path> {
        let without_column = || {
            let (place, column) = place.rsplit_once(':')?;
            let is_column = column.bytes().all(|byte| byte.is_ascii_digit());
            self.files.get(place).filter(|_| is_column)
        };
        let file = self.files.get(place).or_else(without_column)?;
        file.as_deref().filter(|file| file.is_file())
    }
}

/// Encodes all bytes that have a meaning in addresses, or that a terminal may interpret.
fn encoded(bytes: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(*byte));
            }
            byte => write!(encoded, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_existing_files_are_linked_and_escaped() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a\x1b]8;b\n.rs");
        fs::write(&file, "").unwrap();
        let mut links = Links::new("de;v");
        links.add("a.rs:7".to_owned(), &file);
        links.add("gone.rs:7".to_owned(), &directory.path().join("gone"));
        links.add("relative.rs:1".to_owned(), Path::new("a.rs"));
        let linked = links.link("  at a.rs:7, gone.rs:7 (a.rs:7:22) relative.rs:1 a.rs:71");
        let folder = directory.path().to_str().unwrap();
        let link = format!("\x1b]8;;file://de%3Bv{folder}/a%1B%5D8%3Bb%0A.rs\x1b\\");
        let end = "\x1b]8;;\x1b\\";
        assert_eq!(
            linked,
            format!(
                "  at {link}a.rs:7{end}, gone.rs:7 ({link}a.rs:7:22{end}) relative.rs:1 a.rs:71"
            )
        );
    }

    #[test]
    fn ambiguous_places_have_no_link() {
        let directory = tempfile::tempdir().unwrap();
        let mut links = Links::new("");
        for name in ["a.rs", "b.rs"] {
            fs::write(directory.path().join(name), "").unwrap();
            links.add("main.rs:7".to_owned(), &directory.path().join(name));
        }
        assert_eq!(links.link("main.rs:7"), "main.rs:7");
    }
}
