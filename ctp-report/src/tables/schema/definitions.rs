//! All tables with all columns.

use super::{Column, Table, flag, number, text, time, unsigned};

/// The tables, in the order of [`TableId`](super::TableId).
pub static TABLES: [Table; 8] = [
    Table {
        name: "traces",
        meaning: "the recording; there is only this row",
        columns: TRACES,
    },
    Table {
        name: "processes",
        meaning: "a process of the program",
        columns: PROCESSES,
    },
    Table {
        name: "sites",
        meaning: "a place in the program where coroutines are spawned, wait or are woken",
        columns: SITES,
    },
    Table {
        name: "coroutines",
        meaning: "a coroutine, whether it has ended or not",
        columns: COROUTINES,
    },
    Table {
        name: "events",
        meaning: "a change of a coroutine's state, or what a thread did; calls of wake() are in `wakes`",
        columns: EVENTS,
    },
    Table {
        name: "waits",
        meaning: "a wait, from a suspend to the next run; waits without an end come last",
        columns: WAITS,
    },
    Table {
        name: "wakes",
        meaning: "a call of wake()",
        columns: WAKES,
    },
    Table {
        name: "verdicts",
        meaning: "the verdict of --stuck on a coroutine that had not ended, at the default threshold of 1 s",
        columns: VERDICTS,
    },
];

const TRACES: &[Column] = &[
    text("started_at", "start of the recording, ISO 8601 in UTC"),
    number("started_unix_ns", "the same in nanoseconds since 1970"),
    time("duration_ns", "length of the recording"),
    text(
        "command",
        "program and arguments, quoted for a shell where needed",
    ),
    text("recorder", "version of the recorder"),
    text("report", "version of ctp-report, which wrote the tables"),
    text(
        "ended",
        "how the recording ended, such as `exit 0` or `SIGSEGV`",
    ),
    number("coroutines", "coroutines in the trace"),
    number("events", "events of coroutines in the trace"),
    number("lost_events", "events that are known to be missing"),
    number(
        "refused_coroutines",
        "coroutines that were not recorded because no station was free",
    ),
    flag(
        "is_exact",
        "nothing is missing or contradictory, so that sums and counts are exact",
    ),
];

const PROCESSES: &[Column] = &[
    number("process_id", "number of the process in the trace").key(),
    number("pid", "the kernel's process id; 0 for a memory image"),
    time("attached_ns", "when the recorder first saw the process"),
    time(
        "ended_ns",
        "when the process ended, if that was before the recording did",
    )
    .or_null(),
];

const SITES: &[Column] = &[
    number("site_id", "number of the site in the trace").key(),
    number("process_id", "process that executes the code").of("processes").or_null(),
    text("function", "function, as on the pages").or_null(),
    text("file", "source file, as named in the program").or_null(),
    number("line", "line of the source, from 1").or_null(),
    number("column_number", "column of the line, from 1").or_null(),
    unsigned("address", "address of the code in the process").or_null(),
    text("module", "file of the program and offset, if there is no source position").or_null(),
    text("within", "library function, or own `poll` function, in which coroutines wait here").or_null(),
    text(
        "await_chain",
        "functions that await this place, innermost first, separated by ` <- `; `…` stands for unknown functions",
    )
    .or_null(),
];

const COROUTINES: &[Column] = &[
    number("coroutine_id", "id, as on the pages").key(),
    number("process_id", "process of the coroutine")
        .of("processes")
        .or_null(),
    unsigned("probe_id", "number that the program gave the coroutine"),
    text(
        "name",
        "name as on the pages: the given name, otherwise the spawning function",
    ),
    text(
        "given_name",
        "name that the program gave, with control characters escaped",
    )
    .or_null(),
    text(
        "kind",
        "`future`, `stackful`, `thread`, `bare` or `unknown`",
    ),
    number("parent_id", "coroutine that spawned this coroutine")
        .of("coroutines")
        .or_null(),
    number("spawn_site_id", "where the coroutine was spawned")
        .of("sites")
        .or_null(),
    time("created_ns", "birth; null if that was before the recording").or_null(),
    time("ended_ns", "death; null if the coroutine had not ended").or_null(),
    text(
        "state",
        "the latest state: `created` (never run), `running`, `waiting`, `ended`, or `dropped` (ended while waiting)",
    ),
    number("waits", "waits that ended"),
    number("waiting_ns", "time spent in these waits"),
    number("longest_wait_ns", "the longest of these waits"),
    number("runs", "runs that ended"),
    number("running_ns", "time spent in these runs"),
    number("longest_run_ns", "the longest of these runs"),
    number(
        "lost_events",
        "events of the coroutine that are known to be missing",
    ),
];

const EVENTS: &[Column] = &[
    time("time_ns", "time of the event"),
    number("coroutine_id", "coroutine; null for an event of a thread that ran none, and for `close`, `loss` and `thread-*`").of("coroutines").or_null(),
    text(
        "event",
        "`birth`, `run`, `suspend` or `death` of the coroutine; `acquire`, `release` or `close` of a resource; \
         `thread-begin`, `thread-end`; `loss` of records of the thread",
    ),
    unsigned("thread_id", "thread: the kernel's id on Linux"),
    number("site_id", "where the coroutine suspended, or the thread acquired, released or closed")
        .of("sites")
        .or_null(),
    text(
        "resource_kind",
        "`readable`, `writable`, `timer`, `lock`, `channel`, `coroutine`, `user`, `yield` or `unknown`",
    )
    .or_null(),
    unsigned("resource", "descriptor, address, deadline or number of the resource").or_null(),
    number("lost", "events of the coroutine, or records of the thread, that were lost just before").or_null(),
    number("process_id", "process of the thread").of("processes").or_null(),
];

const WAITS: &[Column] = &[
    number("coroutine_id", "coroutine that waited").of("coroutines"),
    time("start_ns", "suspend"),
    time(
        "end_ns",
        "next run or death; null if the wait has not ended, or events are lost",
    )
    .or_null(),
    time(
        "woken_ns",
        "first wake() since the last run; earlier than start_ns if the coroutine still ran",
    )
    .or_null(),
    text(
        "outcome",
        "`resumed`, `dropped` (the coroutine ended while waiting), `open` (not ended), `unknown` (events are lost)",
    ),
    number(
        "site_id",
        "where the coroutine waited; the site has the await chain",
    )
    .of("sites")
    .or_null(),
    text("resource_kind", "as in `events`"),
    unsigned("resource", "as in `events`").or_null(),
    number(
        "awaited_id",
        "awaited coroutine, if it had not ended at the end",
    )
    .of("coroutines")
    .or_null(),
    unsigned("thread_id", "thread on which the coroutine suspended"),
    number("waker_id", "coroutine that called wake()")
        .of("coroutines")
        .or_null(),
    unsigned("waker_thread_id", "thread that called wake()").or_null(),
    number("wake_site_id", "where wake() was called")
        .of("sites")
        .or_null(),
    flag("is_idle", "the program marked the wait as meant to be long"),
];

const WAKES: &[Column] = &[
    time("time_ns", "time of the call"),
    number("coroutine_id", "coroutine that was woken")
        .of("coroutines")
        .or_null(),
    number(
        "waker_id",
        "coroutine that called; null if none did, or this is not known",
    )
    .of("coroutines")
    .or_null(),
    unsigned("thread_id", "thread that called"),
    number("site_id", "where wake() was called")
        .of("sites")
        .or_null(),
    number("process_id", "process of the thread")
        .of("processes")
        .or_null(),
];

const VERDICTS: &[Column] = &[
    number("coroutine_id", "coroutine").key().of("coroutines"),
    text(
        "verdict",
        "`DEADLOCK`, `STUCK`, `STUCK?`, `BUSY`, `WAITING` or `UNKNOWN`",
    ),
    text(
        "certainty",
        "`CERTAIN`, `LIKELY`, or `OPEN` for verdicts that claim nothing",
    ),
    text("state", "the fact behind the verdict, such as `NOT_WOKEN`"),
    text(
        "reason",
        "word of the reason; docs/verdicts.md explains each",
    ),
    text(
        "caveat",
        "word for the doubt that makes a verdict likely instead of certain",
    )
    .or_null(),
    time("since_ns", "when the state began"),
    number("age_ns", "how long the state had lasted at the end"),
    number("site_id", "where the coroutine waits, or waited last")
        .of("sites")
        .or_null(),
    text("text", "the sentence of the page of --stuck"),
    text(
        "proof",
        "the records that prove the verdict, a line each: seconds, source, what happened",
    ),
];
