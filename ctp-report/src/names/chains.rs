//! Await chains: maps addresses that the program found by frame pointers to functions of the user, as
//! far as the file of the program proves that each function was called by the next.

use std::path::Path;

use ctp_trace::record::Chain;
use serde::Serialize;
use symbolize::{Avma, Lookup, Symbolizer};

use crate::names::{Label, label};
use crate::text;

/// An await chain, as shown on pages and in JSON documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Awaits {
    /// Functions of the user, innermost first. Each function awaits the previous function.
    #[serde(rename = "functions")]
    pub frames: Vec<Label>,
    /// Whether the last function was spawned. Otherwise, the outermost functions are unknown.
    #[serde(rename = "whole")]
    pub is_whole: bool,
    /// The spawned function, if known, while functions in between are unknown.
    #[serde(rename = "spawned", skip_serializing_if = "Option::is_none")]
    pub outermost: Option<Label>,
    /// The library function that the innermost function of the user calls, if known.
    #[serde(skip)]
    pub within: Option<String>,
}

/// Stands for unknown functions.
const MORE: &str = "…";

/// The functions at the addresses of a chain, as far as they are proven.
#[derive(Debug, Default)]
struct Proven {
    /// The functions of each call, innermost first, with the functions into which they were inlined.
    functions: Vec<Vec<Label>>,
    is_whole: bool,
}

impl Awaits {
    /// The known part of a chain inside a future with this name (empty without a name).
    pub fn of(symbolizer: &mut Symbolizer, chain: &Chain, future: &str) -> Self {
        let mut proven = prove(symbolizer, chain);
        if proven.is_whole {
            proven.functions.last_mut().map(end_at_poll);
        }
        let all: Vec<Label> = proven.functions.into_iter().flatten().collect();
        let is_of_user = |label: &Label| {
            if chain.is_of_the_call() {
                is_leaf_of_user(label, future)
            } else {
                is_of_user(label)
            }
        };
        let before_users = all.iter().take_while(|label| !is_of_user(label));
        let within = before_users
            .filter(|before_user| is_of_package(before_user))
            .last();
        Awaits {
            within: within.and_then(|within| label::plain(within.function.as_deref()?)),
            is_whole: proven.is_whole,
            outermost: None,
            frames: without_closures(all.into_iter().filter(is_of_user).collect()),
        }
    }

    /// Sets the spawned function. If this is the last function, the chain is complete.
    pub fn end_at(&mut self, spawned: Label) {
        let last = self.frames.last().map(|frame| &frame.function);
        self.is_whole |= last == Some(&spawned.function);
        self.outermost = (!self.is_whole).then_some(spawned);
    }

    /// The names of the functions, with a mark for unknown functions.
    pub fn functions(&self) -> Vec<String> {
        let name = |label: &Label| label.function.clone();
        let names = self.frames.iter().filter_map(name);
        let more = (!self.is_whole).then(|| MORE.to_owned());
        let outermost = self.outermost.as_ref().and_then(name);
        names.chain(more).chain(outermost).collect()
    }

    /// Formats the functions as `handshake :40`, `serve main.rs:61`. A file name that equals the previous
    /// file is left out. `from` is the file before the first function.
    pub fn describe(&self, from: Option<&str>) -> Vec<String> {
        let mut file = from;
        let mut words = Vec::new();
        for frame in &self.frames {
            words.push(frame_text(frame, file));
            file = frame.file.as_deref();
        }
        words.extend((!self.is_whole).then(|| MORE.to_owned()));
        words.extend(
            self.outermost
                .as_ref()
                .map(|outermost| frame_text(outermost, file)),
        );
        words
    }
}

fn frame_text(frame: &Label, file: Option<&str>) -> String {
    let function = text::cut_middle(frame.function.as_deref().unwrap_or("?"), 40);
    match (frame.line.filter(|_| !frame.in_function), frame.short()) {
        (Some(line), _) if frame.file.as_deref() == file => format!("{function} :{line}"),
        (_, Some(at)) => format!("{function} {at}"),
        _ => function,
    }
}

/// An address is the caller of the previous address if the frame pointer could be followed there. The
/// first address is in the code of the probe, which read its frame pointer or its return address.
fn prove(symbolizer: &mut Symbolizer, chain: &Chain) -> Proven {
    let mut proven = Proven::default();
    for (i, &address) in chain.addresses.iter().enumerate() {
        let (address, how) = match i {
            0 => (Avma(address), Lookup::Exact),
            _ => (Avma(address), Lookup::ReturnAddress),
        };
        let Ok(found) = symbolizer.resolve(address, how) else {
            return proven;
        };
        if 0 < i {
            proven.functions.push(label::frames(found));
        }
        let is_last = i + 1 == chain.addresses.len();
        proven.is_whole = is_last && chain.is_whole;
        let is_recorded = i == 0 && chain.is_of_the_call();
        if !is_last && !is_recorded && !symbolizer.can_follow_frame_pointer(address, how) {
            return proven;
        }
    }
    proven
}

/// Removes the functions of the executor, which poll the future.
fn end_at_poll(functions: &mut Vec<Label>) {
    let is_probe = |label: &Label| crate_of(label) == Some(PROBE);
    if let Some(poll) = functions.iter().position(is_probe) {
        functions.truncate(poll);
    }
}

/// Removes closures that a function passes to what it awaits, as `select!` does.
fn without_closures(frames: Vec<Label>) -> Vec<Label> {
    let callers: Vec<Option<String>> = frames.iter().map(|frame| frame.function.clone()).collect();
    let is_part = |i: usize, frame: &Label| match (&frame.function, callers.get(i + 1)) {
        (Some(function), Some(Some(caller))) => function
            .strip_prefix("closure in ")
            .is_some_and(|of| of == caller),
        _ => false,
    };
    let frames = frames.into_iter().enumerate();
    let kept = frames.filter(|(i, frame)| *i == 0 || !is_part(*i, frame));
    kept.map(|(_, frame)| frame).collect()
}

const PROBE: &str = "ctp_nostd";
/// Crates of the language and of the probe.
const UNOWNED: [&str; 4] = ["core", "alloc", "std", PROBE];
/// Folders of downloaded packages, and of the standard library.
const ELSEWHERE: [&str; 3] = ["registry/src", "git/checkouts", "rustlib/src"];
const LIBRARY: &str = "/rustc/";

/// Whether a function belongs neither to the standard library nor to a downloaded package.
fn is_of_user(label: &Label) -> bool {
    let is_elsewhere = label.absolute.as_deref().is_some_and(lies_elsewhere);
    let krate = crate_of(label);
    krate.is_some_and(|krate| !UNOWNED.contains(&krate)) && !is_elsewhere
}

/// Whether a leaf function is code of the user. A leaf without a source is most likely library code,
/// unless its crate is that of the future.
fn is_leaf_of_user(label: &Label, future: &str) -> bool {
    let is_known = label.absolute.is_some() || crate_of(label) == crate_in(future);
    is_of_user(label) && is_known
}

/// Whether a function belongs to a downloaded package other than the probe. Code from a macro of the
/// package is in a file of the package, but in the crate of the user.
fn is_of_package(label: &Label) -> bool {
    let is_own = |krate: &str| match &label.absolute {
        Some(file) => is_in_package(&file.to_string_lossy(), krate),
        None => true,
    };
    let krate = crate_of(label).filter(|krate| !UNOWNED.contains(krate));
    krate.is_some_and(is_own)
}

/// Whether the file is in the cargo folder of the crate, such as `tokio-util-0.7.18`.
fn is_in_package(file: &str, krate: &str) -> bool {
    let is_own = |folder: &str| {
        let folder = folder.replace('-', "_");
        let version = folder.strip_prefix(krate);
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        version.is_some_and(|version| {
            version.is_empty() || version.strip_prefix('_').is_some_and(is_number)
        })
    };
    file.split('/').any(is_own)
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
    let begins = |with: &[&str], text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        with.iter().any(|prefix| text.starts_with(prefix))
    };
    begins(&C_MODULES, &label.module) || begins(&C_SOURCES, &label.file)
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
        let notified = leaf("<tokio::sync::notify::Notified as core::future::Future>::poll");
        assert!(!is_leaf_of_user(&notified, "app::serve::{{closure}}"));
        assert!(!is_leaf_of_user(&notified, "") && is_of_package(&notified));
        assert!(is_leaf_of_user(
            &leaf("app::Reply::poll"),
            "app::serve::{{closure}}"
        ));
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
