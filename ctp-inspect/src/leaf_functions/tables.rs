//! Which functions of libraries are leaf futures, and what these wait for.

use ctp_trace::record::LeafKind;

/// Libraries with functions that may stand between a leaf future and the program.
pub(super) const LIBRARIES: &[&str] = &[
    "core",
    "alloc",
    "std",
    "tokio",
    "tokio_util",
    "tokio_stream",
    "mio",
    "futures_core",
    "futures_util",
    "futures_channel",
    "futures_io",
    "futures_sink",
    "futures_lite",
    "futures_timer",
    "async_io",
    "async_lock",
    "async_channel",
    "async_broadcast",
    "async_net",
    "event_listener",
    "event_listener_strategy",
    "flume",
    "spin",
    "kanal",
    "tokio_tungstenite",
    "tungstenite",
    "want",
    "hyper",
    "h2",
    "pin_project_lite",
    "ctp_nostd",
];

/// The modules of leaf futures, and what they wait for. Of entries that match, the first counts.
pub(super) const LEAVES: &[(&str, LeafKind)] = &[
    ("tokio::runtime::io::", LeafKind::Io),
    ("tokio::io::driver::", LeafKind::Io),
    ("tokio::io::poll_evented::", LeafKind::Io),
    ("tokio::io::async_fd::", LeafKind::Io),
    ("tokio::net::", LeafKind::Io),
    ("tokio_tungstenite::compat::", LeafKind::Io),
    ("async_io::reactor::", LeafKind::Io),
    ("async_io::Async<", LeafKind::Io),
    ("tokio::runtime::time::", LeafKind::Timer),
    ("tokio::time::driver::", LeafKind::Timer),
    ("tokio::time::sleep::", LeafKind::Timer),
    ("tokio::time::interval::", LeafKind::Timer),
    ("async_io::Timer", LeafKind::Timer),
    ("futures_timer::", LeafKind::Timer),
    ("tokio::sync::batch_semaphore::", LeafKind::Semaphore),
    // A sender waits until no reply is wanted any more.
    ("tokio::sync::oneshot::Sender", LeafKind::Notification),
    ("futures_channel::oneshot::Sender", LeafKind::Notification),
    ("tokio::sync::oneshot::", LeafKind::Reply),
    ("futures_channel::oneshot::", LeafKind::Reply),
    ("tokio::sync::mpsc::", LeafKind::Message),
    ("tokio::sync::broadcast::", LeafKind::Message),
    ("tokio::sync::notify::", LeafKind::Notification),
    ("event_listener::", LeafKind::Notification),
    ("futures_channel::mpsc::Sender", LeafKind::Room),
    ("futures_channel::mpsc::BoundedSenderInner", LeafKind::Room),
    ("futures_channel::mpsc::sink_impl", LeafKind::Room),
    // Line tables do not name the type.
    ("futures_channel::mpsc::poll_unparked", LeafKind::Room),
    ("futures_channel::mpsc::poll_ready", LeafKind::Room),
    ("futures_channel::mpsc::", LeafKind::Message),
    ("flume::async::Send", LeafKind::Room),
    ("flume::async::Recv", LeafKind::Message),
    ("kanal::future::SendFuture", LeafKind::Room),
    ("kanal::future::ReceiveFuture", LeafKind::Message),
    ("kanal::future::ReceiveStream", LeafKind::Message),
    // A connection of hyper's client takes the next request when it wants one.
    ("want::Giver", LeafKind::Semaphore),
    ("want::poll_want", LeafKind::Semaphore),
    // Windows of HTTP/2, a request that has no stream yet, and what the other end sends.
    (
        "h2::proto::streams::send::Send::poll_capacity",
        LeafKind::Output,
    ),
    ("h2::proto::streams::send::poll_capacity", LeafKind::Output),
    ("h2::client::SendRequest", LeafKind::Semaphore),
    ("h2::client::poll_ready", LeafKind::Semaphore),
    (
        "h2::proto::streams::recv::Recv::poll_response",
        LeafKind::Reply,
    ),
    ("h2::proto::streams::recv::poll_response", LeafKind::Reply),
    ("h2::proto::streams::recv::", LeafKind::Message),
    ("tokio_util::time::delay_queue::", LeafKind::Message),
    ("futures_util::lock::mutex::", LeafKind::Lock),
    ("tokio::runtime::task::join::", LeafKind::Task),
    ("tokio::util::idle_notified_set::", LeafKind::Task),
    ("tokio::task::join_set::", LeafKind::Task),
    (
        "tokio::runtime::task::harness::can_read_output",
        LeafKind::Task,
    ),
];

/// Futures that wait by means of a simpler future: the kind so far, the module, and what they wait for.
pub(super) const OUTER: &[(LeafKind, &str, LeafKind)] = &[
    (LeafKind::Semaphore, "tokio::sync::mutex::", LeafKind::Lock),
    (LeafKind::Semaphore, "tokio::sync::rwlock::", LeafKind::Lock),
    // Held by the task that initializes the cell.
    (
        LeafKind::Semaphore,
        "tokio::sync::once_cell::",
        LeafKind::Lock,
    ),
    (LeafKind::Semaphore, "tokio::sync::mpsc::", LeafKind::Room),
    (
        LeafKind::Notification,
        "tokio::sync::watch::",
        LeafKind::Message,
    ),
    (
        LeafKind::Notification,
        "async_lock::mutex::",
        LeafKind::Lock,
    ),
    (
        LeafKind::Notification,
        "async_lock::rwlock::",
        LeafKind::Lock,
    ),
    (
        LeafKind::Notification,
        "async_lock::semaphore::",
        LeafKind::Semaphore,
    ),
    (
        LeafKind::Notification,
        "async_channel::Rec",
        LeafKind::Message,
    ),
    (
        LeafKind::Notification,
        "async_channel::Send",
        LeafKind::Room,
    ),
    (
        LeafKind::Notification,
        "async_broadcast::Rec",
        LeafKind::Message,
    ),
    (
        LeafKind::Notification,
        "async_broadcast::Send",
        LeafKind::Room,
    ),
];

/// Library functions that several kinds of futures share, and what these wait for. They count where the calling
/// functions are not known.
pub(super) const SHARED: &[(&str, LeafKind)] = &[
    ("tokio::sync::task::atomic_waker::", LeafKind::TimeOrMessage),
    ("event_listener::", LeafKind::SharedFunction),
    ("flume::async::", LeafKind::SharedFunction),
];
