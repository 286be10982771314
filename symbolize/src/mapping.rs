//! The recorded mappings, searched by address.

use crate::addr::{Avma, FileOffset};
use crate::error::Miss;

/// An executable mapping of the recorded process.
///
/// The recorder parses `/proc/<pid>/maps`; this crate does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: Avma,
    /// First address after the mapping.
    pub end: Avma,
    /// The offset in the file of the byte that is mapped at `start`.
    pub file_offset: FileOffset,
    /// The path as the kernel prints it, which may end in ` (deleted)`.
    pub path: Vec<u8>,
    /// The build id of the file that was mapped; empty if unknown.
    pub build_id: Vec<u8>,
}

impl Mapping {
    fn contains(&self, address: Avma) -> bool {
        self.start <= address && address < self.end
    }

    /// Whether both have the same byte of the same file at every shared address, as far as is known.
    ///
    /// A file may be deleted between two reads of the same mapping.
    fn agrees_with(&self, other: &Self) -> bool {
        let is_unknown = self.build_id.is_empty() || other.build_id.is_empty();
        self.live_path() == other.live_path()
            && (is_unknown || self.build_id == other.build_id)
            && self.start.to_file_offset(other) == self.file_offset
    }

    /// The rank among mappings that agree: first by a known build id, then by whether the file is marked
    /// as deleted.
    fn reliability(&self) -> (bool, bool) {
        (!self.build_id.is_empty(), self.is_deleted())
    }

    /// The path without ` (deleted)`, for people.
    pub(crate) fn shown_path(&self) -> String {
        String::from_utf8_lossy(self.live_path()).into_owned()
    }

    /// The path without ` (deleted)`.
    pub(crate) fn live_path(&self) -> &[u8] {
        self.path.strip_suffix(DELETED).unwrap_or(&self.path)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.path.ends_with(DELETED)
    }

    /// Whether the path names a file. False for `[vdso]`, for a memfd, and for an empty path.
    pub(crate) fn is_file(&self) -> bool {
        self.path.starts_with(b"/") && !self.path.starts_with(b"/memfd:")
    }
}

const DELETED: &[u8] = b" (deleted)";

/// All mappings in order of their start.
#[derive(Debug)]
pub(crate) struct Mappings {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    mapping: Mapping,
    /// The largest end among this mapping and all before it: where a search to the left may stop.
    reach: Avma,
}

impl Mappings {
    pub(crate) fn new(mut mappings: Vec<Mapping>) -> Self {
        mappings.sort_by_key(|mapping| mapping.start);
        let mut reach = Avma(0);
        Self {
            entries: mappings
                .into_iter()
                .map(|mapping| {
                    reach = reach.max(mapping.end);
                    Entry { mapping, reach }
                })
                .collect(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.entries.iter().map(|entry| &entry.mapping)
    }

    pub(crate) fn contains(&self, address: Avma) -> bool {
        self.all_with(address).next().is_some()
    }

    /// The mapping that contains the address.
    ///
    /// A recording may hold several: libraries come and go while a program runs.
    /// If the mappings disagree about the code at the address, this is an error rather than a guess.
    pub(crate) fn find(&self, address: Avma) -> Result<&Mapping, Miss> {
        let found = self
            .all_with(address)
            .max_by_key(|mapping| mapping.reliability())
            .ok_or(Miss::NoModule(address))?;
        let mut all = self.all_with(address);
        match all.find(|other| !other.agrees_with(found)) {
            None => Ok(found),
            Some(other) => Err(Miss::Ambiguous {
                address,
                first: other.shown_path(),
                other: found.shown_path(),
            }),
        }
    }

    fn all_with(&self, address: Avma) -> impl Iterator<Item = &Mapping> {
        let after = self
            .entries
            .partition_point(|entry| entry.mapping.start <= address);
        self.entries[..after]
            .iter()
            .rev()
            .take_while(move |entry| address < entry.reach)
            .map(|entry| &entry.mapping)
            .filter(move |mapping| mapping.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, path: &str) -> Mapping {
        Mapping {
            start: Avma(start),
            end: Avma(end),
            file_offset: FileOffset(start & 0xffff),
            path: path.as_bytes().to_vec(),
            build_id: Vec::new(),
        }
    }

    #[test]
    fn finds_by_half_open_range() {
        let maps = Mappings::new(vec![
            mapping(0x3000, 0x4000, "/b"),
            mapping(0x1000, 0x2000, "/a"),
        ]);
        assert_eq!(maps.find(Avma(0x1000)).unwrap().path, b"/a");
        assert_eq!(maps.find(Avma(0x1fff)).unwrap().path, b"/a");
        assert_eq!(maps.find(Avma(0x2000)), Err(Miss::NoModule(Avma(0x2000))));
        assert_eq!(maps.find(Avma(0x3fff)).unwrap().path, b"/b");
        assert!(!maps.contains(Avma(0xfff)));
    }

    #[test]
    fn a_long_mapping_is_found_behind_short_mappings() {
        let maps = Mappings::new(vec![
            mapping(0x1000, 0x9000, "/a"),
            mapping(0x2000, 0x3000, "/a"),
            mapping(0x4000, 0x5000, "/a"),
        ]);
        assert_eq!(maps.find(Avma(0x8000)).unwrap().start, Avma(0x1000));
        assert!(maps.find(Avma(0x2800)).is_ok(), "both mean the same byte");
    }

    #[test]
    fn different_files_at_the_same_address_are_ambiguous() {
        let maps = Mappings::new(vec![
            mapping(0x1000, 0x2000, "/a"),
            mapping(0x1000, 0x3000, "/b"),
        ]);
        assert!(matches!(
            maps.find(Avma(0x1800)),
            Err(Miss::Ambiguous { .. })
        ));
        assert_eq!(maps.find(Avma(0x2800)).unwrap().path, b"/b");
    }

    #[test]
    fn a_file_deleted_between_two_reads_is_the_same_file() {
        let before = mapping(0x1000, 0x2000, "/a");
        let after = mapping(0x1000, 0x2000, "/a (deleted)");
        let both = |before: &Mapping| Mappings::new(vec![before.clone(), after.clone()]);
        assert_eq!(both(&before).find(Avma(0x1000)), Ok(&after));
        let proven = Mapping {
            build_id: vec![1],
            ..before
        };
        assert_eq!(both(&proven).find(Avma(0x1000)), Ok(&proven));
    }

    #[test]
    fn only_paths_of_files_are_files() {
        for path in [
            "[vdso]",
            "",
            "anon_inode:[io_uring]",
            "/memfd:jit (deleted)",
        ] {
            assert!(!mapping(0, 1, path).is_file(), "{path}");
        }
        let missing = mapping(0, 1, "/bin/a (deleted)");
        assert!(missing.is_file() && missing.is_deleted());
        assert_eq!(missing.shown_path(), "/bin/a");
    }
}
