//! The reasons for missing names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use symbolize::{Lookup, Mapping, Miss, SearchPaths, Symbolizer};

use crate::text::{self, units};

/// Maximum number of unread files that are listed.
const MAX_REFUSED_LISTED: usize = 3;

/// The distinct reasons for missing names.
#[derive(Debug, Default)]
pub struct Misses {
    reasons: BTreeSet<String>,
    /// The files that were not read completely because of the memory limit, with their sizes in bytes.
    refused: BTreeMap<PathBuf, u64>,
    /// The memory limit in bytes, if files were refused.
    limit_bytes: u64,
}

impl Misses {
    /// Adds other reasons.
    pub fn add(&mut self, other: Misses) {
        self.reasons.extend(other.reasons);
        self.refused.extend(other.refused);
        self.limit_bytes = self.limit_bytes.max(other.limit_bytes);
    }

    /// The distinct reasons.
    pub fn reasons(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().cloned().chain(self.describe_refused())
    }

    fn is_empty(&self) -> bool {
        self.reasons.is_empty() && self.refused.is_empty()
    }

    /// Notes why recorded lines have no function: files that could not be read, or else a program without debug info.
    /// The lookup of the first address of a file opens the file.
    pub fn note_unreadable(
        &mut self,
        symbolizer: &mut Symbolizer,
        modules: &[Mapping],
        search_paths: &SearchPaths,
    ) {
        for module in modules {
            if let Err(miss) = symbolizer.resolve(module.start, Lookup::Exact) {
                self.note(miss);
            }
        }
        self.note_refused(search_paths);
        // The kernel lists the program before its libraries.
        let program = modules
            .iter()
            .filter(|module| !is_of_the_system(module))
            .find_map(|module| symbolizer.lacks_debug_info(module));
        if let Some(name) = program.filter(|_| self.is_empty()) {
            self.reasons.insert(format!(
                "functions are missing: {} has no debug info; build the program with debug info \
                 (`debug = 1` in its profile, -g1), or name the directory of the debug info with --debug-dir or --symfs",
                text::escape(name)
            ));
        }
    }

    /// Notes files that would take too much memory.
    pub fn note_refused(&mut self, search_paths: &SearchPaths) {
        let refused = search_paths.refused().into_iter();
        self.refused
            .extend(refused.map(|file| (file.path, file.bytes)));
        self.limit_bytes = search_paths.max_bytes();
    }

    fn describe_refused(&self) -> Option<String> {
        let listed = self.refused.iter().take(MAX_REFUSED_LISTED);
        let mut files: Vec<String> = listed
            .map(|(path, bytes)| {
                let path = text::escape(&path.to_string_lossy());
                format!("{path} ({})", units::size(*bytes))
            })
            .collect();
        if MAX_REFUSED_LISTED < self.refused.len() {
            let others = self.refused.len() - MAX_REFUSED_LISTED;
            files.push(units::counted(others as u64, "other file"));
        }
        let limit = units::size(self.limit_bytes);
        (!files.is_empty()).then(|| {
            let files = files.join(", ");
            format!(
                "names are missing: {files} not read, or only in part: their debug info is nested too deeply, or all \
                 programs take more than {limit} of memory, which --max-module changes"
            )
        })
    }

    /// Notes a miss, except for addresses in no file: programs with the v1 probe may record any address.
    pub fn note(&mut self, miss: &Miss) {
        if !matches!(miss, Miss::NoModule(_) | Miss::NotAFile { .. }) {
            self.reasons.insert(format!(
                "names are missing: {}{}",
                text::escape(&miss.to_string()),
                remedy(miss)
            ));
        }
    }
}

/// Whether the file is a library of the system, which usually has no debug info and which the user
/// does not rebuild.
fn is_of_the_system(module: &Mapping) -> bool {
    const FOLDERS: [&str; 5] = ["/lib/", "/lib32/", "/lib64/", "/usr/lib", "/usr/local/lib"];
    let path = String::from_utf8_lossy(&module.path);
    path.contains(".so") && FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// The remedy for a missing file.
fn remedy(miss: &Miss) -> &'static str {
    match miss {
        Miss::Unreadable { .. } | Miss::BuildIdMismatch { .. } | Miss::Deleted { .. } => {
            ", or name a root directory that has the file (--symfs DIR)"
        }
        _ => "",
    }
}
