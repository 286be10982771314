//! What is known about types of libraries, by their paths. Paths differ between versions, so only the
//! crate, the module where needed, and the name count.

/// What to do with a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A future that waits for something.
    Leaf(LeafType),
    /// Contains futures, all of which are awaited. The combinator is shown.
    Combinator,
    /// Contains a future. The wrapper itself is not shown.
    Wrapper,
    /// Contains a future in a single variant. In the other variants, the future has ended, and its result is there or
    /// was taken.
    MaybeDone,
    /// Contains a future in the member with this name. The outer future is not shown.
    Around(&'static str),
    /// Calls a closure.
    PollFn,
}

/// A future that waits for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeafType {
    Sleep,
    Acquire,
    Oneshot,
    Notified,
    Broadcast,
    /// `recv` of an mpsc channel, by the closure that it polls.
    Receive,
    /// The next element of a stream.
    Next,
    JoinHandle,
    /// The handle of a task of async-task.
    Task,
    Readiness,
    Io(Direction),
    /// A future of the crates around smol.
    Smol(SmolLeaf),
    Forever,
    /// Only the name of the type is known, not what the future waits for.
    Other,
}

/// A future of the crates around smol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmolLeaf {
    /// Waits for a mutex.
    Lock,
    /// Waits to read from or to write to what a lock protects.
    RwLock,
    /// Waits for a permit of a semaphore.
    Acquire,
    /// Waits for a message.
    Receive,
    /// Waits for room in a channel.
    Send,
    /// Waits for a notification.
    Listener,
    Timer,
    /// Waits until a descriptor is ready.
    Ready,
    /// Reads from a stream.
    Read,
    /// Writes to a stream.
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// What is known about the type with this path.
pub(crate) fn known(path: &str) -> Option<Known> {
    let (library, _) = path.split_once("::")?;
    let (_, name) = path.rsplit_once("::")?;
    match library {
        "tokio" => in_tokio(path, name),
        "core" | "futures_util" | "futures_core" => in_futures(path, name),
        "async_task" => in_async_task(name),
        "async_executor" if name == "AsyncCallOnDrop" => Some(Known::Around("future")),
        "futures_lite" => in_futures_lite(path, name),
        "tokio_stream" if name == "Next" => Some(Known::Leaf(LeafType::Next)),
        "async_lock" | "async_channel" | "async_io" | "event_listener" => {
            Some(Known::Leaf(LeafType::Smol(smol_leaf(library, name)?)))
        }
        "futures_channel" if name == "Receiver" => Some(Known::Leaf(LeafType::Other)),
        "tracing" | "tracing_futures" | "ctp_nostd" => is_wrapper(name).then_some(Known::Wrapper),
        _ => None,
    }
}

fn in_tokio(path: &str, name: &str) -> Option<Known> {
    let leaf = match name {
        "Sleep" => LeafType::Sleep,
        "Acquire" if path.contains("::batch_semaphore::") => LeafType::Acquire,
        "Receiver" if path.contains("::oneshot::") => LeafType::Oneshot,
        "Notified" | "OwnedNotified" if path.contains("::notify::") => LeafType::Notified,
        "Recv" if path.contains("::broadcast::") => LeafType::Broadcast,
        "JoinHandle" => LeafType::JoinHandle,
        "Readiness" if path.contains("::scheduled_io::") => LeafType::Readiness,
        "MaybeDone" => return Some(Known::MaybeDone),
        "PollFn" => return Some(Known::PollFn),
        "Timeout" => return Some(Known::Combinator),
        "Coop" | "Unconstrained" | "TaskLocalFuture" => return Some(Known::Wrapper),
        _ => LeafType::Io(direction(path, name)?),
    };
    Some(Known::Leaf(leaf))
}

/// Operations of `AsyncReadExt` and `AsyncWriteExt`.
fn direction(path: &str, name: &str) -> Option<Direction> {
    if !path.starts_with("tokio::io::util::") {
        return None;
    }
    match name {
        "Read" | "ReadExact" | "ReadBuf" | "ReadToEnd" | "ReadToString" | "ReadLine"
        | "ReadUntil" | "FillBuf" | "ReadU8" | "ReadU16" | "ReadU32" | "ReadU64" | "ReadU128"
        | "ReadI8" | "ReadI16" | "ReadI32" | "ReadI64" | "ReadI128" | "ReadU16Le" | "ReadU32Le"
        | "ReadU64Le" | "ReadI16Le" | "ReadI32Le" | "ReadI64Le" => Some(Direction::Read),
        "Write" | "WriteAll" | "WriteBuf" | "WriteAllBuf" | "WriteVectored" | "Flush"
        | "Shutdown" => Some(Direction::Write),
        _ => None,
    }
}

fn in_futures(path: &str, name: &str) -> Option<Known> {
    match name {
        "Pending" if path.contains("::pending::") => Some(Known::Leaf(LeafType::Forever)),
        "Next" if path.contains("::next::") => Some(Known::Leaf(LeafType::Next)),
        "PollFn" => Some(Known::PollFn),
        "MaybeDone" | "TryMaybeDone" => Some(Known::MaybeDone),
        "Join" | "Join3" | "Join4" | "Join5" | "TryJoin" | "TryJoin3" | "TryJoin4" | "TryJoin5"
        | "Select" | "TrySelect" | "JoinAll" | "TryJoinAll" => Some(Known::Combinator),
        "Fuse" | "JoinAllKind" | "TryJoinAllKind" | "IntoFuture" | "Either" | "CatchUnwind" => {
            Some(Known::Wrapper)
        }
        _ => None,
    }
}

fn in_async_task(name: &str) -> Option<Known> {
    match name {
        "Task" => Some(Known::Leaf(LeafType::Task)),
        "FallibleTask" => Some(Known::Around("task")),
        _ => None,
    }
}

fn in_futures_lite(path: &str, name: &str) -> Option<Known> {
    match name {
        "Pending" if path.contains("::future::") => Some(Known::Leaf(LeafType::Forever)),
        "NextFuture" => Some(Known::Leaf(LeafType::Next)),
        "PollFn" => Some(Known::PollFn),
        "Zip" | "TryZip" | "Or" | "Race" if path.contains("::future::") => Some(Known::Combinator),
        "CatchUnwind" => Some(Known::Around("inner")),
        "ReadFuture" | "ReadExactFuture" | "ReadVectoredFuture" | "ReadToEndFuture"
        | "ReadToStringFuture" | "ReadLineFuture" | "ReadUntilFuture" | "FillBuf" => {
            Some(Known::Leaf(LeafType::Smol(SmolLeaf::Read)))
        }
        "WriteFuture"
        | "WriteAllFuture"
        | "WriteVectoredFuture"
        | "FlushFuture"
        | "CloseFuture" => Some(Known::Leaf(LeafType::Smol(SmolLeaf::Write))),
        _ => None,
    }
}

/// Futures of the crates around smol.
fn smol_leaf(library: &str, name: &str) -> Option<SmolLeaf> {
    let leaf = match (library, name) {
        ("async_lock", "Lock" | "LockArc") => SmolLeaf::Lock,
        ("async_lock", "Read" | "ReadArc" | "Write" | "WriteArc") => SmolLeaf::RwLock,
        ("async_lock", "Acquire" | "AcquireArc") => SmolLeaf::Acquire,
        ("async_lock", "BarrierWait") | ("event_listener", "EventListener") => SmolLeaf::Listener,
        ("async_channel", "Recv") => SmolLeaf::Receive,
        ("async_channel", "Send") => SmolLeaf::Send,
        ("async_io", "Timer") => SmolLeaf::Timer,
        ("async_io", "Readable" | "Writable" | "ReadableOwned" | "WritableOwned") => {
            SmolLeaf::Ready
        }
        _ => return None,
    };
    Some(leaf)
}

fn is_wrapper(name: &str) -> bool {
    matches!(name, "Instrumented" | "WithDispatch" | "Traced")
}

/// Whether a path is that of the body of an async function or block.
pub(crate) fn is_body(path: &str) -> bool {
    let (_, name) = path.rsplit_once("::").unwrap_or(("", path));
    let kinds = ["{async_fn_env#", "{async_block_env#", "{async_closure_env#"];
    let is_path = !path.starts_with(['&', '*', '(', '[']);
    is_path && kinds.iter().any(|kind| name.starts_with(kind))
}

/// Whether a path is that of the body of an async function.
pub(crate) fn is_function_body(path: &str) -> bool {
    let (_, name) = path.rsplit_once("::").unwrap_or(("", path));
    is_body(path) && name.starts_with("{async_fn_env#")
}

/// The macro of tokio or of futures that has its `.await` in this source file.
pub(crate) fn macro_of(file: &str) -> Option<&'static str> {
    let is_of_tokio = file.contains("/tokio-") && file.contains("/src/macros/");
    let is_of_futures = file.contains("/futures-util-") && file.contains("/src/async_await/");
    match file.rsplit('/').next()? {
        "select.rs" if is_of_tokio => Some("tokio::select!"),
        "join.rs" if is_of_tokio => Some("tokio::join!"),
        "try_join.rs" if is_of_tokio => Some("tokio::try_join!"),
        "select_mod.rs" if is_of_futures => Some("futures::select!"),
        "join_mod.rs" if is_of_futures => Some("futures::join!"),
        _ => None,
    }
}
