//! Which functions are code of the user: neither library code nor the probe's.

use std::path::{Path, PathBuf};

use crate::config::ignore::Ignore;
use crate::names::Label;

const PROBE: &str = "ctp_nostd";
/// Crates that are never code of the user: the standard library and the probe.
const UNOWNED: [&str; 4] = ["core", "alloc", "std", PROBE];
/// Folders of downloaded packages, and of the standard library.
const ELSEWHERE: [&str; 3] = ["registry/src", "git/checkouts", "rustlib/src"];
const LIBRARY: &str = "/rustc/";

/// Decides which functions are code of the user.
#[derive(Clone, Debug, Default)]
pub struct UserCode {
    /// Functions and lines that the user wants to skip.
    skip: Ignore,
    /// The folder of the probe's source.
    probe: Option<PathBuf>,
}

impl UserCode {
    /// Counts all functions as code of the user except libraries, the probe, and those that match `skip`.
    pub fn new(skip: Ignore) -> Self {
        UserCode { skip, probe: None }
    }

    /// Learns the source folder of the probe from `functions`, which belong to the probe.
    pub fn note_probe(&mut self, functions: &[Label]) {
        if self.probe.is_none() {
            self.probe = functions.iter().find_map(source_folder);
        }
    }

    /// Whether a function belongs to the probe, by its crate or its file. Reduced debug info has the
    /// file of an inlined function, but not its path (`ctp_nostd::…`).
    pub fn is_of_probe(&self, label: &Label) -> bool {
        crate_of(label) == Some(PROBE)
            || self.probe.as_ref().is_some_and(|folder| {
                let file = label.absolute.as_deref();
                file.is_some_and(|file| file.starts_with(folder))
            })
    }

    /// Whether a function belongs neither to the standard library, nor to the probe or a downloaded
    /// package, and is not skipped. If the function's name has no crate, its file decides.
    pub fn is_of_user(&self, label: &Label) -> bool {
        let is_owned = match crate_of(label) {
            Some(krate) => !UNOWNED.contains(&krate),
            None => label.absolute.is_some() && label.function.is_some(),
        };
        let is_elsewhere = label.absolute.as_deref().is_some_and(lies_elsewhere);
        is_owned && !is_elsewhere && !self.is_of_probe(label) && !self.is_skipped(label)
    }

    /// Whether the function of a leaf future is code of the user. `future` is the type of the traced future.
    /// A leaf without a source file is most likely library code, unless the leaf and the future are in the
    /// same crate.
    pub fn is_leaf_of_user(&self, label: &Label, future: &str) -> bool {
        let is_known = label.absolute.is_some() || crate_of(label) == crate_in(future);
        self.is_of_user(label) && is_known
    }

    fn is_skipped(&self, label: &Label) -> bool {
        let function = label.function.as_deref().unwrap_or_default();
        self.skip.is_of(function, label.at().as_deref())
    }
}

/// The folder `src` in which the source of a function lies.
fn source_folder(label: &Label) -> Option<PathBuf> {
    let file = label.absolute.as_deref()?;
    let is_library = file.to_string_lossy().contains("/library/");
    let mut folders = file.ancestors().filter(|_| !is_library);
    folders
        .find(|folder| folder.ends_with("src"))
        .map(Path::to_path_buf)
}

/// Whether a function belongs to a downloaded package other than the probe. Code from a macro of the
/// package is in a file of the package, but in the crate of the user.
pub fn is_of_package(label: &Label) -> bool {
    let krate = crate_of(label).filter(|krate| !UNOWNED.contains(krate));
    krate.is_some_and(|krate| {
        let file = label.absolute.as_ref();
        file.is_none_or(|file| is_in_package(&file.to_string_lossy(), krate))
    })
}

/// Whether the file is in the cargo folder of the crate, such as `tokio-util-0.7.18`.
fn is_in_package(file: &str, krate: &str) -> bool {
    file.split('/').any(|folder| {
        let folder = folder.replace('-', "_");
        let version = folder.strip_prefix(krate);
        version.is_some_and(|version| {
            version.is_empty()
                || version
                    .strip_prefix('_')
                    .is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        })
    })
}

/// Whether a function belongs to the standard library, the probe, a downloaded package or the C library.
pub fn is_of_library(label: &Label) -> bool {
    let is_elsewhere = label.absolute.as_deref().is_some_and(lies_elsewhere);
    let is_unowned = crate_of(label).is_some_and(|krate| UNOWNED.contains(&krate));
    is_elsewhere || is_unowned || is_of_c_library(label)
}

/// File names of the C library, and source folders for static linking.
const C_MODULES: [&str; 6] = [
    "libc.so",
    "libc-2",
    "libpthread",
    "libc.musl",
    "ld-musl",
    "ld-linux",
];
const C_SOURCES: [&str; 3] = ["./nptl/", "./csu/", "../sysdeps/"];

fn is_of_c_library(label: &Label) -> bool {
    let file = label.file.as_deref().unwrap_or_default();
    let module = label.module.as_deref().unwrap_or_default();
    C_MODULES.iter().any(|prefix| module.starts_with(prefix))
        || C_SOURCES.iter().any(|prefix| file.starts_with(prefix))
        || (file.starts_with("./") && file.contains("/../sysdeps/"))
}

fn lies_elsewhere(file: &Path) -> bool {
    let file = file.to_string_lossy();
    file.starts_with(LIBRARY) || ELSEWHERE.iter().any(|part| file.contains(part))
}

/// The crate of a function: the first part of its path, or of the path of its type. Some functions
/// that the compiler generates have no path and no crate.
fn crate_of(label: &Label) -> Option<&str> {
    crate_in(label.function.as_deref()?)
}

fn crate_in(function: &str) -> Option<&str> {
    let path = function.rsplit(" in ").next().unwrap_or(function);
    let path = path.trim_start_matches(['<', '&', '(', '[', '*']);
    let path = path.strip_prefix("mut ").unwrap_or(path);
    if !path.contains("::") {
        return None;
    }
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&path[..end.unwrap_or(path.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_the_package_of_their_folder() {
        let file = "/root/.cargo/registry/src/index-1949/tokio-util-0.7.18/src/task.rs";
        assert!(is_in_package(file, "tokio_util"));
        assert!(!is_in_package(file, "tokio") && !is_in_package(file, "app"));
        assert!(is_in_package("/checkouts/axum/src/lib.rs", "axum"));
    }

    // CT-13
    #[test]
    fn leaf_without_source_belongs_to_the_crate_of_the_future() {
        let leaf = |function: &str| Label {
            function: Some(function.to_owned()),
            ..Label::default()
        };
        let user = UserCode::default();
        let notified = leaf("<tokio::sync::notify::Notified as core::future::Future>::poll");
        assert!(!user.is_leaf_of_user(&notified, "app::serve::{{closure}}"));
        assert!(!user.is_leaf_of_user(&notified, "") && is_of_package(&notified));
        assert!(user.is_leaf_of_user(&leaf("app::Reply::poll"), "app::serve::{{closure}}"));
    }

    // CT-14
    #[test]
    fn libraries_are_distinguished_from_the_program() {
        let of = |function: &str, file: &str, module: &str| Label {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            absolute: Some(file.into()),
            module: Some(module.to_owned()),
            ..Label::default()
        };
        for library in [
            of(
                "core::task::wake::Waker::wake",
                "/rustc/5980/wake.rs",
                "app+0x1",
            ),
            of(
                "start_thread",
                "./nptl/pthread_create.c",
                "libc.so.6+0x9caa4",
            ),
            of("start_thread", "./nptl/pthread_create.c", "app+0x9caa4"),
            of(
                "syscall",
                "./misc/../sysdeps/x86_64/syscall.S",
                "app+0x9caa4",
            ),
            of(
                "f",
                "/root/.cargo/registry/src/x/tokio-1/src/a.rs",
                "app+0x1",
            ),
        ] {
            assert!(is_of_library(&library), "{library:?}");
        }
        for own in [
            of("main", "/home/me/src/main.c", "app+0x1"),
            of("app::libc.so", "src/main.rs", "app+0x1"),
            Label::default(),
        ] {
            assert!(!is_of_library(&own), "{own:?}");
        }
    }
}
