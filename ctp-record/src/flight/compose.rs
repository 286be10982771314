//! A snapshot as records: who there is, the events of the window in order, and what came before in
//! sums.

use std::collections::HashSet;

use ctp_nostd::lane::{Copied, DeedKind};
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{
    Aggregate, CoroutineId, Earlier, End, Ending, Look, Nanos, ProcessId, Record, Wake, Waker,
    Window,
};

use super::attribution::Whose;
use super::deeds::processes_with_uncounted_losses;
use super::gathered::Gathered;
use super::known::Known;
use super::lane_copy::LaneCopy;
use super::plan::Plan;
use super::rows::Rows;
use super::stream::Stream;
use crate::deadlines::Corrected;
use crate::harvest::{Sink, convert};

/// What a snapshot came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Composed {
    /// The last record.
    pub end: End,
    /// From when on everything is there.
    pub since: Nanos,
    /// Events that are in sums only.
    pub earlier: u64,
    /// Coroutines of which only sums are there.
    pub ended_before: u64,
    /// Lanes that threads ever had.
    pub lanes: u32,
    /// Lanes of which nothing can be true.
    pub damaged_lanes: u32,
    /// Coroutines of which the counts cannot be trusted.
    pub doubtful: u32,
    /// Events that were kept out on purpose.
    pub filtered: u64,
}

/// Tells all but the end, which is in what it gives.
pub fn compose(mut gathered: Gathered, plan: Plan, sink: &mut dyn Sink) -> Composed {
    let sink = &mut Corrected {
        clocks: std::mem::take(&mut gathered.clocks),
        sink,
    };
    let known = Known::of(&gathered);
    let mut composed = found_in(&plan, &gathered);
    tell_definitions(&mut gathered, sink);
    tell_window(&plan, &gathered, sink);
    tell_coroutines(&plan, &gathered, &mut composed, sink);
    let lossy = processes_with_uncounted_losses(&plan, &gathered.parts);
    let mut rows = rows_of(plan, &mut gathered, known, sink);
    rows.take_all();
    rows.tell_uncounted_losses(lossy, gathered.end_at());
    tell_accounts(&mut rows, &mut composed);
    tell_looks(&mut rows, &gathered.looks);
    tell_process_ends(&gathered, rows.sink);
    composed.end = end_of(&gathered, &rows, composed.end);
    composed
}

/// What is known before anything is told.
fn found_in(plan: &Plan, gathered: &Gathered) -> Composed {
    Composed {
        since: since(plan, gathered),
        lanes: plan.lanes.iter().map(Vec::len).sum::<usize>() as u32,
        damaged_lanes: damaged(plan),
        ..Composed::default()
    }
}

fn since(plan: &Plan, gathered: &Gathered) -> Nanos {
    Nanos(plan.since_ns - gathered.start.started_monotonic_ns)
}

/// Processes, modules and sites come before all that speaks of them.
fn tell_definitions(gathered: &mut Gathered, sink: &mut dyn Sink) {
    let definitions = std::mem::take(&mut gathered.definitions);
    definitions.into_iter().for_each(|record| sink.take(record));
}

fn tell_window(plan: &Plan, gathered: &Gathered, sink: &mut dyn Sink) {
    sink.take(Record::Window(Window {
        since: since(plan, gathered),
        overwritten: plan.overwritten,
        unattributed: plan.unattributed,
        goes_on: gathered.ended.is_none(),
    }));
}

fn rows_of<'r>(
    mut plan: Plan,
    gathered: &mut Gathered,
    known: Known,
    sink: &'r mut dyn Sink,
) -> Rows<'r> {
    Rows {
        streams: streams(&mut plan, gathered),
        plan,
        parts: std::mem::take(&mut gathered.parts),
        known,
        zero_ns: gathered.start.started_monotonic_ns,
        sink,
        events: 0,
        quarantined: 0,
    }
}

fn tell_process_ends(gathered: &Gathered, sink: &mut dyn Sink) {
    let ends = gathered.marks.iter();
    ends.filter(|mark| matches!(mark, Record::ProcessEnd(_)))
        .for_each(|mark| sink.take(mark.clone()));
}

/// The last record, with what was counted in `counted`.
fn end_of(gathered: &Gathered, rows: &Rows<'_>, counted: End) -> End {
    End {
        at: gathered.end_at(),
        how: gathered.ended.map_or(Ending::Stopped, |(how, _)| how),
        events: rows.events,
        refused: gathered.counters.refused.into(),
        unnamed: gathered.counters.unnamed.into(),
        quarantined: rows.quarantined,
        faulting_tid: gathered.faulting_tid,
        unrecorded: gathered.unrecorded,
        ..counted
    }
}

fn damaged(plan: &Plan) -> u32 {
    let lanes = plan.lanes.iter().flatten();
    lanes.filter(|lane| lane.is_damaged).count() as u32
}

/// Who is told of one by one, and the sums of the others.
fn tell_coroutines(plan: &Plan, gathered: &Gathered, composed: &mut Composed, sink: &mut dyn Sink) {
    let mut ended_before = gathered.ended_before.clone();
    for one in &plan.coroutines {
        if !one.is_told {
            if !one.is_later {
                ended_before.add(&one.known);
            }
            continue;
        }
        let birth = &one.known.birth;
        sink.take(Record::Birth(birth.as_ref().clone()));
        if let Some(aggregate) = &one.occupant().aggregate {
            sink.take(Record::Aggregate(Box::new(Aggregate {
                at: aggregate.at.min(gathered.end_at()),
                ..aggregate.as_ref().clone()
            })));
        }
        let (coroutine, events) = (birth.coroutine, one.earlier);
        composed.earlier = composed.earlier.saturating_add(events);
        composed.end.coroutines += 1;
        if events > 0 {
            sink.take(Record::Earlier(Earlier { coroutine, events }));
        }
    }
    for former in ended_before.iter() {
        composed.earlier = composed.earlier.saturating_add(former.events);
        composed.end.lost = composed.end.lost.saturating_add(former.lost);
        composed.filtered = composed.filtered.saturating_add(former.filtered);
        composed.ended_before += former.coroutines;
        sink.take(Record::Former(Box::new(former.clone())));
    }
}

/// The lanes from the beginning of the window on, and what stations hold.
fn streams(plan: &mut Plan, gathered: &Gathered) -> Vec<Stream> {
    let mut streams = Vec::new();
    for (part, lanes) in std::mem::take(&mut plan.lanes).into_iter().enumerate() {
        let lanes = lanes.into_iter();
        streams.extend(lanes.map(|lane| lane_stream(plan, gathered, part, lane)));
    }
    let zero_ns = gathered.start.started_monotonic_ns;
    let held = plan.coroutines.iter().enumerate().flat_map(|(which, one)| {
        let told = one.occupant().latest.iter().filter(|_| one.is_told);
        told.map(move |(n, epoch)| (epoch.timestamp, which, *n, *epoch))
    });
    streams.push(Stream::of_stations(
        held.collect::<Vec<(u64, usize, u64, Epoch)>>(),
    ));
    let controls = gathered.marks.iter().filter_map(|mark| match mark {
        Record::Control(control) => Some((zero_ns.saturating_add(control.at.0), *control)),
        _ => None,
    });
    streams.push(Stream::of_controls(controls.collect()));
    streams
}

fn lane_stream(plan: &Plan, gathered: &Gathered, index: usize, lane: LaneCopy) -> Stream {
    let part = &gathered.parts[index];
    let is_of_now = |copied: &Copied| plan.since_ns <= copied.read().0;
    let first = lane.records.iter().position(is_of_now);
    let first = first.unwrap_or(lane.records.len());
    let (tid, attach_id) = lane.author_at(first);
    let process = attach_id.and_then(|id| part.process(id));
    let of_its_coroutines = || process_of(plan, index, &lane.records[first..]);
    let process = process.or_else(of_its_coroutines);
    let (refused, told) = (lane.refused, (lane.overwritten == 0).then_some(0));
    let mut stream = Stream::of_lane(index, lane.records, first);
    stream.author = (
        tid,
        process
            .or(part.attached.first().copied())
            .unwrap_or_default(),
    );
    (stream.refused, stream.told_refused) = (refused, told);
    stream
}

/// A thread is of the process of the coroutines that run on it.
fn process_of(plan: &Plan, part: usize, records: &[Copied]) -> Option<ProcessId> {
    records.iter().find_map(|copied| {
        let (at, payload) = copied.read();
        let is_deed = DeedKind::from_code(payload.kind).is_some();
        match plan.attributions[part].of_event(at, &payload) {
            Whose::Of(which, _) if !is_deed => Some(plan.coroutines[which].occupant().process),
            _ => None,
        }
    })
}

/// The latest wakes and the closing accounts.
fn tell_accounts(rows: &mut Rows<'_>, composed: &mut Composed) {
    for which in 0..rows.plan.coroutines.len() {
        if !rows.plan.coroutines[which].is_told {
            continue;
        }
        tell_wakes(rows, which);
        tell_plain_death(rows, which);
        let one = &rows.plan.coroutines[which];
        let tally = one.tally();
        composed.end.lost = composed.end.lost.saturating_add(one.lost());
        composed.doubtful += u32::from(tally.inexact);
        composed.filtered = composed.filtered.saturating_add(tally.filtered);
        rows.sink.take(Record::Tally(tally));
    }
}

/// What was seen of those who are told of.
fn tell_looks(rows: &mut Rows<'_>, looks: &[Look]) {
    let coroutines = rows.plan.coroutines.iter().filter(|one| one.is_told);
    let told: HashSet<CoroutineId> = coroutines.map(|it| it.occupant().coroutine).collect();
    for look in looks.iter().filter(|look| told.contains(&look.coroutine)) {
        rows.sink.take(Record::Look(*look));
    }
}

fn tell_wakes(rows: &mut Rows<'_>, which: usize) {
    let occupant = rows.plan.coroutines[which].occupant();
    let (coroutine, memory, birth_ts) = (occupant.coroutine, occupant.memory, occupant.birth_ts);
    let Some(wakes) = rows.plan.coroutines[which].wakes() else {
        return;
    };
    let wakes = convert::own_wakes(wakes, birth_ts);
    let part = rows.parts.iter().position(|part| part.number == memory);
    let waker = part.map_or(Waker::Foreign, |part| {
        rows.waker(part, wakes.at_ns, wakes.by)
    });
    rows.sink.take(Record::Wake(Wake {
        coroutine,
        count: wakes.count,
        waker,
        at: Nanos(wakes.at_ns.saturating_sub(rows.zero_ns)),
    }));
}

/// Tells that a v1 peer's station is dead.
fn tell_plain_death(rows: &mut Rows<'_>, which: usize) {
    let one = &mut rows.plan.coroutines[which];
    let occupant = one.occupant();
    if !(occupant.is_plain && occupant.has_ended) {
        return;
    }
    let (n, at_ns) = (one.number_of(occupant.end_n), occupant.last_ts);
    let at = Nanos(at_ns.saturating_sub(rows.zero_ns));
    let death = convert::plain_death(occupant.coroutine, n, at);
    one.recorded += 1;
    rows.events += 1;
    rows.sink.take_event(&death);
}
