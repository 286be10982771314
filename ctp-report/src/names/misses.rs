//! The reasons for missing names.

use std::collections::BTreeSet;

use symbolize::{Lookup, Mapping, Miss, SearchPaths, Symbolizer};

use crate::text::{self, units};

const REFUSED: &str = "not read, or only in part";
/// Maximum number of unread files that are named.
const REFUSED_NAMED: usize = 3;

/// The distinct reasons for missing names.
#[derive(Debug, Default)]
pub struct Misses {
    reasons: BTreeSet<String>,
}

impl Misses {
    /// Adds other reasons.
    pub fn add(&mut self, other: Misses) {
        self.reasons.extend(other.reasons);
    }

    /// The distinct reasons.
    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        self.reasons.iter().map(String::as_str)
    }

    /// Notes which files could not be read, and why. Called if recorded lines have no function.
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
        if let Some(name) = program.filter(|_| self.reasons.is_empty()) {
            self.reasons.insert(format!(
                "functions are missing: {} has no debug info; build the program with debug info \
                 (`debug = 1` in its profile, -g1), or say with --debug-dir or --symfs where the debug info is",
                text::escape(name)
            ));
        }
    }

    /// Notes files that would take too much memory.
    pub fn note_refused(&mut self, search_paths: &SearchPaths) {
        let refused = search_paths.refused();
        let named = refused.iter().take(REFUSED_NAMED).map(|file| {
            let path = text::escape(&file.path.to_string_lossy());
            format!("{path} ({})", units::size(file.bytes))
        });
        let mut files: Vec<String> = named.collect();
        if REFUSED_NAMED < refused.len() {
            let others = refused.len() - REFUSED_NAMED;
            files.push(units::counted(others as u64, "other file"));
        }
        self.reasons.retain(|reason| !reason.contains(REFUSED));
        if !files.is_empty() {
            let limit = units::size(search_paths.max_bytes());
            let files = files.join(", ");
            self.reasons.insert(format!(
                "names are missing: {files} {REFUSED}: all programs and their debug info may take \
                 {limit} of memory; allow more with --max-module"
            ));
        }
    }

    /// Notes a miss, except for addresses outside all files, which plain v1 programs may write.
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
