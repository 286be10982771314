//! Which functions are code of the user: neither library code nor the probe's.

use std::path::{Path, PathBuf};

use symbolize::is_dependency;

use crate::config::ignore::Ignore;
use crate::names::Label;

const PROBE: &str = "ctp_nostd";
/// Crates that are never code of the user: the standard library and the probe.
const NON_USER_CRATES: [&str; 4] = ["core", "alloc", "std", PROBE];

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

    /// Whether a function belongs to the probe, by its crate or its file. With reduced debug info, an inlined
    /// function has a file but no module path (`ctp_nostd::…`), so the file decides.
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
        let may_be_of_user = match crate_of(label) {
            Some(krate) => !NON_USER_CRATES.contains(&krate),
            None => label.absolute.is_some() && label.function.is_some(),
        };
        may_be_of_user
            && !is_in_dependency(label)
            && !self.is_of_probe(label)
            && !self.is_skipped(label)
    }

    /// Whether the function of a leaf future is code of the user. A leaf without a source file is most likely
    /// library code, unless the leaf and the traced future are in the same crate. `coroutine` is the name of the
    /// coroutine, which is the type of the future unless the user named the coroutine.
    pub fn is_leaf_of_user(&self, label: &Label, coroutine: &str) -> bool {
        let is_known = label.absolute.is_some() || crate_of(label) == crate_in(coroutine);
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

/// Whether the file of a function is in the folder of the function's crate, or unknown. Code from a macro is not: the
/// file is that of the macro's package, but the crate is that of the user. For a function that is not code of the user,
/// this means that the function belongs to a downloaded package.
pub fn is_in_own_package(label: &Label) -> bool {
    let krate = crate_of(label).filter(|krate| !NON_USER_CRATES.contains(krate));
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
    let is_of_known_crate = crate_of(label).is_some_and(|krate| NON_USER_CRATES.contains(&krate));
    is_in_dependency(label) || is_of_known_crate || is_of_c_library(label)
}

/// How the file names of the C library begin.
const C_MODULES: [&str; 6] = [
    "libc.so",
    "libc-2",
    "libpthread",
    "libc.musl",
    "ld-musl",
    "ld-linux",
];
/// How the paths of the C library's sources begin, for functions that were linked statically.
const C_SOURCES: [&str; 3] = ["./nptl/", "./csu/", "../sysdeps/"];

fn is_of_c_library(label: &Label) -> bool {
    let file = label.file.as_deref().unwrap_or_default();
    let module = label.module.as_deref().unwrap_or_default();
    C_MODULES.iter().any(|prefix| module.starts_with(prefix))
        || C_SOURCES.iter().any(|prefix| file.starts_with(prefix))
        || (file.starts_with("./") && file.contains("/../sysdeps/"))
}

fn is_in_dependency(label: &Label) -> bool {
    let file = label.absolute.as_deref();
    file.is_some_and(|file| is_dependency(&file.to_string_lossy()))
}

/// The crate of a function: the first part of its path, or of the path of its type. Some functions
/// that the compiler generates have no path and no crate.
fn crate_of(label: &Label) -> Option<&str> {
    crate_in(label.function.as_deref()?)
}

fn crate_in(function: &str) -> Option<&str> {
    let path = function.rsplit(" in ").next().unwrap_or(function);
    let path = path_of_type(path);
    if !path.contains("::") {
        return None;
    }
    let end = path.find(|c: char| !is_of_word(c)).unwrap_or(path.len());
    let krate = &path[..end];
    (!krate.is_empty() && !FUNCTION_TYPES.contains(&krate)).then_some(krate)
}

/// The words with which the type of a function pointer begins, which has no crate.
const FUNCTION_TYPES: [&str; 4] = ["fn", "unsafe", "extern", "for"];

/// Removes what may stand before the path of a type, as in `<&'a mut T`, `<*const T`, `<[T` and `<dyn T`.
fn path_of_type(text: &str) -> &str {
    let mut rest = text;
    loop {
        let before = rest;
        rest = rest.trim_start_matches(['<', '&', '(', '[', '*', ' ']);
        if let Some(lifetime) = rest.strip_prefix('\'') {
            rest = lifetime.trim_start_matches(is_of_word);
        }
        for word in ["dyn ", "mut ", "const "] {
            rest = rest.strip_prefix(word).unwrap_or(rest);
        }
        if rest.len() == before.len() {
            return rest;
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
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

    #[test]
    fn crates_of_types_are_found() {
        for (function, krate) in [
            ("app::serve", Some("app")),
            ("<app::T as core::fmt::Debug>::fmt", Some("app")),
            ("<dyn core::any::Any>::is", Some("core")),
            ("<*const core::cell::Cell<u8>>::cast", Some("core")),
            (
                "<&'a mut app::T as core::future::Future>::poll",
                Some("app"),
            ),
            ("<&mut &[app::T] as app::Read>::read", Some("app")),
            ("<fn() -> core::task::Poll<()> as app::Call>::call", None),
            ("main", None),
        ] {
            assert_eq!(crate_in(function), krate, "{function}");
        }
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
        assert!(!user.is_leaf_of_user(&notified, "") && is_in_own_package(&notified));
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
                "/root/.cargo/registry/src/x/tokio-1.54.1/src/a.rs",
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
