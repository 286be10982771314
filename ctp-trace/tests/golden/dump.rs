//! Prints a trace as text, a record per line, with the fields of version 1.0. A field of a later
//! version is printed only where it differs from the default.

mod inspection;

use ctp_trace::record::{
    Act, Aggregate, Birth, Control, Durations, End, EndedSums, Event, EventCounts, Module, Place,
    PollWakers, Record, Start, ThreadEvent,
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
        Record::Start(start) => dump_start(start),
        Record::Process(process) => format!(
            "process {} pid={} attached={}",
            process.id.0, process.pid, process.attached.0
        ),
        Record::Module(module) => dump_module(module),
        Record::Site(_) | Record::Chain(_) | Record::Branches(_) | Record::Leaf(_) => {
            dump_site(record)
        }
        Record::Birth(birth) => dump_birth(birth),
        Record::Event(event) => dump_event(event),
        Record::Wake(wake) => format!(
            "wake {} count={} waker={:?} at={}",
            wake.coroutine.0, wake.count, wake.waker, wake.at.0
        ),
        Record::EventCounts(event_counts) => dump_event_counts(event_counts),
        Record::ThreadEvent(thread_event) => dump_thread_event(thread_event),
        Record::Control(control) => dump_control(control),
        Record::ProcessEnd(end) => format!(
            "process end {} at={} how={:?}",
            end.process.0, end.at.0, end.how
        ),
        Record::Aggregate(aggregate) => dump_aggregate(aggregate),
        Record::Window(_) | Record::Earlier(_) | Record::EndedSums(_) => dump_flight(record),
        Record::Threads(_) | Record::Sockets(_) | Record::Look(_) | Record::CoroutineStack(_) => {
            dump_observation(record)
        }
        Record::Inspection(_)
        | Record::AwaitStack(_)
        | Record::InspectedTask(_)
        | Record::InspectedThread(_)
        | Record::InspectionEnd(_) => inspection::line(record),
        Record::Watermark(at) => format!("watermark at={}", at.0),
        Record::End(end) => dump_end(end),
        _ => panic!("version 1 has no such record: {record:?}"),
    }
}

fn dump_site(record: &Record) -> String {
    match record {
        Record::Site(site) => format!(
            "site {} process={} {}",
            site.id.0,
            site.process.0,
            dump_place(&site.place)
        ),
        Record::Chain(chain) => format!(
            "chain {} whole={} {:x?}",
            chain.site.0, chain.is_whole, chain.addresses
        ),
        Record::Branches(branches) => {
            let sites: Vec<u32> = branches.sites.iter().map(|site| site.0).collect();
            format!("branches {} {sites:?}", branches.site.0)
        }
        Record::Leaf(leaf) => {
            let place = match leaf.same_as.0 {
                0 => String::new(),
                same_as => format!(" same_as={same_as}"),
            };
            format!("leaf {} kind={:?}{place}", leaf.site.0, leaf.kind)
        }
        _ => unreachable!("not about a site: {record:?}"),
    }
}

fn dump_thread_event(thread_event: &ThreadEvent) -> String {
    format!(
        "deed process={} tid={} at={} {}",
        thread_event.process.0,
        thread_event.tid,
        thread_event.at.0,
        dump_act(&thread_event.act)
    )
}

fn dump_flight(record: &Record) -> String {
    match record {
        Record::Window(window) => format!(
            "window since={} overwritten={} unattributed={} goes_on={}",
            window.since.0, window.overwritten, window.unattributed, window.goes_on
        ),
        Record::Earlier(earlier) => {
            format!("earlier {} events={}", earlier.coroutine.0, earlier.events)
        }
        Record::EndedSums(ended_sums) => dump_ended_sums(ended_sums),
        _ => unreachable!("not of a flight recorder: {record:?}"),
    }
}

fn dump_observation(record: &Record) -> String {
    match record {
        Record::Threads(threads) => format!(
            "threads {} at={} parked={} sleeping={} others={}",
            threads.process.0, threads.at.0, threads.parked, threads.sleeping, threads.others
        ),
        Record::Sockets(sockets) => format!(
            "sockets {} at={} undrained={} unsent={}",
            sockets.process.0, sockets.at.0, sockets.undrained, sockets.unsent
        ),
        Record::Look(look) => format!(
            "look {} since={} at={} fd={} thing={:?} seen={:?}",
            look.coroutine.0, look.since.0, look.at.0, look.fd, look.thing, look.seen
        ),
        Record::CoroutineStack(stack) => format!(
            "stack of {} since={} at={} {:x?} whole={} moving={}",
            stack.coroutine.0,
            stack.since.0,
            stack.at.0,
            stack.addresses,
            stack.is_whole,
            stack.is_moving
        ),
        _ => unreachable!("no observation: {record:?}"),
    }
}

fn dump_aggregate(aggregate: &Aggregate) -> String {
    format!(
        "aggregate {} at={} stands_for_events={} left_out={} bins={}+{} waiting {} running {}",
        aggregate.coroutine.0,
        aggregate.at.0,
        aggregate.stands_for_events,
        aggregate.left_out,
        aggregate.bins.lo,
        aggregate.bins.step,
        dump_durations(&aggregate.waiting),
        dump_durations(&aggregate.running)
    )
}

fn dump_ended_sums(ended_sums: &EndedSums) -> String {
    format!(
        "former process={} name={:?} spawn_site={} coroutines={} events={} lost={} filtered={} left_out={} \
             bins={}+{} waiting {} running {}",
        ended_sums.process.0,
        ended_sums.name,
        ended_sums.spawn_site.0,
        ended_sums.coroutines,
        ended_sums.events,
        ended_sums.lost,
        ended_sums.filtered,
        ended_sums.left_out,
        ended_sums.bins.lo,
        ended_sums.bins.step,
        dump_durations(&ended_sums.waiting),
        dump_durations(&ended_sums.running)
    )
}

fn dump_durations(durations: &Durations) -> String {
    format!(
        "count={} sum={} min={} max={} bins={:?}",
        durations.count, durations.sum.0, durations.min.0, durations.max.0, durations.bins
    )
}

fn dump_start(start: &Start) -> String {
    let argv: Vec<String> = start.argv.iter().map(|argument| text(argument)).collect();
    let precise = if start.precise_chains {
        " precise_chains"
    } else {
        ""
    };
    format!(
        "start trace_id={} recorder={:?} host={:?} argv=[{}] started_unix_ns={} \
         started_monotonic_ns={} capacity={}{precise}",
        hex(&start.trace_id),
        start.recorder,
        start.host,
        argv.join(", "),
        start.started_unix_ns,
        start.started_monotonic_ns,
        start.capacity
    )
}

fn dump_module(module: &Module) -> String {
    format!(
        "module process={} {:#x}-{:#x} file_offset={:#x} path={} build_id={}",
        module.process.0,
        module.start,
        module.end,
        module.file_offset,
        text(&module.path),
        hex(&module.build_id)
    )
}

fn dump_place(place: &Place) -> String {
    match place {
        Place::Source { file, line, column } => format!("source {file:?} {line} {column}"),
        Place::Function { address, name } => format!("function {address:#x} {name:?}"),
        Place::Address(address) => format!("address {address:#x}"),
        Place::ReturnAddress(address) => format!("return {address:#x}"),
        _ => panic!("version 1 has no such place: {place:?}"),
    }
}

fn dump_birth(birth: &Birth) -> String {
    format!(
        "birth {} process={} station={} generation={} probe_id={} at={} dialect={:?} kind={:?} \
         name={:?} spawn_site={}{}",
        birth.coroutine.0,
        birth.process.0,
        birth.station,
        birth.generation,
        birth.probe_id,
        birth.at.0,
        birth.dialect,
        birth.kind,
        birth.name,
        birth.spawn_site.0,
        if birth.lived_before {
            " lived_before"
        } else {
            ""
        }
    )
}

fn dump_event(event: &Event) -> String {
    let marks = [
        (event.marks.idle, " idle"),
        (event.marks.has_others, " one_of_several"),
        (event.after_filtered, " after_filtered"),
        (event.marks.wakers == PollWakers::Earlier, " earlier_waker"),
        (
            event.marks.wakers == PollWakers::Unregistered,
            " unregistered",
        ),
    ];
    let message = marks.iter().filter(|(is_set, _)| *is_set);
    let mark: String = message.map(|(_, word)| *word).collect();
    format!(
        "event {} n={} at={} tid={} kind={:?} site={} wait={:?} arg={} wake_seen={}{mark}",
        event.coroutine.0,
        event.n,
        event.at.0,
        event.tid,
        event.kind,
        event.site.0,
        event.wait,
        event.arg,
        event.wake_seen
    )
}

fn dump_event_counts(event_counts: &EventCounts) -> String {
    let mut line = format!(
        "tally {} attempted={} recorded={} torn={:?} inexact={}",
        event_counts.coroutine.0,
        event_counts.attempted,
        event_counts.recorded,
        event_counts.torn,
        event_counts.inexact
    );
    if event_counts.filtered > 0 {
        line += &format!(
            " filtered={} hidden={:?}",
            event_counts.filtered, event_counts.hidden
        );
    }
    if let Some(wakers) = event_counts.wakers {
        line += &format!(" wakers={wakers}");
    }
    line
}

fn dump_control(control: &Control) -> String {
    let switches = [
        (control.stopped, " stopped"),
        (control.without_runs, " without_runs"),
        (control.without_suspends, " without_suspends"),
    ];
    let on: String = switches
        .iter()
        .filter_map(|(is_on, word)| is_on.then_some(*word))
        .collect();
    format!(
        "control {} at={} pid={}{on} only_thread={} only_process={}",
        control.generation, control.at.0, control.pid, control.only_thread, control.only_process
    )
}

fn dump_end(end: &End) -> String {
    format!(
        "end at={} how={:?} events={} lost={} refused={} coroutines={} unnamed={} quarantined={}",
        end.at.0,
        end.how,
        end.events,
        end.lost,
        end.refused,
        end.coroutines,
        end.unnamed,
        end.quarantined
    )
}

fn text(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The act in words. The texts of earlier versions do not mention that a hold is not shared.
fn dump_act(act: &Act) -> String {
    format!("{act:?}").replace(", shared: false", "")
}
