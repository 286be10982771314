//! What should be found in the tasks of the program.

/// What the inspection should find in a task: the functions of the program with the names of their lines, and
/// the innermost futures with the kinds of what they wait for.
pub struct Expected {
    pub task: &'static str,
    pub functions: &'static [(&'static str, &'static str)],
    pub ends: &'static [(&'static str, &'static str)],
}

pub const EXPECTED: &[Expected] = &[
    expected("ticking", &[("ticking", "ticking")], &[("Sleep", "Timer")]),
    expected(
        "watching",
        &[("watching", "watching")],
        &[("Notified", "Channel")],
    ),
    expected(
        "serving",
        &[("middle", "middle"), ("leaf", "leaf")],
        &[("oneshot::Receiver", "Channel")],
    ),
    expected(
        "middle",
        &[("middle", "middle"), ("leaf", "leaf")],
        &[("oneshot::Receiver", "Channel")],
    ),
    expected(
        "boxed",
        &[
            ("boxed", "boxed"),
            ("boxed", "boxed"),
            ("boxed", "boxed.leaf"),
            ("leaf", "leaf"),
        ],
        &[("oneshot::Receiver", "Channel")],
    ),
    expected(
        "limited",
        &[("limited", "limited"), ("leaf", "leaf")],
        &[("Receiver", "Channel"), ("Sleep", "Timer")],
    ),
    expected(
        "transfer",
        &[("transfer", "transfer")],
        &[("Acquire", "Mutex")],
    ),
    expected(
        "selecting",
        &[("selecting", "selecting")],
        &[
            ("Notified", "Notify"),
            ("PollFn", "Channel"),
            ("Sleep", "Timer"),
        ],
    ),
    expected(
        "in_set",
        &[
            ("in_set", "in_set"),
            ("answer", "answer"),
            ("answer", "answer"),
        ],
        &[("Receiver", "Channel"), ("Receiver", "Channel")],
    ),
    expected(
        "concurrently",
        &[
            ("concurrently", "concurrently"),
            ("answer", "answer"),
            ("answer", "answer"),
        ],
        &[("Receiver", "Channel"), ("Receiver", "Channel")],
    ),
    expected(
        "in_join_set",
        &[("in_join_set", "in_join_set")],
        &[("JoinHandle", "Task"), ("JoinHandle", "Task")],
    ),
    expected(
        "joining",
        &[("joining", "joining")],
        &[("Acquire", "Semaphore"), ("Acquire", "RwLock")],
    ),
    expected(
        "choosing",
        &[("choosing", "choosing"), ("leaf", "leaf")],
        &[("oneshot::Receiver", "Channel"), ("Notified", "Notify")],
    ),
    expected(
        "choosing.other",
        &[("choosing", "choosing.other"), ("leaf", "leaf")],
        &[("oneshot::Receiver", "Channel"), ("Notified", "Notify")],
    ),
    expected(
        "futures_select",
        &[("futures_select", "futures_select"), ("leaf", "leaf")],
        &[("oneshot::Receiver", "Channel"), ("Notified", "Notify")],
    ),
    expected(
        "futures_join",
        &[("futures_join", "futures_join"), ("leaf", "leaf")],
        &[("oneshot::Receiver", "Channel"), ("Notified", "Notify")],
    ),
    expected(
        "trying",
        &[
            ("trying", "trying"),
            ("trying", "trying.answer"),
            ("leaf", "leaf"),
            ("trying", "trying.notified"),
        ],
        &[("oneshot::Receiver", "Channel"), ("Notified", "Notify")],
    ),
    expected(
        "joining_all",
        &[("joining_all", "joining_all")],
        &[("Notified", "Notify"), ("Notified", "Notify")],
    ),
    expected(
        "reading",
        &[("reading", "reading")],
        &[("Read", "Readable")],
    ),
    expected(
        "reading_buffered",
        &[("reading_buffered", "reading_buffered")],
        &[("ReadExact", "Readable")],
    ),
    expected(
        "writing",
        &[("writing", "writing")],
        &[("WriteAll", "Writable")],
    ),
    expected(
        "accepting",
        &[("accepting", "accepting")],
        &[("Readiness", "Readable")],
    ),
    expected("sending", &[("sending", "sending")], &[("Acquire", "Room")]),
    expected(
        "listening",
        &[("listening", "listening")],
        &[("broadcast::Recv", "Channel")],
    ),
    expected("joined", &[("main", "joined")], &[("JoinHandle", "Task")]),
    expected(
        "forever",
        &[("forever", "forever")],
        &[("pending::Pending", "Unknown")],
    ),
    expected(
        "forgetting",
        &[("forgetting", "forgetting")],
        &[("PollFn", "Unknown")],
    ),
];

const fn expected(
    task: &'static str,
    functions: &'static [(&'static str, &'static str)],
    ends: &'static [(&'static str, &'static str)],
) -> Expected {
    Expected {
        task,
        functions,
        ends,
    }
}
