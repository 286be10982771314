//! A trace as text, one record a line, with the fields that version 1 has. What a later version
//! added is there only where it says something.

use ctp_trace::record::{
    Aggregate, Birth, Control, Durations, End, EndedSums, Event, EventCounts, Module, Place,
    Process, ProcessEnd, Record, Start, ThreadEvent,
};
use ctp_trace::{Completeness, Reader};

pub fn dump(bytes: &[u8]) -> String {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return format!("refused at byte {}\n", error.offset()),
    };
    let mut text = String::new();
    for item in reader.by_ref() {
        text += &match item {
            Ok(record) => line(&record),
            Err(error) => format!("error at byte {}", error.offset()),
        };
        text.push('\n');
    }
    match reader.completeness() {
        Completeness::Whole => text + "whole\n",
        Completeness::Truncated {
            offset,
            lost_so_far,
        } => text + &format!("truncated at byte {offset}, {lost_so_far} lost so far\n"),
    }
}

fn line(record: &Record) -> String {
    match record {
        Record::Start(it) => start(it),
        Record::Process(Process {
            id, pid, attached, ..
        }) => {
            format!("process {} pid={pid} attached={}", id.0, attached.0)
        }
        Record::Module(it) => module(it),
        Record::Site(it) => {
            format!(
                "site {} process={} {}",
                it.id.0,
                it.process.0,
                place(&it.place)
            )
        }
        Record::Chain(it) => format!(
            "chain {} whole={} {:x?}",
            it.site.0, it.is_whole, it.addresses
        ),
        Record::Birth(it) => birth(it),
        Record::Event(it) => event(it),
        Record::Wake(it) => format!(
            "wake {} count={} waker={:?} at={}",
            it.coroutine.0, it.count, it.waker, it.at.0
        ),
        Record::EventCounts(it) => event_counts(it),
        Record::ThreadEvent(ThreadEvent {
            process,
            tid,
            at,
            act,
        }) => format!("deed process={} tid={tid} at={} {act:?}", process.0, at.0),
        Record::Control(it) => control(it),
        Record::ProcessEnd(ProcessEnd { process, at, how }) => {
            format!("process end {} at={} how={how:?}", process.0, at.0)
        }
        Record::Aggregate(it) => aggregate(it),
        Record::Window(it) => format!(
            "window since={} overwritten={} unattributed={} goes_on={}",
            it.since.0, it.overwritten, it.unattributed, it.goes_on
        ),
        Record::Earlier(it) => format!("earlier {} events={}", it.coroutine.0, it.events),
        Record::EndedSums(it) => ended_sums(it),
        Record::Look(it) => format!(
            "look {} since={} at={} fd={} thing={:?} seen={:?}",
            it.coroutine.0, it.since.0, it.at.0, it.fd, it.thing, it.seen
        ),
        Record::Watermark(at) => format!("watermark at={}", at.0),
        Record::End(it) => end(it),
        _ => panic!("version 1 has no such record: {record:?}"),
    }
}

fn aggregate(it: &Aggregate) -> String {
    format!(
        "aggregate {} at={} stands_for_events={} left_out={} bins={}+{} waiting {} running {}",
        it.coroutine.0,
        it.at.0,
        it.stands_for_events,
        it.left_out,
        it.bins.lo,
        it.bins.step,
        durations(&it.waiting),
        durations(&it.running)
    )
}

fn ended_sums(it: &EndedSums) -> String {
    format!(
        "former process={} name={:?} spawn_site={} coroutines={} events={} lost={} filtered={} left_out={} \
             bins={}+{} waiting {} running {}",
        it.process.0,
        it.name,
        it.spawn_site.0,
        it.coroutines,
        it.events,
        it.lost,
        it.filtered,
        it.left_out,
        it.bins.lo,
        it.bins.step,
        durations(&it.waiting),
        durations(&it.running)
    )
}

fn durations(it: &Durations) -> String {
    format!(
        "count={} sum={} min={} max={} bins={:?}",
        it.count, it.sum.0, it.min.0, it.max.0, it.bins
    )
}

fn start(it: &Start) -> String {
    let argv: Vec<String> = it.argv.iter().map(|argument| text(argument)).collect();
    let precise = if it.precise_chains {
        " precise_chains"
    } else {
        ""
    };
    format!(
        "start trace_id={} recorder={:?} host={:?} argv=[{}] started_unix_ns={} \
         started_monotonic_ns={} capacity={}{precise}",
        hex(&it.trace_id),
        it.recorder,
        it.host,
        argv.join(", "),
        it.started_unix_ns,
        it.started_monotonic_ns,
        it.capacity
    )
}

fn module(it: &Module) -> String {
    format!(
        "module process={} {:#x}-{:#x} file_offset={:#x} path={} build_id={}",
        it.process.0,
        it.start,
        it.end,
        it.file_offset,
        text(&it.path),
        hex(&it.build_id)
    )
}

fn place(place: &Place) -> String {
    match place {
        Place::Source { file, line, column } => format!("source {file:?} {line} {column}"),
        Place::Function { address, name } => format!("function {address:#x} {name:?}"),
        Place::Address(address) => format!("address {address:#x}"),
        Place::ReturnAddress(address) => format!("return {address:#x}"),
        _ => panic!("version 1 has no such place: {place:?}"),
    }
}

fn birth(it: &Birth) -> String {
    format!(
        "birth {} process={} station={} generation={} probe_id={} at={} dialect={:?} kind={:?} \
         name={:?} spawn_site={}",
        it.coroutine.0,
        it.process.0,
        it.station,
        it.generation,
        it.probe_id,
        it.at.0,
        it.dialect,
        it.kind,
        it.name,
        it.spawn_site.0
    )
}

fn event(it: &Event) -> String {
    let marks = [
        (it.marks.idle, " idle"),
        (it.marks.one_of_several, " one_of_several"),
        (it.after_filtered, " after_filtered"),
    ];
    let message = marks.iter().filter(|(is_set, _)| *is_set);
    let mark: String = message.map(|(_, word)| *word).collect();
    format!(
        "event {} n={} at={} tid={} kind={:?} site={} wait={:?} arg={} wake_seen={}{mark}",
        it.coroutine.0, it.n, it.at.0, it.tid, it.kind, it.site.0, it.wait, it.arg, it.wake_seen
    )
}

fn event_counts(it: &EventCounts) -> String {
    let mut line = format!(
        "tally {} attempted={} recorded={} torn={:?} inexact={}",
        it.coroutine.0, it.attempted, it.recorded, it.torn, it.inexact
    );
    if it.filtered > 0 {
        line += &format!(" filtered={} hidden={:?}", it.filtered, it.hidden);
    }
    if let Some(wakers) = it.wakers {
        line += &format!(" wakers={wakers}");
    }
    line
}

fn control(it: &Control) -> String {
    let switches = [
        (it.stopped, " stopped"),
        (it.without_runs, " without_runs"),
        (it.without_suspends, " without_suspends"),
    ];
    let on: String = switches
        .iter()
        .filter_map(|(is_on, word)| is_on.then_some(*word))
        .collect();
    format!(
        "control {} at={} pid={}{on} only_thread={} only_process={}",
        it.generation, it.at.0, it.pid, it.only_thread, it.only_process
    )
}

fn end(it: &End) -> String {
    format!(
        "end at={} how={:?} events={} lost={} refused={} coroutines={} unnamed={} quarantined={}",
        it.at.0, it.how, it.events, it.lost, it.refused, it.coroutines, it.unnamed, it.quarantined
    )
}

fn text(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
