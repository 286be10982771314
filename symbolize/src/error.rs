//! [`Miss`]: why no function is known for an address. Callers keep the reason where they would keep the name.

use std::fmt;

use crate::addr::{Avma, FileOffset};

/// Why an address could not be given a name.
///
/// Paths are as the kernel printed them, without a trailing ` (deleted)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Miss {
    /// No recorded mapping contains the byte that was looked up.
    NoModule(Avma),
    /// Two different files were mapped at this address at different times.
    Ambiguous {
        /// The byte that was looked up.
        address: Avma,
        /// The file of a mapping.
        first: String,
        /// The file of another mapping.
        other: String,
    },
    /// The mapping is not of a file: `[vdso]`, `[heap]`, generated code, a memfd.
    NotAFile {
        /// What the kernel calls the mapping; may be empty.
        path: String,
    },
    /// The file was already replaced or removed while the program ran.
    Deleted {
        /// The path that the file had.
        path: String,
    },
    /// The file cannot be read here and now.
    Unreadable {
        /// The file.
        path: String,
        /// The system's error message.
        reason: String,
    },
    /// The file is not the build that ran.
    BuildIdMismatch {
        /// The file.
        path: String,
        /// The build id in the recording, in hex.
        recorded: String,
        /// The build id of the file in hex, or `none`.
        found: String,
    },
    /// The file is not an ELF file, or is damaged.
    NotElf {
        /// The file.
        path: String,
        /// What is wrong with the file.
        reason: String,
    },
    /// No segment of the file contains the offset at which the mapping has the address.
    NoSegment {
        /// The file.
        path: String,
        /// The offset in the file that corresponds to the address.
        offset: FileOffset,
    },
}

impl Miss {
    fn cause(&self) -> String {
        match self {
            Self::NoModule(address) => format!("{address} is in no recorded mapping"),
            Self::Ambiguous {
                address,
                first,
                other,
            } => {
                format!("{address} was in {first} and in {other} at different times")
            }
            Self::NotAFile { path } if path.is_empty() => "the code is in anonymous memory".into(),
            Self::NotAFile { path } => format!("the code is in {path}, which is not a file"),
            Self::Deleted { path } => {
                format!("{path} was replaced or removed while the program ran")
            }
            Self::Unreadable { path, reason } => format!("cannot read {path} ({reason})"),
            Self::BuildIdMismatch {
                path,
                recorded,
                found,
            } => {
                format!("{path} has build id {found}, but {recorded} is what ran")
            }
            Self::NotElf { path, reason } => format!("{path} is not a usable ELF file ({reason})"),
            Self::NoSegment { path, offset } => {
                format!("{path} has no segment with offset {offset}")
            }
        }
    }

    /// The remedy, or why there is none.
    fn remedy(&self) -> &'static str {
        match self {
            Self::NoModule(_) => {
                "the address is no code, or in a module loaded after the mappings were recorded"
            }
            Self::Ambiguous { .. } => "the recording does not say which was meant",
            Self::NotAFile { .. } => "there is nothing to take names from",
            Self::Deleted { .. } => "record again with the present file",
            Self::Unreadable { .. } => "put the recorded program or library at this path",
            Self::BuildIdMismatch { .. } | Self::NotElf { .. } | Self::NoSegment { .. } => {
                "put the recorded program or library at this path, or record again"
            }
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause(), self.remedy())
    }
}

impl std::error::Error for Miss {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_miss_is_a_single_line_with_the_subject() {
        let path = || "/bin/app".to_owned();
        let misses = [
            Miss::NoModule(Avma(0x10)),
            Miss::Ambiguous {
                address: Avma(0x10),
                first: path(),
                other: "/lib/b".to_owned(),
            },
            Miss::NotAFile {
                path: "[vdso]".to_owned(),
            },
            Miss::NotAFile {
                path: String::new(),
            },
            Miss::Deleted { path: path() },
            Miss::Unreadable {
                path: path(),
                reason: "no such file".to_owned(),
            },
            Miss::BuildIdMismatch {
                path: path(),
                recorded: "aa".to_owned(),
                found: "bb".to_owned(),
            },
            Miss::NotElf {
                path: path(),
                reason: "too short".to_owned(),
            },
            Miss::NoSegment {
                path: path(),
                offset: FileOffset(0x10),
            },
        ];
        for miss in misses {
            let text = miss.to_string();
            assert!(!text.contains('\n'), "{text}");
            let named = ["0x10", "/bin/app", "[vdso]", "anonymous"];
            assert!(named.iter().any(|name| text.contains(name)), "{text}");
        }
    }
}
