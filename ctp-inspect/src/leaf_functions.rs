//! What a leaf future waits for, by the functions of its await chain.
//!
//! Only functions of libraries count, from the innermost outwards up to the first function of the program itself: a
//! program may give its own functions any name.

mod place;
mod tables;

use std::borrow::Cow;

use ctp_trace::record::{LeafKind, Module, ProcessId};
use symbolize::{Avma, FileOffset, Lookup, Mapping, SearchPaths, Symbolizer, is_standard_library};

pub use place::ChainPlace;
use tables::{LEAVES, LIBRARIES, OUTER, SHARED};

/// Maximum number of addresses of a chain that are examined.
const MAX_ADDRESSES: usize = 32;

/// The addresses of a chain that was found without frame pointers: the probe's, and that of the call.
const ADDRESSES_WITHOUT_FRAME_POINTERS: usize = 2;

/// Finds what leaf futures wait for. Opens the files of modules at most once each.
pub struct LeafFunctions {
    symbolizer: Symbolizer,
    /// The present process, and how many modules of all processes were known.
    present: Option<(ProcessId, usize)>,
}

impl LeafFunctions {
    /// Opens nothing yet.
    #[must_use]
    pub fn new(search_paths: SearchPaths) -> Self {
        Self {
            symbolizer: Symbolizer::with_search_paths(Vec::new(), search_paths),
            present: None,
        }
    }

    /// What the leaf future of an await chain waits for. The chain has these addresses, innermost first. The modules
    /// are those of all processes.
    pub fn kind(&mut self, process: ProcessId, addresses: &[u64], modules: &[Module]) -> LeafKind {
        self.set_mappings(process, modules);
        let mut kind = LeafKind::Unknown;
        let mut leaf = None;
        // The first address is in the probe.
        for &address in addresses.iter().skip(1).take(MAX_ADDRESSES) {
            let Ok(resolved) = self
                .symbolizer
                .resolve(Avma(address), Lookup::ReturnAddress)
            else {
                return kind;
            };
            for frame in &resolved.frames {
                let function = frame.function.as_deref();
                let function = function.map(|name| with_path(name, frame.file.as_deref()));
                let Some(function) = function.filter(|name| is_of_library(name)) else {
                    return kind;
                };
                if leaf.is_none() && !is_of_waker(&function) {
                    leaf = Some(path_of(&function).to_owned());
                }
                kind = refined(kind, &function);
            }
        }
        let has_only_the_call = addresses.len() == ADDRESSES_WITHOUT_FRAME_POINTERS;
        if has_only_the_call {
            kind_without_callers(kind, leaf.as_deref())
        } else {
            kind
        }
    }

    fn set_mappings(&mut self, process: ProcessId, modules: &[Module]) {
        let present = Some((process, modules.len()));
        if self.present == present {
            return;
        }
        self.present = present;
        let modules = modules.iter().filter(|module| module.process == process);
        self.symbolizer.set_mappings(modules.map(mapping).collect());
    }
}

fn mapping(module: &Module) -> Mapping {
    Mapping {
        start: Avma(module.start),
        end: Avma(module.end),
        file_offset: FileOffset(module.file_offset),
        path: module.path.clone(),
        build_id: module.build_id.clone(),
    }
}

/// The kind after one more function outwards.
fn refined(kind: LeafKind, function: &str) -> LeafKind {
    let path = path_of(function);
    if kind == LeafKind::Unknown {
        // Line tables do not say in which function of the module a closure is.
        if path.ends_with("::closure") || path.contains("::{closure#") {
            return kind;
        }
        let mut leaves = LEAVES.iter();
        return leaves
            .find(|(module, _)| path.starts_with(module))
            .map_or(kind, |(_, found)| *found);
    }
    if kind == LeafKind::Io {
        return if writes(path) { LeafKind::Output } else { kind };
    }
    let mut outer = OUTER.iter();
    outer
        .find(|(inner, module, _)| *inner == kind && path.starts_with(module))
        .map_or(kind, |(_, _, found)| *found)
}

/// The kind, if the function that cloned the waker is known, and its callers are not. `leaf` is the innermost function
/// of a library; `None` if that is `Waker::clone` itself.
fn kind_without_callers(kind: LeafKind, leaf: Option<&str>) -> LeafKind {
    let Some(leaf) = leaf else {
        return LeafKind::SharedSite;
    };
    if !matches!(kind, LeafKind::Unknown | LeafKind::Notification) {
        return kind;
    }
    let mut shared = SHARED.iter();
    shared
        .find(|(module, _)| leaf.starts_with(module))
        .map_or(kind, |(_, found)| *found)
}

/// Whether a function is `Waker::clone`, which leaf futures call.
fn is_of_waker(function: &str) -> bool {
    path_of(function).starts_with("core::task::wake::Waker")
}

/// Whether a function that waits for a descriptor writes. A sink is ready once it has written.
fn writes(path: &str) -> bool {
    let (of, name) = path.rsplit_once("::").unwrap_or_default();
    if name == "poll_ready" && of.contains("futures_sink::Sink<") {
        return true;
    }
    name.strip_prefix("poll_").is_some_and(|end| {
        ["write", "send", "flush", "shutdown"]
            .iter()
            .any(|verb| end.starts_with(verb))
    })
}

/// Whether a function is of a known library. The compiler's own functions, which have no path, count too.
fn is_of_library(function: &str) -> bool {
    let (library, _) = path_of(function).split_once("::").unwrap_or(("core", ""));
    LIBRARIES.contains(&library)
}

/// A function's name with its path. Line tables alone do not give the path of an inlined function, but the source file
/// of a package says which module the function is in. The standard library counts as a single module.
fn with_path<'a>(function: &'a str, file: Option<&str>) -> Cow<'a, str> {
    let is_complete = function
        .split('<')
        .next()
        .is_none_or(|name| name.contains("::"));
    if is_complete || function.starts_with('<') {
        return function.into();
    }
    match file {
        Some(file) if is_standard_library(file) => format!("core::{function}").into(),
        Some(file) => match module_of(file) {
            Some(module) => format!("{module}::{function}").into(),
            None => format!("program::{function}").into(),
        },
        None => function.into(),
    }
}

/// The module of a file of a downloaded package: that of `registry/src/INDEX/tokio-1.54.1/src/sync/mutex.rs`
/// is `tokio::sync::mutex`.
fn module_of(file: &str) -> Option<String> {
    let (_, in_registry) = file.split_once("/registry/src/")?;
    let (_, in_index) = in_registry.split_once('/')?;
    let (package, module) = in_index.split_once("/src/")?;
    let mut hyphens = package.rmatch_indices('-').map(|(at, _)| at);
    let before_version =
        hyphens.find(|at| package[at + 1..].starts_with(|next: char| next.is_ascii_digit()))?;
    let name = &package[..before_version];
    let module = module.strip_suffix(".rs")?;
    let module = module.strip_suffix("/mod").unwrap_or(module);
    let path = match module {
        "lib" => name.to_owned(),
        module => format!("{name}/{module}"),
    };
    Some(path.replace('-', "_").replace('/', "::"))
}

/// The path of a function, or of the type that it belongs to: that of `<tokio::time::Sleep as
/// core::future::Future>::poll` begins with `tokio::time`, and that of `closure in tokio::time::sleep`
/// does so too.
fn path_of(function: &str) -> &str {
    let (kind, path) = function.split_once(" in ").unwrap_or(("", function));
    let path = if kind.contains("::") { function } else { path };
    path.trim_start_matches(['<', '&', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(functions: &[&str]) -> LeafKind {
        let mut functions = functions.iter().take_while(|name| is_of_library(name));
        functions
            .by_ref()
            .fold(LeafKind::Unknown, |kind, name| refined(kind, name))
    }

    // CT-15
    #[test]
    fn outer_futures_say_what_inner_ones_are_used_for() {
        let acquire =
            "<tokio::sync::batch_semaphore::Acquire as core::future::future::Future>::poll";
        let closure = "closure in tokio::sync::batch_semaphore::Semaphore::poll_acquire";
        let lock = "tokio::sync::mutex::Mutex<T>::lock::{{closure}}";
        let send = "tokio::sync::mpsc::bounded::Sender<T>::send::{{closure}}";
        assert_eq!(kind(&[acquire, lock]), LeafKind::Lock);
        let cell = "tokio::sync::once_cell::OnceCell<T>::get_or_init::{{closure}}";
        assert_eq!(kind(&[acquire, cell]), LeafKind::Lock);
        assert_eq!(
            kind(&["__rust_try", closure, acquire, send]),
            LeafKind::Room
        );
        assert_eq!(
            kind(&[acquire, "app::Pool::get", lock]),
            LeafKind::Semaphore
        );
        let write = "<tokio::net::tcp::stream::TcpStream as tokio::io::async_write::AsyncWrite>::poll_write";
        let ready = "tokio::runtime::io::scheduled_io::ScheduledIo::poll_readiness";
        assert_eq!(kind(&[ready]), LeafKind::Io);
        assert_eq!(kind(&[ready, write]), LeafKind::Output);
        let join = "tokio::runtime::task::harness::can_read_output";
        assert_eq!(
            kind(&["core::task::wake::Waker::clone", join]),
            LeafKind::Task
        );
        let of_set = "tokio::util::idle_notified_set::IdleNotifiedSet<T>::pop_notified";
        let next = "tokio::task::join_set::JoinSet<T>::join_next::{{closure}}";
        assert_eq!(kind(&[of_set, next]), LeafKind::Task);
        assert_eq!(kind(&["app::tokio::net::Socket::read"]), LeafKind::Unknown);
    }

    // CT-15
    #[test]
    fn shared_functions_say_less_without_their_callers() {
        let cell = "tokio::sync::task::atomic_waker::AtomicWaker::register_by_ref";
        let event = "event_listener::TaskRef::into_task";
        let acquire = "tokio::sync::batch_semaphore::Acquire::poll";
        let notified = "tokio::sync::notify::Notified::poll_notified";
        let alone = |function| kind_without_callers(kind(&[function]), Some(function));
        assert_eq!(alone(cell), LeafKind::TimeOrMessage);
        assert_eq!(alone(event), LeafKind::SharedFunction);
        assert_eq!(
            alone("flume::async::AsyncSignal::new"),
            LeafKind::SharedFunction
        );
        assert_eq!(alone(acquire), LeafKind::Semaphore);
        assert_eq!(alone(notified), LeafKind::Notification);
        let inlined =
            "<async_channel::RecvInner<T> as event_listener_strategy::EventListenerFuture>::poll";
        let message = kind(&[event, inlined]);
        assert_eq!(
            kind_without_callers(message, Some(event)),
            LeafKind::Message
        );
        assert_eq!(
            kind_without_callers(LeafKind::Unknown, None),
            LeafKind::SharedSite
        );
    }

    // CT-15
    #[test]
    fn files_of_packages_give_the_paths_of_inlined_functions() {
        let registry = "/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        let path = |function, file: &str| {
            let file = format!("{registry}/{file}");
            with_path(function, Some(&file)).into_owned()
        };
        let lock = path("{async_fn#0}", "tokio-1.54.1/src/sync/mutex.rs");
        assert_eq!(lock, "tokio::sync::mutex::{async_fn#0}");
        let acquire =
            "<tokio::sync::batch_semaphore::Acquire as core::future::future::Future>::poll";
        assert_eq!(kind(&[acquire, &lock]), LeafKind::Lock);
        let ready = path("poll_ready<u32>", "futures-channel-0.3.31/src/mpsc/mod.rs");
        assert_eq!(ready, "futures_channel::mpsc::poll_ready<u32>");
        let cloned = path("{closure#0}<u32>", "futures-channel-0.3.31/src/mpsc/mod.rs");
        assert_eq!(kind(&[&cloned, &ready]), LeafKind::Room);
        let tidy = path("closure", "futures-channel-0.3.31/src/mpsc/mod.rs");
        assert_eq!(kind(&[&tidy, &ready]), LeafKind::Room);
        assert_eq!(
            path("new", "async-channel-2.5.0/src/lib.rs"),
            "async_channel::new"
        );
        let own = with_path("{async_fn#0}", Some("/home/a/app/src/main.rs"));
        assert_eq!(own, "program::{async_fn#0}");
        assert_eq!(
            with_path(
                "poll<F>",
                Some("/rustc/59807616/library/core/src/future.rs")
            ),
            "core::poll<F>"
        );
        let cloned = with_path(
            "map<&core::task::wake::Waker, fn(&core::task::wake::Waker)>",
            Some("/rustc/59807616/library/core/src/option.rs"),
        );
        let notified = "tokio::sync::notify::NotifiedProject::poll_notified";
        assert_eq!(kind(&[&cloned, notified]), LeafKind::Notification);
        assert_eq!(with_path(acquire, Some("/home/a/app/src/main.rs")), acquire);
    }

    // CT-15
    #[test]
    fn channels_of_other_libraries_are_known() {
        let register = "futures_core::task::__internal::atomic_waker::AtomicWaker::register";
        let next =
            "<futures_channel::mpsc::Receiver<T> as futures_core::stream::Stream>::poll_next";
        assert_eq!(kind(&[register, next]), LeafKind::Message);
        let ready = "<futures_channel::mpsc::Sender<T> as futures_sink::Sink<T>>::poll_ready";
        let unparked = "futures_channel::mpsc::BoundedSenderInner<T>::poll_unparked";
        assert_eq!(kind(&[unparked, ready]), LeafKind::Room);
        let send = "<flume::async::SendFut<T> as core::future::future::Future>::poll";
        assert_eq!(
            kind(&["flume::async::AsyncSignal::new", send]),
            LeafKind::Room
        );
        let event = "event_listener::InnerListener<T,B>::poll_internal";
        let receive = "<async_channel::RecvInner<T> as event_listener_strategy::EventListenerFuture>::poll_with_strategy";
        assert_eq!(kind(&[event, receive]), LeafKind::Message);
        let signal = "kanal::signal::AsyncSignal<T>::register_waker";
        let send = "<kanal::future::SendFuture<T> as core::future::future::Future>::poll";
        assert_eq!(kind(&[signal, send]), LeafKind::Room);
        let proxy = "tokio_tungstenite::compat::AllowStd<S>::with_context::{{closure}}";
        let ready = "<tokio_tungstenite::WebSocketStream<T> as futures_sink::Sink<M>>::poll_ready";
        let next =
            "<tokio_tungstenite::WebSocketStream<T> as futures_core::stream::Stream>::poll_next";
        assert_eq!(kind(&[register, proxy, ready]), LeafKind::Output);
        assert_eq!(kind(&[register, proxy, next]), LeafKind::Io);
        let want = "want::Giver::poll_want";
        let ready = "hyper::client::dispatch::Sender<T,U>::poll_ready";
        assert_eq!(kind(&[want, ready]), LeafKind::Semaphore);
        let wait = "h2::proto::streams::stream::Stream::wait_send";
        let capacity = "h2::proto::streams::send::Send::poll_capacity";
        assert_eq!(kind(&[wait, capacity]), LeafKind::Output);
        let closed = "tokio::sync::oneshot::Sender<T>::poll_closed";
        assert_eq!(kind(&[closed]), LeafKind::Notification);
    }
}
