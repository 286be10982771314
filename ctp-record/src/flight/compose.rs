//! A snapshot as records: who there is, the events of the window in order, and what came before in
//! sums.

use std::collections::HashSet;

use ctp_trace::record::{
    Aggregate, Control, CoroutineId, Earlier, End, Ending, Nanos, Record, Window,
};

use super::gathered::Gathered;
use super::image::{self, MemoryImage};
use super::known::Known;
use super::plan::Plan;
use crate::harvest::image::ImageTimes;
use crate::harvest::{Sink, Totals};
use crate::output::deadlines::Corrected;

/// What a snapshot came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Composed {
    /// The last record.
    pub end: End,
    /// From when on everything is there.
    pub since: Nanos,
    /// Coroutines of which only sums are there.
    pub ended_before: u64,
    /// What the closing lines state beside the last record.
    pub totals: Totals,
}

/// Emits every record except the end, which is in what is returned.
pub fn compose(mut gathered: Gathered, mut plan: Plan, sink: &mut dyn Sink) -> Composed {
    let sink = &mut Corrected {
        clocks: std::mem::take(&mut gathered.clocks),
        sink,
    };
    let mut known = Known::of(&gathered);
    let mut composed = found_in(&plan, &gathered);
    tell_definitions(&mut gathered, sink);
    tell_window(&plan, &gathered, sink);
    tell_coroutines(&plan, &gathered, &mut composed, sink);
    let times = times_of(&plan, &gathered);
    let mut images = image::images(&mut plan, &gathered.parts, times);
    emit_events(&mut images, &controls(&gathered), &mut known, sink);
    emit_looks(&plan, &gathered, sink);
    tell_process_ends(&gathered, sink);
    composed.add(images.iter().map(MemoryImage::totals));
    composed.end = end_of(&gathered, composed.end);
    composed
}

impl Composed {
    /// Adds what was found in the memories.
    fn add(&mut self, found: impl Iterator<Item = Totals>) {
        let mut totals = Totals::default();
        found.for_each(|of_one| totals += of_one);
        self.end.events = totals.events;
        self.end.lost = self.end.lost.saturating_add(totals.lost);
        self.end.quarantined = totals.quarantined;
        self.totals.doubtful = totals.doubtful;
        self.totals.filtered = self.totals.filtered.saturating_add(totals.filtered);
    }
}

fn times_of(plan: &Plan, gathered: &Gathered) -> ImageTimes {
    let is_over = gathered.ended.is_some();
    ImageTimes {
        start_ns: gathered.start.started_monotonic_ns,
        latest_ns: plan.latest_ns,
        until_ns: if is_over {
            plan.until_ns
        } else {
            gathered.looked_ns
        },
        dated_ns: plan.dated_ns,
    }
}

/// The changes of what is kept, in the order of time.
fn controls(gathered: &Gathered) -> Vec<Control> {
    let controls = gathered.marks.iter().filter_map(|mark| match mark {
        Record::Control(control) => Some(*control),
        _ => None,
    });
    let mut controls: Vec<Control> = controls.collect();
    controls.sort_by_key(|control| control.at);
    controls
}

/// Emits the events of all memories and what threads did, each memory's in the order of time, and the
/// changes of what is kept where they took place.
fn emit_events(
    images: &mut [MemoryImage],
    controls: &[Control],
    known: &mut Known,
    sink: &mut dyn Sink,
) {
    images.iter_mut().for_each(|it| it.read_held(known, sink));
    for control in controls {
        for image in images.iter_mut() {
            image.read_lanes_until(control.at, known, sink);
        }
        sink.take(Record::Control(*control));
    }
    images.iter_mut().for_each(|it| it.read_all(known, sink));
}

/// What is known before anything is told.
fn found_in(plan: &Plan, gathered: &Gathered) -> Composed {
    Composed {
        since: since(plan, gathered),
        totals: Totals {
            lanes: plan.lanes.iter().map(Vec::len).sum::<usize>() as u32,
            damaged_lanes: damaged(plan),
            ..Totals::default()
        },
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

fn tell_process_ends(gathered: &Gathered, sink: &mut dyn Sink) {
    let ends = gathered.marks.iter();
    ends.filter(|mark| matches!(mark, Record::ProcessEnd(_)))
        .for_each(|mark| sink.take(mark.clone()));
}

/// The last record, with what was counted in `counted`.
fn end_of(gathered: &Gathered, counted: End) -> End {
    End {
        at: gathered.end_at(),
        how: gathered.ended.map_or(Ending::Stopped, |(how, _)| how),
        refused: gathered.counters.refused.into(),
        unnamed: gathered.counters.unnamed.into(),
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
        composed.totals.summed_up = composed.totals.summed_up.saturating_add(events);
        composed.end.coroutines += 1;
        if events > 0 {
            sink.take(Record::Earlier(Earlier { coroutine, events }));
        }
    }
    for former in ended_before.iter() {
        composed.totals.summed_up = composed.totals.summed_up.saturating_add(former.events);
        composed.end.lost = composed.end.lost.saturating_add(former.lost);
        composed.totals.filtered = composed.totals.filtered.saturating_add(former.filtered);
        composed.ended_before += former.coroutines;
        sink.take(Record::Former(Box::new(former.clone())));
    }
}

/// Emits what was seen from outside of the coroutines that are told of.
fn emit_looks(plan: &Plan, gathered: &Gathered, sink: &mut dyn Sink) {
    let told = plan.coroutines.iter().filter(|one| one.is_told);
    let told: HashSet<CoroutineId> = told.map(|one| one.occupant().coroutine).collect();
    let looks = gathered.looks.iter();
    looks
        .filter(|look| told.contains(&look.coroutine))
        .for_each(|look| sink.take(Record::Look(*look)));
}
