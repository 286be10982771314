//! The style of paths on pages: as short as possible, and the same for all places.
//!
//! - A file of a downloaded package begins with the package: `tokio-1.47.1/src/time/sleep.rs`.
//! - A file of the standard library begins with the crate: `std/src/thread/mod.rs`.
//! - If the program recorded relative paths, all its files are relative to the same directory.
//! - Otherwise a file below the working directory is relative to that directory.

use std::path::{Path, PathBuf};

use symbolize::path_in_packages;

use crate::names::Label;
use crate::text;

/// Folders below which each crate of the standard library has a folder.
const LIBRARIES: [&str; 2] = ["/rustlib/src/rust/library/", "/library/"];

/// The path of a file, as short as possible without knowledge of other files.
pub fn displayed(file: &str) -> &str {
    path_in_packages(file)
        .or_else(|| in_library(file))
        .unwrap_or(file)
}

/// The path from the folder of a crate of the standard library on.
fn in_library(file: &str) -> Option<&str> {
    if !file.starts_with("/rustc/") && !file.contains(LIBRARIES[0]) {
        return None;
    }
    let mut found = LIBRARIES
        .iter()
        .filter_map(|folder| file.split_once(folder));
    found.next().map(|(_, rest)| rest)
}

/// The directory of the paths that the program recorded. `None` if no place has such a path.
pub fn common_root<'l>(labels: impl IntoIterator<Item = &'l Label>) -> Option<PathBuf> {
    let roots = labels.into_iter().filter_map(root_of);
    roots.min_by_key(|root| root.components().count())
}

/// Makes the files of the program relative to this directory.
pub fn show_below<'l>(root: &Path, labels: impl IntoIterator<Item = &'l mut Label>) {
    for label in labels {
        let absolute = label.absolute.as_deref().and_then(Path::to_str);
        let file = absolute.or(label.file.as_deref());
        label.shown = file.and_then(|file| below(file, root)).map(text::escape);
    }
}

fn below<'f>(file: &'f str, root: &Path) -> Option<&'f str> {
    let is_of_program = displayed(file) == file;
    let path = Path::new(file).strip_prefix(root).ok()?;
    path.to_str()
        .filter(|path| is_of_program && !path.is_empty())
}

/// The directory to which the compiler was given the path of the file, if both paths are known.
fn root_of(label: &Label) -> Option<PathBuf> {
    let file = Path::new(label.file.as_deref()?);
    let absolute = label.absolute.as_deref()?;
    if file.is_absolute() || !absolute.is_absolute() || !absolute.ends_with(file) {
        return None;
    }
    let root = absolute.ancestors().nth(file.components().count())?;
    Some(root.to_owned()).filter(|root| root.parent().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(file: &str, absolute: Option<&str>) -> Label {
        Label {
            file: Some(file.to_owned()),
            absolute: absolute.map(PathBuf::from),
            line: Some(7),
            ..Label::default()
        }
    }

    fn shown(labels: &mut [Label]) -> Vec<String> {
        let root = common_root(labels.iter());
        root.inspect(|root| show_below(root, labels.iter_mut()));
        labels.iter().filter_map(Label::at).collect()
    }

    #[test]
    fn packages_and_crates_begin_paths() {
        let registry = "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        for (file, expected) in [
            (
                format!("{registry}/tokio-1.54.1/src/runtime/park.rs"),
                "tokio-1.54.1/src/runtime/park.rs",
            ),
            (
                "/root/.cargo/git/checkouts/pool-1f2e/3d4c/src/lib.rs".to_owned(),
                "3d4c/src/lib.rs",
            ),
            (
                "/rustc/59807616e1fa/library/std/src/thread/local.rs".to_owned(),
                "std/src/thread/local.rs",
            ),
            (
                "/u/toolchains/stable/lib/rustlib/src/rust/library/core/src/a.rs".to_owned(),
                "core/src/a.rs",
            ),
            (
                "/home/library/app/src/main.rs".to_owned(),
                "/home/library/app/src/main.rs",
            ),
            ("src/main.rs".to_owned(), "src/main.rs"),
        ] {
            assert_eq!(displayed(&file), expected);
        }
    }

    #[test]
    fn compiled_and_recorded_paths_are_shown_alike() {
        let mut labels = [
            label("app/src/main.rs", Some("/home/u/work/app/src/main.rs")),
            label("/home/u/work/pool/src/lib.rs", None),
            label("src/net.rs", Some("/home/u/work/app/src/net.rs")),
            label("/rustc/5/library/std/src/a.rs", None),
        ];
        assert_eq!(
            shown(&mut labels),
            [
                "app/src/main.rs:7",
                "pool/src/lib.rs:7",
                "app/src/net.rs:7",
                "std/src/a.rs:7"
            ]
        );
    }

    #[test]
    fn odd_paths_are_shown() {
        let mut odd = ["/", "", "//../src/../..", "a/../../a"].map(|file| label(file, Some(file)));
        assert_eq!(shown(&mut odd).len(), 4);
    }
}
