//! [`SearchPaths`]: where the files of a recording are read from, and how much memory they may take.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::budget::{Budget, Refused};

/// Where separate debug files are installed.
const INSTALLED: &str = "/usr/lib/debug";

/// Where to look for binaries and for their separate debug files, and how much memory those may take.
#[derive(Clone, Debug)]
pub struct SearchPaths {
    root: Option<PathBuf>,
    debug: Vec<PathBuf>,
    budget: Arc<Budget>,
}

impl Default for SearchPaths {
    fn default() -> Self {
        Self {
            root: None,
            debug: Vec::new(),
            budget: Budget::new(Budget::DEFAULT_BYTES),
        }
    }
}

impl SearchPaths {
    /// Reads files from their recorded paths, and separate debug files from below `/usr/lib/debug`.
    pub fn recorded() -> Self {
        Self::default()
    }

    /// Reads all files from below this directory, by the recorded path or else by the name alone. No
    /// file outside of the directory is read.
    pub fn below(root: PathBuf) -> Self {
        Self {
            root: Some(root),
            ..Self::default()
        }
    }

    /// Limits the memory for all files together to this number of bytes. The default is 256 MiB.
    ///
    /// Clones share the budget.
    #[must_use]
    pub fn with_max_bytes(self, bytes: u64) -> Self {
        Self {
            budget: Budget::new(bytes),
            ..self
        }
    }

    /// The maximum memory for all files together, in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.budget.limit()
    }

    /// The files that were not read, or only in part, because not enough memory was left.
    pub fn refused(&self) -> Vec<Refused> {
        self.budget.refused()
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Adds a directory like `/usr/lib/debug`. The path is used unchanged, even with a root directory.
    #[must_use]
    pub fn with_debug_directory(mut self, directory: PathBuf) -> Self {
        self.debug.push(directory);
        self
    }

    /// The path from which the file with this recorded path is read. There may be no file at that path.
    pub fn file(&self, recorded: &Path) -> PathBuf {
        let Some(root) = &self.root else {
            return recorded.to_owned();
        };
        let whole = root.join(relative(recorded));
        let by_name = recorded.file_name().map(|name| root.join(name));
        match by_name {
            Some(by_name) if !whole.is_file() && by_name.is_file() => by_name,
            _ => whole,
        }
    }

    /// Where the separate debug file of a binary may be, according to its build id.
    ///
    /// The layout is that of GDB, "Debugging Information in Separate Files".
    pub(crate) fn by_build_id(&self, build_id: &[u8]) -> Vec<PathBuf> {
        let Some((first, rest)) = build_id.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return Vec::new();
        };
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let below = format!(".build-id/{first:02x}/{rest}.debug");
        let directories = self.debug_directories().into_iter();
        directories
            .map(|directory| directory.join(&below))
            .collect()
    }

    /// Where the separate debug file may be, by the name in the binary. `here` is the path of the binary,
    /// `recorded` the recorded path.
    pub(crate) fn by_link(&self, link: &[u8], here: &Path, recorded: &Path) -> Vec<PathBuf> {
        // The name must not have directories (GDB, ibid.), so a name cannot lead elsewhere.
        let Some(link) = Path::new(OsStr::from_bytes(link)).file_name() else {
            return Vec::new();
        };
        let directory = here.parent().unwrap_or(Path::new("/"));
        let mut candidates = vec![directory.join(link), directory.join(".debug").join(link)];
        let recorded = relative(recorded.parent().unwrap_or(Path::new("/")));
        let installed = self.debug_directories().into_iter();
        candidates.extend(installed.map(|installed| installed.join(&recorded).join(link)));
        candidates
    }

    /// The file with this name as seen from the file `here`, unless the name leads out of the search paths.
    pub(crate) fn by_name(&self, name: &Path, here: &Path) -> Option<PathBuf> {
        if name.is_absolute() {
            return Some(self.file(name));
        }
        let Some(root) = &self.root else {
            return Some(here.parent()?.join(name));
        };
        let path = resolved(&here.parent()?.join(name));
        let mut within = self.debug.iter().chain([root]);
        within
            .any(|directory| path.starts_with(resolved(directory)))
            .then_some(path)
    }

    fn debug_directories(&self) -> Vec<PathBuf> {
        let installed = match &self.root {
            Some(root) => root.join(relative(Path::new(INSTALLED))),
            None => PathBuf::from(INSTALLED),
        };
        let own = self.debug.iter().cloned();
        own.chain([installed]).collect()
    }
}

/// The path without the root, and without parts that would lead out of a directory.
fn relative(path: &Path) -> PathBuf {
    use std::path::Component;
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

/// Removes each `..` from the path, together with the directory before it. Links are not followed.
fn resolved(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match (part, plain.file_name()) {
            (Component::ParentDir, Some(_)) => drop(plain.pop()),
            (Component::ParentDir, None) if plain.has_root() => {}
            _ => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_a_directory_and_a_name() {
        let search_paths = SearchPaths::recorded().with_debug_directory("/d".into());
        let found = search_paths.by_build_id(&[0xab, 0xcd, 0x01]);
        let expected =
            ["/d", "/usr/lib/debug"].map(|text| format!("{text}/.build-id/ab/cd01.debug"));
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(search_paths.by_build_id(&[]), Vec::<PathBuf>::new());
    }

    #[test]
    fn recorded_paths_stay_below_the_root() {
        let search_paths = SearchPaths::below("/r".into());
        let file = search_paths.file(Path::new("/usr/../../etc/app"));
        assert_eq!(file, Path::new("/r/usr/etc/app"));
    }

    #[test]
    fn a_link_is_a_name_without_directories() {
        let search_paths = SearchPaths::below("/r".into());
        let by_link = |link: &str| {
            let found =
                search_paths.by_link(link.as_bytes(), Path::new("/r/app"), Path::new("/app"));
            found.into_iter().next()
        };
        let expected = Some(PathBuf::from("/r/passwd"));
        assert_eq!(by_link("passwd"), expected);
        assert_eq!(by_link("../../etc/passwd"), expected);
        assert_eq!(by_link("/etc/passwd"), expected);
        assert_eq!(by_link(".."), None);
    }

    #[test]
    fn names_in_files_stay_below_the_root() {
        let search_paths = SearchPaths::below("/r".into()).with_debug_directory("/d".into());
        let by_name = |name: &str, here: &str| {
            let found = search_paths.by_name(Path::new(name), Path::new(here));
            found.map(|path| path.to_string_lossy().into_owned())
        };
        assert_eq!(by_name("/x.dwz", "/r/bin/app").as_deref(), Some("/r/x.dwz"));
        assert_eq!(
            by_name("../x.dwz", "/r/bin/app").as_deref(),
            Some("/r/x.dwz")
        );
        assert_eq!(by_name("../x.dwz", "/d/a/app").as_deref(), Some("/d/x.dwz"));
        assert_eq!(by_name("../../etc/x.dwz", "/r/bin/app"), None);
        assert_eq!(by_name("../r/../../etc/x.dwz", "/r/app"), None);
    }
}
