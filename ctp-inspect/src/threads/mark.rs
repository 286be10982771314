//! [`RuntimeMark`]: what a function on a stack says about its thread, by the function's name.
//!
//! The names are those of tokio 1.21 to 1.54, of async-task 4, and of smol's pool of blocking threads. The names of threads cannot be used instead: threads of the
//! blocking pool have the same names as workers.

/// What a function says about the thread that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeMark {
    /// Polls a task.
    Poll,
    /// Waits for work, or for events.
    Park,
    /// The loop of a worker of the multi-threaded runtime.
    Worker,
    /// The loop of the runtime with a single thread.
    SingleThread,
    /// The loop of a thread of the blocking pool.
    BlockingPool,
    /// Lets another thread take over as the worker.
    BlockInPlace,
}

/// Paths of functions in `tokio::runtime`, with their marks. The first entry that fits decides. An entry that
/// ends with `*` fits all paths that begin with the text before the `*`.
const MARKS: &[(&str, RuntimeMark)] = &[
    ("task::raw::poll", RuntimeMark::Poll),
    ("task::harness::Harness::poll", RuntimeMark::Poll),
    (
        "scheduler::block_in_place::block_in_place",
        RuntimeMark::BlockInPlace,
    ),
    (
        "scheduler::multi_thread::worker::block_in_place",
        RuntimeMark::BlockInPlace,
    ),
    (
        "scheduler::multi_thread::worker::Context::park*",
        RuntimeMark::Park,
    ),
    (
        "scheduler::multi_thread::worker::Context::run*",
        RuntimeMark::Worker,
    ),
    ("scheduler::multi_thread::worker::run", RuntimeMark::Worker),
    ("scheduler::multi_thread::park::*", RuntimeMark::Park),
    (
        "scheduler::current_thread::Context::park*",
        RuntimeMark::Park,
    ),
    ("scheduler::current_thread::*", RuntimeMark::SingleThread),
    ("blocking::pool::Inner::run", RuntimeMark::BlockingPool),
    (
        "blocking::pool::Spawner::spawn_thread*",
        RuntimeMark::BlockingPool,
    ),
    ("driver::*", RuntimeMark::Park),
    ("io::driver::Driver::*", RuntimeMark::Park),
    ("time::Driver::*", RuntimeMark::Park),
    ("time::driver::Driver::*", RuntimeMark::Park),
    ("signal::Driver::*", RuntimeMark::Park),
    ("signal::unix::driver::Driver::*", RuntimeMark::Park),
    ("park::*", RuntimeMark::Park),
];

/// Paths of functions of other crates, with their marks.
const OTHER_MARKS: &[(&str, RuntimeMark)] = &[
    (
        "tokio::task::blocking::block_in_place",
        RuntimeMark::BlockInPlace,
    ),
    ("tokio::park::thread::*", RuntimeMark::Park),
    ("async_task::raw::RawTask::run", RuntimeMark::Poll),
    ("blocking::Executor::main_loop", RuntimeMark::BlockingPool),
];

impl RuntimeMark {
    /// The mark of a function with this demangled name.
    pub fn of(name: &str) -> Option<Self> {
        // The function that polls has the address of the task. The closure inside does not.
        if name.starts_with("closure in async_task::") {
            return None;
        }
        let path = function_path(name);
        let (marks, path) = match path.strip_prefix("tokio::runtime::") {
            Some(path) => (MARKS, path),
            None => (OTHER_MARKS, path.as_str()),
        };
        let mark = marks.iter().find(|(pattern, _)| fits(pattern, path));
        mark.map(|(_, mark)| *mark)
    }
}

/// Whether a path is the pattern, or begins with the pattern up to a final `*`.
fn fits(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == pattern,
    }
}

/// The path of a function, or of the function around a closure.
pub(super) fn function_path(name: &str) -> String {
    path(name.strip_prefix("closure in ").unwrap_or(name))
}

/// The path of a function, without generic arguments: that of `<a::B<u8> as c::D>::e::<f>` is
/// `a::B::e`.
fn path(name: &str) -> String {
    let Some(inner) = name.strip_prefix('<') else {
        return without_brackets(name);
    };
    let (owner, rest) = inner.split_at(closing(inner));
    let owner = match split_at_depth_0(owner, " as ") {
        Some(owner) => owner,
        None => owner,
    };
    let rest = rest.strip_prefix('>').unwrap_or(rest);
    without_brackets(owner) + &without_brackets(rest)
}

/// The position of the `>` that closes a bracket which was opened before `text`. The length of `text` if there is
/// none.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if !is_arrow(text, at) && depth == 0 => return at,
            b'>' if !is_arrow(text, at) => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The text before the first `separator` that is not inside brackets.
fn split_at_depth_0<'t>(text: &'t str, separator: &str) -> Option<&'t str> {
    let mut places = text.match_indices(separator).map(|(at, _)| &text[..at]);
    places.find(|before| {
        before.matches('<').count() == before.matches('>').count() - before.matches("->").count()
    })
}

/// The text without generic arguments (`<...>`), and without a `::` directly before them.
fn without_brackets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once('<') {
        out.push_str(before.strip_suffix("::").unwrap_or(before));
        let end = closing(inner);
        rest = inner.get(end + 1..).unwrap_or_default();
    }
    out + rest
}

/// Whether the `>` at this position belongs to the arrow in the type of a function.
fn is_arrow(text: &str, at: usize) -> bool {
    text[..at].ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tokio_have_marks() {
        check_marks(&[
            ("tokio::runtime::task::raw::poll", RuntimeMark::Poll),
            (
                "tokio::runtime::task::raw::poll::<a::b, alloc::sync::Arc<c>>",
                RuntimeMark::Poll,
            ),
            (
                "tokio::runtime::task::harness::Harness<T,S>::poll",
                RuntimeMark::Poll,
            ),
            (
                "<tokio::runtime::task::harness::Harness<a::b<c>, d>>::poll",
                RuntimeMark::Poll,
            ),
            (
                "tokio::runtime::scheduler::multi_thread::worker::Context::run",
                RuntimeMark::Worker,
            ),
            (
                "<tokio::runtime::scheduler::multi_thread::worker::Context>::run_task",
                RuntimeMark::Worker,
            ),
            (
                "tokio::runtime::scheduler::multi_thread::worker::Context::park_internal",
                RuntimeMark::Park,
            ),
            (
                "<tokio::runtime::scheduler::multi_thread::park::Inner>::park_condvar",
                RuntimeMark::Park,
            ),
            (
                "tokio::runtime::time::Driver::park_internal",
                RuntimeMark::Park,
            ),
            (
                "tokio::runtime::scheduler::current_thread::CoreGuard::block_on",
                RuntimeMark::SingleThread,
            ),
            (
                "tokio::runtime::blocking::pool::Inner::run",
                RuntimeMark::BlockingPool,
            ),
            (
                "tokio::task::blocking::block_in_place::<a, fn(b) -> c>",
                RuntimeMark::BlockInPlace,
            ),
            (
                "closure in tokio::runtime::scheduler::multi_thread::worker::block_in_place",
                RuntimeMark::BlockInPlace,
            ),
        ]);
    }

    #[test]
    fn names_of_async_task_and_blocking_have_marks() {
        check_marks(&[
            ("async_task::raw::RawTask<F,T,S,M>::run", RuntimeMark::Poll),
            (
                "<async_task::raw::RawTask<a::b, (), c, ()>>::run",
                RuntimeMark::Poll,
            ),
            ("blocking::Executor::main_loop", RuntimeMark::BlockingPool),
        ]);
    }

    /// Names of both manglings, with and without types.
    fn check_marks(marks: &[(&str, RuntimeMark)]) {
        for (name, mark) in marks {
            assert_eq!(RuntimeMark::of(name), Some(*mark), "{name}");
        }
    }

    #[test]
    fn other_names_have_no_mark() {
        let names = [
            "",
            "<",
            "a<b",
            "<<a as b>",
            "tokio::runtime::task::raw::poll_other",
            "tokio::runtime::task::harness::Harness<T,S>::poll_inner",
            "<app::Poll as core::future::Future>::poll",
            "app::tokio::runtime::task::raw::poll",
            "async_task::raw::RawTask<F,T,S,M>::schedule",
            "closure in async_task::raw::RawTask<F,T,S,M>::run",
        ];
        for name in names {
            assert_eq!(RuntimeMark::of(name), None, "{name}");
        }
    }

    #[test]
    fn paths_have_no_generic_arguments() {
        assert_eq!(path("<a::B<u8> as c::D<e>>::f::<g>"), "a::B::f");
        assert_eq!(path("a::b::<fn(c) -> d>::e"), "a::b::e");
        assert_eq!(path("<fn(c) -> d as e::F>::g"), "fn(c) -> d::g");
    }
}
