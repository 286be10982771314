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
        Record::Start(it) => fields("start", None, start(it)),
        Record::Process(it) => fields("process", Some(it.attached), process(it)),
        Record::Module(it) => fields("module", None, module(it)),
        Record::Site(it) => fields("site", None, site(it)),
        Record::Chain(it) => fields("chain", None, chain(it)),
        Record::Birth(it) => fields("birth", Some(it.at), birth(it)),
        Record::Event(it) => fields(event_kind(it.kind), Some(it.at), event(it)),
        Record::Wake(it) => fields("wake", Some(it.at), wake(it)),
        Record::ThreadEvent(it) => thread_event(it),
        Record::EventCounts(it) => fields("tally", None, event_counts(it)),
        Record::ProcessEnd(it) => fields("leaves", Some(it.at), process_end(it)),
        Record::Aggregate(it) => fields("totals", Some(it.at), aggregate(it)),
        Record::Control(it) => fields("control", Some(it.at), control(it)),
        Record::Window(it) => fields("window", Some(it.since), window(it)),
        Record::Earlier(it) => fields("earlier", None, earlier(it)),
        Record::EndedSums(it) => fields("former", None, ended_sums(it)),
        Record::Look(it) => fields("look", Some(it.at), look(it)),
        Record::Watermark(at) => fields("watermark", Some(*at), vec![]),
        Record::End(it) => fields("end", Some(it.at), end(it)),
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

fn start(it: &Start) -> Vec<Field> {
    let argv: Vec<String> = it.argv.iter().map(|word| escape_bytes(word)).collect();
    vec![
        ("trace_id", units::hex(&it.trace_id).into()),
        ("recorder", escape(&it.recorder).into()),
        ("host", escape(&it.host).into()),
        ("argv", argv.into()),
        ("started_unix_ns", it.started_unix_ns.into()),
        ("started_monotonic_ns", it.started_monotonic_ns.into()),
        ("capacity", it.capacity.into()),
        ("precise_chains", it.precise_chains.then_some(true).into()),
    ]
}

fn process(it: &Process) -> Vec<Field> {
    vec![("id", it.id.0.into()), ("pid", it.pid.into())]
}

fn process_end(it: &ProcessEnd) -> Vec<Field> {
    let how = match it.how {
        ProcessExit::Exited(status) => format!("exit {status}"),
        ProcessExit::Signalled(signal) => format!("signal {signal}"),
        ProcessExit::Exec => "exec".to_owned(),
        _ => "gone".to_owned(),
    };
    vec![("process", it.process.0.into()), ("how", how.into())]
}

fn aggregate(it: &Aggregate) -> Vec<Field> {
    vec![
        ("coroutine", it.coroutine.0.into()),
        ("stands_for_events", it.stands_for_events.into()),
        ("left_out", it.left_out.into()),
        ("waiting", durations(&it.waiting, it.bins)),
        ("running", durations(&it.running, it.bins)),
    ]
}

fn window(it: &Window) -> Vec<Field> {
    vec![
        ("overwritten", it.overwritten.into()),
        ("unattributed", it.unattributed.into()),
        ("goes_on", it.goes_on.into()),
    ]
}

fn earlier(it: &Earlier) -> Vec<Field> {
    vec![
        ("coroutine", it.coroutine.0.into()),
        ("events", it.events.into()),
    ]
}

fn look(it: &Look) -> Vec<Field> {
    let (seen, amount) = match it.seen {
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
        ("coroutine", it.coroutine.0.into()),
        ("since", it.since.0.into()),
        ("fd", it.fd.into()),
        ("thing", observations::thing(it.thing).into()),
        ("seen", seen.into()),
        ("amount", amount.into()),
    ]
}

fn ended_sums(it: &EndedSums) -> Vec<Field> {
    vec![
        ("process", it.process.0.into()),
        ("name", escape(&it.name).into()),
        ("spawn_site", it.spawn_site.0.into()),
        ("coroutines", it.coroutines.into()),
        ("events", it.events.into()),
        ("lost", it.lost.into()),
        ("filtered", it.filtered.into()),
        ("left_out", it.left_out.into()),
        ("waiting", durations(&it.waiting, it.bins)),
        ("running", durations(&it.running, it.bins)),
    ]
}

/// Without any there is nothing to tell. A bin is told as its lower bound and its count.
fn durations(it: &Durations, bins: Bins) -> Value {
    if it.count == 0 {
        return Value::Null;
    }
    let bars = it.bars(bins).filter(|(_, _, count)| *count > 0);
    let bars: Vec<Value> = bars
        .map(|(from, _, count)| json!([from.0, count]))
        .collect();
    json!({
        "count": it.count,
        "sum_ns": it.sum.0,
        "min_ns": it.min.0,
        "max_ns": it.max.0,
        "bins": bars,
    })
}

fn module(it: &Module) -> Vec<Field> {
    vec![
        ("process", it.process.0.into()),
        ("start", address(it.start)),
        ("end", address(it.end)),
        ("file_offset", address(it.file_offset)),
        ("path", escape_bytes(&it.path).into()),
        ("build_id", units::hex(&it.build_id).into()),
    ]
}

fn site(it: &Site) -> Vec<Field> {
    let (place, value) = match &it.place {
        Place::Source { file, line, column } => {
            ("source", json!(format!("{}:{line}:{column}", escape(file))))
        }
        Place::Function { address, name } => {
            ("function", json!(format!("{address:#x} {}", escape(name))))
        }
        Place::Address(it) => ("address", address(*it)),
        Place::ReturnAddress(it) => ("return_address", address(*it)),
        _ => ("unknown", Value::Null),
    };
    vec![
        ("id", it.id.0.into()),
        ("process", it.process.0.into()),
        (place, value),
    ]
}

fn chain(it: &Chain) -> Vec<Field> {
    let addresses: Value = it.addresses.iter().map(|it| address(*it)).collect();
    vec![
        ("site", it.site.0.into()),
        ("whole", it.is_whole.into()),
        ("addresses", addresses),
    ]
}

fn birth(it: &Birth) -> Vec<Field> {
    vec![
        ("coroutine", it.coroutine.0.into()),
        ("process", it.process.0.into()),
        ("station", it.station.into()),
        ("generation", it.generation.into()),
        ("probe_id", it.probe_id.into()),
        ("dialect", dialect(it.dialect).into()),
        ("kind", kind(it.kind).into()),
        ("name", escape(&it.name).into()),
        ("spawn_site", it.spawn_site.0.into()),
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

fn event(it: &Event) -> Vec<Field> {
    let mut fields = vec![
        ("coroutine", it.coroutine.0.into()),
        ("n", it.n.into()),
        ("tid", it.tid.into()),
    ];
    if it.kind == EventKind::Suspend {
        fields.extend([
            ("site", it.site.0.into()),
            ("wait", resource::word(it.wait).into()),
            ("arg", it.arg.into()),
            ("wake_seen", it.wake_seen.into()),
        ]);
        fields.extend(marks(it.marks));
    }
    fields
}

/// Those that are set.
fn marks(it: WaitMarks) -> impl Iterator<Item = Field> {
    let marks = [("idle", it.idle), ("one_of_several", it.one_of_several)];
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

fn thread_event(it: &ThreadEvent) -> Fields {
    let (word, rest) = act(&it.act);
    let mut all = vec![("process", it.process.0.into()), ("tid", it.tid.into())];
    all.extend(rest);
    fields(word, Some(it.at), all)
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
        Act::Acquire(it) => ("acquires", hold(it)),
        Act::Release(it) => ("releases", hold(it)),
        Act::Loss(records) => ("loses", vec![("records", (*records).into())]),
        _ => ("unknown", vec![]),
    }
}

fn hold(it: &Hold) -> Vec<Field> {
    vec![
        ("wait", resource::word(it.wait).into()),
        ("arg", it.arg.into()),
        ("by", waker(it.by).into()),
        ("site", it.site.0.into()),
    ]
}

fn wake(it: &Wake) -> Vec<Field> {
    let waker = waker(it.waker);
    vec![
        ("coroutine", it.coroutine.0.into()),
        ("count", it.count.into()),
        ("waker", waker.into()),
    ]
}

/// Who is 0 is everybody.
fn control(it: &Control) -> Vec<Field> {
    vec![
        ("generation", it.generation.into()),
        ("pid", it.pid.into()),
        ("stopped", it.stopped.into()),
        ("without_runs", it.without_runs.into()),
        ("without_suspends", it.without_suspends.into()),
        ("only_thread", it.only_thread.into()),
        ("only_process", it.only_process.into()),
    ]
}

fn event_counts(it: &EventCounts) -> Vec<Field> {
    let filtered = (0 < it.filtered).then_some(it.filtered);
    vec![
        ("coroutine", it.coroutine.0.into()),
        ("attempted", it.attempted.into()),
        ("recorded", it.recorded.into()),
        ("torn", it.torn.into()),
        ("inexact", it.inexact.into()),
        ("filtered", filtered.into()),
        ("wakers", it.wakers.into()),
    ]
}

fn end(it: &End) -> Vec<Field> {
    let faulting_tid = (it.faulting_tid != 0).then_some(it.faulting_tid);
    let unrecorded = (it.unrecorded != 0).then_some(it.unrecorded);
    let records = (it.records != 0).then_some(it.records);
    let how = match it.how {
        ExitReason::Exited(status) => format!("exited {status}"),
        ExitReason::Signalled(signal) => format!("signal {signal}"),
        ExitReason::Stopped => "stopped".to_owned(),
        ExitReason::Image => "image".to_owned(),
        _ => "unknown".to_owned(),
    };
    vec![
        ("how", how.into()),
        ("events", it.events.into()),
        ("lost", it.lost.into()),
        ("refused", it.refused.into()),
        ("coroutines", it.coroutines.into()),
        ("unnamed", it.unnamed.into()),
        ("quarantined", it.quarantined.into()),
        ("faulting_tid", faulting_tid.into()),
        ("unrecorded", unrecorded.into()),
        ("records", records.into()),
    ]
}
