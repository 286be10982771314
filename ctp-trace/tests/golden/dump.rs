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
        Record::Start(other_start) => start(other_start),
        Record::Process(Process {
            id, pid, attached, ..
        }) => {
            format!("process {} pid={pid} attached={}", id.0, attached.0)
        }
        Record::Module(other_module) => module(other_module),
        Record::Site(site) => {
            format!(
                "site {} process={} {}",
                site.id.0,
                site.process.0,
                place(&site.place)
            )
        }
        Record::Chain(chain) => format!(
            "chain {} whole={} {:x?}",
            chain.site.0, chain.is_whole, chain.addresses
        ),
        Record::Birth(other_birth) => birth(other_birth),
        Record::Event(other_event) => event(other_event),
        Record::Wake(wake) => format!(
            "wake {} count={} waker={:?} at={}",
            wake.coroutine.0, wake.count, wake.waker, wake.at.0
        ),
        Record::EventCounts(other_event_counts) => event_counts(other_event_counts),
        Record::ThreadEvent(ThreadEvent {
            process,
            tid,
            at,
            act,
        }) => format!("deed process={} tid={tid} at={} {act:?}", process.0, at.0),
        Record::Control(other_control) => control(other_control),
        Record::ProcessEnd(ProcessEnd { process, at, how }) => {
            format!("process end {} at={} how={how:?}", process.0, at.0)
        }
        Record::Aggregate(other_aggregate) => aggregate(other_aggregate),
        Record::Window(window) => format!(
            "window since={} overwritten={} unattributed={} goes_on={}",
            window.since.0, window.overwritten, window.unattributed, window.goes_on
        ),
        Record::Earlier(earlier) => {
            format!("earlier {} events={}", earlier.coroutine.0, earlier.events)
        }
        Record::EndedSums(other_ended_sums) => ended_sums(other_ended_sums),
        Record::Look(look) => format!(
            "look {} since={} at={} fd={} thing={:?} seen={:?}",
            look.coroutine.0, look.since.0, look.at.0, look.fd, look.thing, look.seen
        ),
        Record::Watermark(at) => format!("watermark at={}", at.0),
        Record::End(other_end) => end(other_end),
        _ => panic!("version 1 has no such record: {record:?}"),
    }
}

fn aggregate(other_aggregate: &Aggregate) -> String {
    format!(
        "aggregate {} at={} stands_for_events={} left_out={} bins={}+{} waiting {} running {}",
        other_aggregate.coroutine.0,
        other_aggregate.at.0,
        other_aggregate.stands_for_events,
        other_aggregate.left_out,
        other_aggregate.bins.lo,
        other_aggregate.bins.step,
        durations(&other_aggregate.waiting),
        durations(&other_aggregate.running)
    )
}

fn ended_sums(other_ended_sums: &EndedSums) -> String {
    format!(
        "former process={} name={:?} spawn_site={} coroutines={} events={} lost={} filtered={} left_out={} \
             bins={}+{} waiting {} running {}",
        other_ended_sums.process.0,
        other_ended_sums.name,
        other_ended_sums.spawn_site.0,
        other_ended_sums.coroutines,
        other_ended_sums.events,
        other_ended_sums.lost,
        other_ended_sums.filtered,
        other_ended_sums.left_out,
        other_ended_sums.bins.lo,
        other_ended_sums.bins.step,
        durations(&other_ended_sums.waiting),
        durations(&other_ended_sums.running)
    )
}

fn durations(other_durations: &Durations) -> String {
    format!(
        "count={} sum={} min={} max={} bins={:?}",
        other_durations.count,
        other_durations.sum.0,
        other_durations.min.0,
        other_durations.max.0,
        other_durations.bins
    )
}

fn start(other_start: &Start) -> String {
    let argv: Vec<String> = other_start
        .argv
        .iter()
        .map(|argument| text(argument))
        .collect();
    let precise = if other_start.precise_chains {
        " precise_chains"
    } else {
        ""
    };
    format!(
        "start trace_id={} recorder={:?} host={:?} argv=[{}] started_unix_ns={} \
         started_monotonic_ns={} capacity={}{precise}",
        hex(&other_start.trace_id),
        other_start.recorder,
        other_start.host,
        argv.join(", "),
        other_start.started_unix_ns,
        other_start.started_monotonic_ns,
        other_start.capacity
    )
}

fn module(other_module: &Module) -> String {
    format!(
        "module process={} {:#x}-{:#x} file_offset={:#x} path={} build_id={}",
        other_module.process.0,
        other_module.start,
        other_module.end,
        other_module.file_offset,
        text(&other_module.path),
        hex(&other_module.build_id)
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

fn birth(other_birth: &Birth) -> String {
    format!(
        "birth {} process={} station={} generation={} probe_id={} at={} dialect={:?} kind={:?} \
         name={:?} spawn_site={}",
        other_birth.coroutine.0,
        other_birth.process.0,
        other_birth.station,
        other_birth.generation,
        other_birth.probe_id,
        other_birth.at.0,
        other_birth.dialect,
        other_birth.kind,
        other_birth.name,
        other_birth.spawn_site.0
    )
}

fn event(other_event: &Event) -> String {
    let marks = [
        (other_event.marks.idle, " idle"),
        (other_event.marks.one_of_several, " one_of_several"),
        (other_event.after_filtered, " after_filtered"),
    ];
    let message = marks.iter().filter(|(is_set, _)| *is_set);
    let mark: String = message.map(|(_, word)| *word).collect();
    format!(
        "event {} n={} at={} tid={} kind={:?} site={} wait={:?} arg={} wake_seen={}{mark}",
        other_event.coroutine.0,
        other_event.n,
        other_event.at.0,
        other_event.tid,
        other_event.kind,
        other_event.site.0,
        other_event.wait,
        other_event.arg,
        other_event.wake_seen
    )
}

fn event_counts(other_event_counts: &EventCounts) -> String {
    let mut line = format!(
        "tally {} attempted={} recorded={} torn={:?} inexact={}",
        other_event_counts.coroutine.0,
        other_event_counts.attempted,
        other_event_counts.recorded,
        other_event_counts.torn,
        other_event_counts.inexact
    );
    if other_event_counts.filtered > 0 {
        line += &format!(
            " filtered={} hidden={:?}",
            other_event_counts.filtered, other_event_counts.hidden
        );
    }
    if let Some(wakers) = other_event_counts.wakers {
        line += &format!(" wakers={wakers}");
    }
    line
}

fn control(other_control: &Control) -> String {
    let switches = [
        (other_control.stopped, " stopped"),
        (other_control.without_runs, " without_runs"),
        (other_control.without_suspends, " without_suspends"),
    ];
    let on: String = switches
        .iter()
        .filter_map(|(is_on, word)| is_on.then_some(*word))
        .collect();
    format!(
        "control {} at={} pid={}{on} only_thread={} only_process={}",
        other_control.generation,
        other_control.at.0,
        other_control.pid,
        other_control.only_thread,
        other_control.only_process
    )
}

fn end(other_end: &End) -> String {
    format!(
        "end at={} how={:?} events={} lost={} refused={} coroutines={} unnamed={} quarantined={}",
        other_end.at.0,
        other_end.how,
        other_end.events,
        other_end.lost,
        other_end.refused,
        other_end.coroutines,
        other_end.unnamed,
        other_end.quarantined
    )
}

fn text(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
