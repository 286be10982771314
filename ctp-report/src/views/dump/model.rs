//! Turns records into words and fields, for the dump as text and as JSON.

mod inspection;

use ctp_trace::record::{
    Act, Aggregate, Bins, Birth, Branches, Chain, Control, CoroutineKind, Dialect, Durations,
    Earlier, End, EndedSums, Event, EventCounts, EventKind, ExitReason, Hold, Leaf, Look, Module,
    Nanos, Place, PollWakers, Process, ProcessEnd, ProcessExit, Record, Seen, Site, Sockets, Start,
    ThreadEvent, Threads, WaitMarks, Wake, Waker, Window,
};
use serde_json::{Value, json};

use crate::evidence::{observations, resource};
use crate::text::{escape, escape_bytes, units};

/// The fields of a record.
#[derive(Clone, Debug)]
pub struct Fields {
    /// The kind of record.
    pub word: &'static str,
    /// The time of the record, if it has one.
    pub at: Option<Nanos>,
    /// The other fields.
    pub rest: Vec<Field>,
}

/// Returns the fields of a record.
pub fn of(record: &Record) -> Fields {
    match record {
        Record::Start(start) => fields("start", None, start_fields(start)),
        Record::Process(process) => {
            fields("process", Some(process.attached), process_fields(process))
        }
        Record::Module(module) => fields("module", None, module_fields(module)),
        Record::Site(site) => fields("site", None, site_fields(site)),
        Record::Chain(chain) => fields("chain", None, chain_fields(chain)),
        Record::Branches(branches) => fields("branches", None, branches_fields(branches)),
        Record::Birth(birth) => fields("birth", Some(birth.at), birth_fields(birth)),
        Record::Event(event) => fields(event_kind(event.kind), Some(event.at), event_fields(event)),
        Record::Wake(wake) => fields("wake", Some(wake.at), wake_fields(wake)),
        Record::ThreadEvent(thread_event) => thread_event_fields(thread_event),
        Record::EventCounts(event_counts) => {
            fields("tally", None, event_counts_fields(event_counts))
        }
        Record::ProcessEnd(process_end) => fields(
            "leaves",
            Some(process_end.at),
            process_end_fields(process_end),
        ),
        Record::Aggregate(aggregate) => {
            fields("totals", Some(aggregate.at), aggregate_fields(aggregate))
        }
        Record::Control(control) => fields("control", Some(control.at), control_fields(control)),
        Record::Window(window) => fields("window", Some(window.since), window_fields(window)),
        Record::Earlier(earlier) => fields("earlier", None, earlier_fields(earlier)),
        Record::EndedSums(ended_sums) => fields("former", None, ended_sums_fields(ended_sums)),
        Record::Threads(threads) => fields("threads", Some(threads.at), threads_fields(threads)),
        Record::Sockets(sockets) => fields("sockets", Some(sockets.at), sockets_fields(sockets)),
        Record::Leaf(leaf) => fields("leaf", None, leaf_fields(leaf)),
        Record::Look(look) => fields("look", Some(look.at), look_fields(look)),
        Record::Inspection(_)
        | Record::AwaitStack(_)
        | Record::InspectedTask(_)
        | Record::InspectedThread(_)
        | Record::InspectionEnd(_) => inspection::fields_of(record),
        Record::Watermark(at) => fields("watermark", Some(*at), vec![]),
        Record::End(end) => fields("end", Some(end.at), end_fields(end)),
        _ => fields("unknown", None, vec![]),
    }
}

/// The name and the value of a field.
type Field = (&'static str, Value);

fn fields(word: &'static str, at: Option<Nanos>, rest: Vec<Field>) -> Fields {
    Fields { word, at, rest }
}

fn address(address: u64) -> Value {
    format!("{address:#x}").into()
}

fn start_fields(start: &Start) -> Vec<Field> {
    let argv: Vec<String> = start.argv.iter().map(|word| escape_bytes(word)).collect();
    vec![
        ("trace_id", units::hex(&start.trace_id).into()),
        ("recorder", escape(&start.recorder).into()),
        ("host", escape(&start.host).into()),
        ("argv", argv.into()),
        ("started_unix_ns", start.started_unix_ns.into()),
        ("started_monotonic_ns", start.started_monotonic_ns.into()),
        ("capacity", start.capacity.into()),
        (
            "precise_chains",
            start.precise_chains.then_some(true).into(),
        ),
    ]
}

fn process_fields(process: &Process) -> Vec<Field> {
    vec![("id", process.id.0.into()), ("pid", process.pid.into())]
}

fn process_end_fields(process_end: &ProcessEnd) -> Vec<Field> {
    let how = match process_end.how {
        ProcessExit::Exited(status) => format!("exit {status}"),
        ProcessExit::Signalled(signal) => format!("signal {signal}"),
        ProcessExit::Exec => "exec".to_owned(),
        _ => "gone".to_owned(),
    };
    vec![
        ("process", process_end.process.0.into()),
        ("how", how.into()),
    ]
}

fn aggregate_fields(aggregate: &Aggregate) -> Vec<Field> {
    vec![
        ("coroutine", aggregate.coroutine.0.into()),
        ("stands_for_events", aggregate.stands_for_events.into()),
        ("left_out", aggregate.left_out.into()),
        (
            "waiting",
            duration_value(&aggregate.waiting, aggregate.bins),
        ),
        (
            "running",
            duration_value(&aggregate.running, aggregate.bins),
        ),
    ]
}

fn window_fields(window: &Window) -> Vec<Field> {
    vec![
        ("overwritten", window.overwritten.into()),
        ("unattributed", window.unattributed.into()),
        ("goes_on", window.goes_on.into()),
    ]
}

fn earlier_fields(earlier: &Earlier) -> Vec<Field> {
    vec![
        ("coroutine", earlier.coroutine.0.into()),
        ("events", earlier.events.into()),
    ]
}

fn threads_fields(threads: &Threads) -> Vec<Field> {
    vec![
        ("process", threads.process.0.into()),
        ("parked", threads.parked.into()),
        ("sleeping", threads.sleeping.into()),
        ("others", threads.others.into()),
    ]
}

fn sockets_fields(sockets: &Sockets) -> Vec<Field> {
    vec![
        ("process", sockets.process.0.into()),
        ("undrained", sockets.undrained.into()),
        ("unsent", sockets.unsent.into()),
    ]
}

fn leaf_fields(leaf: &Leaf) -> Vec<Field> {
    vec![
        ("site", leaf.site.0.into()),
        ("kind", leaf.kind.word().into()),
    ]
}

fn look_fields(look: &Look) -> Vec<Field> {
    let (seen, amount) = match look.seen {
        Seen::Open => ("open", 0),
        Seen::Closed => ("closed", 0),
        Seen::Replaced => ("replaced", 0),
        Seen::Readable(amount) => ("readable", amount),
        Seen::HungUp => ("hung-up", 0),
        Seen::Hidden => ("hidden", 0),
        Seen::NumberClosed => ("number-closed", 0),
        Seen::ClosedAtFirst => ("closed-at-first", 0),
        Seen::Empty => ("nothing-to-read", 0),
        Seen::Unwatched(amount) => ("unwatched", amount),
        _ => ("unknown", 0),
    };
    vec![
        ("coroutine", look.coroutine.0.into()),
        ("since", look.since.0.into()),
        ("fd", look.fd.into()),
        ("thing", observations::thing(look.thing).into()),
        ("seen", seen.into()),
        ("amount", amount.into()),
    ]
}

fn ended_sums_fields(ended_sums: &EndedSums) -> Vec<Field> {
    vec![
        ("process", ended_sums.process.0.into()),
        ("name", escape(&ended_sums.name).into()),
        ("spawn_site", ended_sums.spawn_site.0.into()),
        ("coroutines", ended_sums.coroutines.into()),
        ("events", ended_sums.events.into()),
        ("lost", ended_sums.lost.into()),
        ("filtered", ended_sums.filtered.into()),
        ("left_out", ended_sums.left_out.into()),
        (
            "waiting",
            duration_value(&ended_sums.waiting, ended_sums.bins),
        ),
        (
            "running",
            duration_value(&ended_sums.running, ended_sums.bins),
        ),
    ]
}

/// The figures of durations, or null if there are none. A bin is its lower bound and its count.
fn duration_value(durations: &Durations, bins: Bins) -> Value {
    if durations.count == 0 {
        return Value::Null;
    }
    let bars = durations.bars(bins).filter(|(_, _, count)| *count > 0);
    let bars: Vec<Value> = bars
        .map(|(from, _, count)| json!([from.0, count]))
        .collect();
    json!({
        "count": durations.count,
        "sum_ns": durations.sum.0,
        "min_ns": durations.min.0,
        "max_ns": durations.max.0,
        "bins": bars,
    })
}

fn module_fields(module: &Module) -> Vec<Field> {
    vec![
        ("process", module.process.0.into()),
        ("start", address(module.start)),
        ("end", address(module.end)),
        ("file_offset", address(module.file_offset)),
        ("path", escape_bytes(&module.path).into()),
        ("build_id", units::hex(&module.build_id).into()),
    ]
}

fn site_fields(site: &Site) -> Vec<Field> {
    let (place, value) = match &site.place {
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
        ("id", site.id.0.into()),
        ("process", site.process.0.into()),
        (place, value),
    ]
}

fn chain_fields(chain: &Chain) -> Vec<Field> {
    let addresses: Value = chain
        .addresses
        .iter()
        .map(|number| address(*number))
        .collect();
    vec![
        ("site", chain.site.0.into()),
        ("whole", chain.is_whole.into()),
        ("addresses", addresses),
    ]
}

fn branches_fields(branches: &Branches) -> Vec<Field> {
    let sites: Value = branches.sites.iter().map(|site| site.0).collect();
    vec![("site", branches.site.0.into()), ("branches", sites)]
}

fn birth_fields(birth: &Birth) -> Vec<Field> {
    vec![
        ("coroutine", birth.coroutine.0.into()),
        ("process", birth.process.0.into()),
        ("station", birth.station.into()),
        ("generation", birth.generation.into()),
        ("probe_id", birth.probe_id.into()),
        ("dialect", dialect(birth.dialect).into()),
        ("kind", kind(birth.kind).into()),
        ("name", escape(&birth.name).into()),
        ("spawn_site", birth.spawn_site.0.into()),
        ("lived_before", birth.lived_before.into()),
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

fn event_fields(event: &Event) -> Vec<Field> {
    let mut fields = vec![
        ("coroutine", event.coroutine.0.into()),
        ("n", event.n.into()),
        ("tid", event.tid.into()),
    ];
    if event.kind == EventKind::Suspend {
        fields.extend([
            ("site", event.site.0.into()),
            ("wait", resource::word(event.wait).into()),
            ("arg", event.arg.into()),
            ("wake_seen", event.wake_seen.into()),
        ]);
        fields.extend(marks(event.marks));
    }
    fields
}

/// The marks that are set.
fn marks(wait_marks: WaitMarks) -> impl Iterator<Item = Field> {
    let marks = [
        ("idle", wait_marks.idle),
        ("one_of_several", wait_marks.one_of_several),
        ("earlier_waker", wait_marks.wakers == PollWakers::Earlier),
        (
            "unregistered",
            wait_marks.wakers == PollWakers::Unregistered,
        ),
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

fn thread_event_fields(thread_event: &ThreadEvent) -> Fields {
    let (word, rest) = act(&thread_event.act);
    let mut all = vec![
        ("process", thread_event.process.0.into()),
        ("tid", thread_event.tid.into()),
    ];
    all.extend(rest);
    fields(word, Some(thread_event.at), all)
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
        Act::Acquire(hold) => ("acquires", hold_fields(hold)),
        Act::Release(hold) => ("releases", hold_fields(hold)),
        Act::Loss(records) => ("loses", vec![("records", (*records).into())]),
        _ => ("unknown", vec![]),
    }
}

fn hold_fields(hold: &Hold) -> Vec<Field> {
    let mut fields = vec![
        ("wait", resource::word(hold.wait).into()),
        ("arg", hold.arg.into()),
        ("by", waker(hold.by).into()),
        ("site", hold.site.0.into()),
    ];
    if hold.shared {
        fields.push(("shared", true.into()));
    }
    fields
}

fn wake_fields(wake: &Wake) -> Vec<Field> {
    let waker = waker(wake.waker);
    vec![
        ("coroutine", wake.coroutine.0.into()),
        ("count", wake.count.into()),
        ("waker", waker.into()),
    ]
}

/// The fields of a control record. A thread or process of 0 means all.
fn control_fields(control: &Control) -> Vec<Field> {
    vec![
        ("generation", control.generation.into()),
        ("pid", control.pid.into()),
        ("stopped", control.stopped.into()),
        ("without_runs", control.without_runs.into()),
        ("without_suspends", control.without_suspends.into()),
        ("only_thread", control.only_thread.into()),
        ("only_process", control.only_process.into()),
    ]
}

fn event_counts_fields(event_counts: &EventCounts) -> Vec<Field> {
    let filtered = (0 < event_counts.filtered).then_some(event_counts.filtered);
    vec![
        ("coroutine", event_counts.coroutine.0.into()),
        ("attempted", event_counts.attempted.into()),
        ("recorded", event_counts.recorded.into()),
        ("torn", event_counts.torn.into()),
        ("inexact", event_counts.inexact.into()),
        ("filtered", filtered.into()),
        ("wakers", event_counts.wakers.into()),
    ]
}

fn end_fields(end: &End) -> Vec<Field> {
    let faulting_tid = (end.faulting_tid != 0).then_some(end.faulting_tid);
    let unrecorded = (end.unrecorded != 0).then_some(end.unrecorded);
    let records = (end.records != 0).then_some(end.records);
    let how = match end.how {
        ExitReason::Exited(status) => format!("exited {status}"),
        ExitReason::Signalled(signal) => format!("signal {signal}"),
        ExitReason::Stopped => "stopped".to_owned(),
        ExitReason::Image => "image".to_owned(),
        _ => "unknown".to_owned(),
    };
    vec![
        ("how", how.into()),
        ("events", end.events.into()),
        ("lost", end.lost.into()),
        ("refused", end.refused.into()),
        ("coroutines", end.coroutines.into()),
        ("unnamed", end.unnamed.into()),
        ("quarantined", end.quarantined.into()),
        ("faulting_tid", faulting_tid.into()),
        ("unrecorded", unrecorded.into()),
        ("records", records.into()),
    ]
}
