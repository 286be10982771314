//! Every record as a word and its fields, for the dump as text and as JSON.

use ctp_trace::record::{
    Act, Aggregate, Bins, Birth, Chain, Control, CoroutineKind, Dialect, Durations, Earlier, End,
    EndedSums, Event, EventCounts, EventKind, ExitReason, Hold, Look, Module, Nanos, Place,
    Process, ProcessEnd, ProcessExit, Record, Seen, Site, Start, ThreadEvent, WaitMarks, Wake,
    Waker, Window,
};
use serde_json::{Value, json};

use crate::evidence::{observations, resource};
use crate::text::{escape, escape_bytes, units};

/// A record, taken apart.
#[derive(Clone, Debug)]
pub struct Fields {
    /// What sort of record.
    pub word: &'static str,
    /// When it happened, if it is about a moment.
    pub at: Option<Nanos>,
    /// The rest.
    pub rest: Vec<Field>,
}

/// Takes a record apart.
pub fn of(record: &Record) -> Fields {
    match record {
        Record::Start(other_start) => fields("start", None, start(other_start)),
        Record::Process(other_process) => fields(
            "process",
            Some(other_process.attached),
            process(other_process),
        ),
        Record::Module(other_module) => fields("module", None, module(other_module)),
        Record::Site(other_site) => fields("site", None, site(other_site)),
        Record::Chain(other_chain) => fields("chain", None, chain(other_chain)),
        Record::Birth(other_birth) => fields("birth", Some(other_birth.at), birth(other_birth)),
        Record::Event(other_event) => fields(
            event_kind(other_event.kind),
            Some(other_event.at),
            event(other_event),
        ),
        Record::Wake(other_wake) => fields("wake", Some(other_wake.at), wake(other_wake)),
        Record::ThreadEvent(other_thread_event) => thread_event(other_thread_event),
        Record::EventCounts(other_event_counts) => {
            fields("tally", None, event_counts(other_event_counts))
        }
        Record::ProcessEnd(other_process_end) => fields(
            "leaves",
            Some(other_process_end.at),
            process_end(other_process_end),
        ),
        Record::Aggregate(other_aggregate) => fields(
            "totals",
            Some(other_aggregate.at),
            aggregate(other_aggregate),
        ),
        Record::Control(other_control) => {
            fields("control", Some(other_control.at), control(other_control))
        }
        Record::Window(other_window) => {
            fields("window", Some(other_window.since), window(other_window))
        }
        Record::Earlier(other_earlier) => fields("earlier", None, earlier(other_earlier)),
        Record::EndedSums(other_ended_sums) => fields("former", None, ended_sums(other_ended_sums)),
        Record::Look(other_look) => fields("look", Some(other_look.at), look(other_look)),
        Record::Watermark(at) => fields("watermark", Some(*at), vec![]),
        Record::End(other_end) => fields("end", Some(other_end.at), end(other_end)),
        _ => fields("unknown", None, vec![]),
    }
}

/// The name of a field, and what it says.
type Field = (&'static str, Value);

fn fields(word: &'static str, at: Option<Nanos>, rest: Vec<Field>) -> Fields {
    Fields { word, at, rest }
}

fn address(address: u64) -> Value {
    format!("{address:#x}").into()
}

fn start(other_start: &Start) -> Vec<Field> {
    let argv: Vec<String> = other_start
        .argv
        .iter()
        .map(|word| escape_bytes(word))
        .collect();
    vec![
        ("trace_id", units::hex(&other_start.trace_id).into()),
        ("recorder", escape(&other_start.recorder).into()),
        ("host", escape(&other_start.host).into()),
        ("argv", argv.into()),
        ("started_unix_ns", other_start.started_unix_ns.into()),
        (
            "started_monotonic_ns",
            other_start.started_monotonic_ns.into(),
        ),
        ("capacity", other_start.capacity.into()),
        (
            "precise_chains",
            other_start.precise_chains.then_some(true).into(),
        ),
    ]
}

fn process(other_process: &Process) -> Vec<Field> {
    vec![
        ("id", other_process.id.0.into()),
        ("pid", other_process.pid.into()),
    ]
}

fn process_end(other_process_end: &ProcessEnd) -> Vec<Field> {
    let how = match other_process_end.how {
        ProcessExit::Exited(status) => format!("exit {status}"),
        ProcessExit::Signalled(signal) => format!("signal {signal}"),
        ProcessExit::Exec => "exec".to_owned(),
        _ => "gone".to_owned(),
    };
    vec![
        ("process", other_process_end.process.0.into()),
        ("how", how.into()),
    ]
}

fn aggregate(other_aggregate: &Aggregate) -> Vec<Field> {
    vec![
        ("coroutine", other_aggregate.coroutine.0.into()),
        (
            "stands_for_events",
            other_aggregate.stands_for_events.into(),
        ),
        ("left_out", other_aggregate.left_out.into()),
        (
            "waiting",
            durations(&other_aggregate.waiting, other_aggregate.bins),
        ),
        (
            "running",
            durations(&other_aggregate.running, other_aggregate.bins),
        ),
    ]
}

fn window(other_window: &Window) -> Vec<Field> {
    vec![
        ("overwritten", other_window.overwritten.into()),
        ("unattributed", other_window.unattributed.into()),
        ("goes_on", other_window.goes_on.into()),
    ]
}

fn earlier(other_earlier: &Earlier) -> Vec<Field> {
    vec![
        ("coroutine", other_earlier.coroutine.0.into()),
        ("events", other_earlier.events.into()),
    ]
}

fn look(other_look: &Look) -> Vec<Field> {
    let (seen, amount) = match other_look.seen {
        Seen::Open => ("open", 0),
        Seen::Closed => ("closed", 0),
        Seen::Replaced => ("replaced", 0),
        Seen::Readable(amount) => ("readable", amount),
        Seen::HungUp => ("hung-up", 0),
        Seen::Hidden => ("hidden", 0),
        Seen::NumberClosed => ("number-closed", 0),
        Seen::Empty => ("nothing-to-read", 0),
        Seen::Unwatched(amount) => ("unwatched", amount),
        _ => ("unknown", 0),
    };
    vec![
        ("coroutine", other_look.coroutine.0.into()),
        ("since", other_look.since.0.into()),
        ("fd", other_look.fd.into()),
        ("thing", observations::thing(other_look.thing).into()),
        ("seen", seen.into()),
        ("amount", amount.into()),
    ]
}

fn ended_sums(other_ended_sums: &EndedSums) -> Vec<Field> {
    vec![
        ("process", other_ended_sums.process.0.into()),
        ("name", escape(&other_ended_sums.name).into()),
        ("spawn_site", other_ended_sums.spawn_site.0.into()),
        ("coroutines", other_ended_sums.coroutines.into()),
        ("events", other_ended_sums.events.into()),
        ("lost", other_ended_sums.lost.into()),
        ("filtered", other_ended_sums.filtered.into()),
        ("left_out", other_ended_sums.left_out.into()),
        (
            "waiting",
            durations(&other_ended_sums.waiting, other_ended_sums.bins),
        ),
        (
            "running",
            durations(&other_ended_sums.running, other_ended_sums.bins),
        ),
    ]
}

/// Without any there is nothing to tell. A bin is told as its lower bound and its count.
fn durations(other_durations: &Durations, bins: Bins) -> Value {
    if other_durations.count == 0 {
        return Value::Null;
    }
    let bars = other_durations
        .bars(bins)
        .filter(|(_, _, count)| *count > 0);
    let bars: Vec<Value> = bars
        .map(|(from, _, count)| json!([from.0, count]))
        .collect();
    json!({
        "count": other_durations.count,
        "sum_ns": other_durations.sum.0,
        "min_ns": other_durations.min.0,
        "max_ns": other_durations.max.0,
        "bins": bars,
    })
}

fn module(other_module: &Module) -> Vec<Field> {
    vec![
        ("process", other_module.process.0.into()),
        ("start", address(other_module.start)),
        ("end", address(other_module.end)),
        ("file_offset", address(other_module.file_offset)),
        ("path", escape_bytes(&other_module.path).into()),
        ("build_id", units::hex(&other_module.build_id).into()),
    ]
}

fn site(other_site: &Site) -> Vec<Field> {
    let (place, value) = match &other_site.place {
        Place::Source { file, line, column } => {
            ("source", json!(format!("{}:{line}:{column}", escape(file))))
        }
        Place::Function { address, name } => {
            ("function", json!(format!("{address:#x} {}", escape(name))))
        }
        Place::Address(number) => ("address", address(*number)),
        Place::ReturnAddress(number) => ("return_address", address(*number)),
        _ => ("unknown", Value::Null),
    };
    vec![
        ("id", other_site.id.0.into()),
        ("process", other_site.process.0.into()),
        (place, value),
    ]
}

fn chain(other_chain: &Chain) -> Vec<Field> {
    let addresses: Value = other_chain
        .addresses
        .iter()
        .map(|number| address(*number))
        .collect();
    vec![
        ("site", other_chain.site.0.into()),
        ("whole", other_chain.is_whole.into()),
        ("addresses", addresses),
    ]
}

fn birth(other_birth: &Birth) -> Vec<Field> {
    vec![
        ("coroutine", other_birth.coroutine.0.into()),
        ("process", other_birth.process.0.into()),
        ("station", other_birth.station.into()),
        ("generation", other_birth.generation.into()),
        ("probe_id", other_birth.probe_id.into()),
        ("dialect", dialect(other_birth.dialect).into()),
        ("kind", kind(other_birth.kind).into()),
        ("name", escape(&other_birth.name).into()),
        ("spawn_site", other_birth.spawn_site.0.into()),
    ]
}

fn dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Extended => "extended",
        Dialect::V1PerSlot => "v1-per-slot",
        Dialect::V1PerStation => "v1-per-station",
        _ => "unknown",
    }
}

fn kind(kind: CoroutineKind) -> &'static str {
    match kind {
        CoroutineKind::Future => "future",
        CoroutineKind::Stackful => "stackful",
        CoroutineKind::Thread => "thread",
        CoroutineKind::Bare => "bare",
        _ => "unknown",
    }
}

fn event(other_event: &Event) -> Vec<Field> {
    let mut fields = vec![
        ("coroutine", other_event.coroutine.0.into()),
        ("n", other_event.n.into()),
        ("tid", other_event.tid.into()),
    ];
    if other_event.kind == EventKind::Suspend {
        fields.extend([
            ("site", other_event.site.0.into()),
            ("wait", resource::word(other_event.wait).into()),
            ("arg", other_event.arg.into()),
            ("wake_seen", other_event.wake_seen.into()),
        ]);
        fields.extend(marks(other_event.marks));
    }
    fields
}

/// Those that are set.
fn marks(wait_marks: WaitMarks) -> impl Iterator<Item = Field> {
    let marks = [
        ("idle", wait_marks.idle),
        ("one_of_several", wait_marks.one_of_several),
    ];
    let set = marks.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(mark, _)| (mark, true.into()))
}

fn event_kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Birth => "born",
        EventKind::Run => "run",
        EventKind::Suspend => "suspend",
        EventKind::Death => "death",
    }
}

fn waker(waker: Waker) -> String {
    match waker {
        Waker::Foreign => "unknown".to_owned(),
        Waker::Thread(tid) => format!("tid {tid}"),
        Waker::Coroutine(id) => format!("coroutine {}", id.0),
    }
}

fn thread_event(other_thread_event: &ThreadEvent) -> Fields {
    let (word, rest) = act(&other_thread_event.act);
    let mut all = vec![
        ("process", other_thread_event.process.0.into()),
        ("tid", other_thread_event.tid.into()),
    ];
    all.extend(rest);
    fields(word, Some(other_thread_event.at), all)
}

fn act(act: &Act) -> (&'static str, Vec<Field>) {
    match act {
        Act::Begin => ("thread-begins", vec![]),
        Act::End => ("thread-ends", vec![]),
        Act::Wake(call) => (
            "wakes",
            vec![
                ("coroutine", call.coroutine.0.into()),
                ("count", call.count.into()),
                ("by", waker(call.by).into()),
                ("site", call.site.0.into()),
            ],
        ),
        Act::Close(close) => (
            "closes",
            vec![
                ("wait", resource::word(close.wait).into()),
                ("arg", close.arg.into()),
                ("site", close.site.0.into()),
            ],
        ),
        Act::Acquire(other_hold) => ("acquires", hold(other_hold)),
        Act::Release(other_hold) => ("releases", hold(other_hold)),
        Act::Loss(records) => ("loses", vec![("records", (*records).into())]),
        _ => ("unknown", vec![]),
    }
}

fn hold(other_hold: &Hold) -> Vec<Field> {
    vec![
        ("wait", resource::word(other_hold.wait).into()),
        ("arg", other_hold.arg.into()),
        ("by", waker(other_hold.by).into()),
        ("site", other_hold.site.0.into()),
    ]
}

fn wake(other_wake: &Wake) -> Vec<Field> {
    let waker = waker(other_wake.waker);
    vec![
        ("coroutine", other_wake.coroutine.0.into()),
        ("count", other_wake.count.into()),
        ("waker", waker.into()),
    ]
}

/// Who is 0 is everybody.
fn control(other_control: &Control) -> Vec<Field> {
    vec![
        ("generation", other_control.generation.into()),
        ("pid", other_control.pid.into()),
        ("stopped", other_control.stopped.into()),
        ("without_runs", other_control.without_runs.into()),
        ("without_suspends", other_control.without_suspends.into()),
        ("only_thread", other_control.only_thread.into()),
        ("only_process", other_control.only_process.into()),
    ]
}

fn event_counts(other_event_counts: &EventCounts) -> Vec<Field> {
    let filtered = (0 < other_event_counts.filtered).then_some(other_event_counts.filtered);
    vec![
        ("coroutine", other_event_counts.coroutine.0.into()),
        ("attempted", other_event_counts.attempted.into()),
        ("recorded", other_event_counts.recorded.into()),
        ("torn", other_event_counts.torn.into()),
        ("inexact", other_event_counts.inexact.into()),
        ("filtered", filtered.into()),
        ("wakers", other_event_counts.wakers.into()),
    ]
}

fn end(other_end: &End) -> Vec<Field> {
    let faulting_tid = (other_end.faulting_tid != 0).then_some(other_end.faulting_tid);
    let unrecorded = (other_end.unrecorded != 0).then_some(other_end.unrecorded);
    let records = (other_end.records != 0).then_some(other_end.records);
    let how = match other_end.how {
        ExitReason::Exited(status) => format!("exited {status}"),
        ExitReason::Signalled(signal) => format!("signal {signal}"),
        ExitReason::Stopped => "stopped".to_owned(),
        ExitReason::Image => "image".to_owned(),
        _ => "unknown".to_owned(),
    };
    vec![
        ("how", how.into()),
        ("events", other_end.events.into()),
        ("lost", other_end.lost.into()),
        ("refused", other_end.refused.into()),
        ("coroutines", other_end.coroutines.into()),
        ("unnamed", other_end.unnamed.into()),
        ("quarantined", other_end.quarantined.into()),
        ("faulting_tid", faulting_tid.into()),
        ("unrecorded", unrecorded.into()),
        ("records", records.into()),
    ]
}
