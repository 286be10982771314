//! Assembles the records of a snapshot: coroutines, the events of the window in order, and sums of
//! everything earlier.

use std::collections::HashSet;

use ctp_trace::record::{
    Aggregate, Control, CoroutineId, Earlier, End, ExitReason, Nanos, ProcessEnd, Record, Window,
};

use super::image::{self, MemoryImage};
use super::known_processes::KnownProcesses;
use super::plan::SnapshotPlan;
use super::snapshot_input::SnapshotInput;
use crate::harvest::image::ImageTimes;
use crate::harvest::{Sink, Totals};
use crate::output::deadlines::CorrectingSink;

/// The result of assembling a snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub struct SnapshotSummary {
    /// The last record.
    pub end: End,
    /// The time from which the snapshot is complete.
    pub since: Nanos,
    /// Coroutines that are only part of sums.
    pub ended_before: u64,
    /// Further counts for the closing lines.
    pub totals: Totals,
}

/// Emits every record except `End`, which is returned.
pub fn assemble(
    mut input: SnapshotInput,
    mut plan: SnapshotPlan,
    sink: &mut dyn Sink,
) -> SnapshotSummary {
    let sink = &mut CorrectingSink {
        clocks: std::mem::take(&mut input.clocks),
        sink,
    };
    let mut known = KnownProcesses::of(&input);
    let mut summary = found_in(&plan, &input);
    emit_definitions(&mut input, sink);
    emit_window(&plan, &input, sink);
    emit_coroutines(&plan, &input, &mut summary, sink);
    let times = times_of(&plan, &input);
    let mut images = image::images(&mut plan, &input.parts, times);
    emit_events(&mut images, &controls(&input), &mut known, sink);
    emit_looks(&plan, &input, sink);
    emit_process_ends(&input, sink);
    summary.add(images.iter().map(MemoryImage::totals));
    summary.end = end_of(&input, summary.end);
    summary
}

impl SnapshotSummary {
    /// Adds what was found in the memories.
    fn add(&mut self, found: impl Iterator<Item = Totals>) {
        let mut totals = Totals::default();
        found.for_each(|memory| totals += memory);
        self.end.events = totals.events;
        self.end.lost = self.end.lost.saturating_add(totals.lost);
        self.end.quarantined = totals.quarantined;
        self.totals.doubtful = totals.doubtful;
        self.totals.filtered = self.totals.filtered.saturating_add(totals.filtered);
    }
}

fn times_of(plan: &SnapshotPlan, input: &SnapshotInput) -> ImageTimes {
    let is_over = input.ended.is_some();
    ImageTimes {
        start_ns: input.start.started_monotonic_ns,
        latest_ns: plan.latest_ns,
        until_ns: if is_over {
            plan.until_ns
        } else {
            input.stations_read_ns
        },
        dated_ns: plan.dated_ns,
    }
}

/// The changes of the filter, by time.
fn controls(input: &SnapshotInput) -> Vec<Control> {
    let controls = input.marks.iter().filter_map(|mark| match mark {
        Record::Control(control) => Some(*control),
        _ => None,
    });
    let mut controls: Vec<Control> = controls.collect();
    controls.sort_by_key(|control| control.at);
    controls
}

/// Emits the events of coroutines and threads of all memories, and the changes of the filter at their times.
/// The events of each memory are in order of time.
fn emit_events(
    images: &mut [MemoryImage],
    controls: &[Control],
    known: &mut KnownProcesses,
    sink: &mut dyn Sink,
) {
    images
        .iter_mut()
        .for_each(|image| image.read_held(known, sink));
    for control in controls {
        for image in images.iter_mut() {
            image.read_lanes_until(control.at, known, sink);
        }
        sink.take(Record::Control(*control));
    }
    images
        .iter_mut()
        .for_each(|image| image.read_all(known, sink));
}

/// What is known before any record is emitted.
fn found_in(plan: &SnapshotPlan, input: &SnapshotInput) -> SnapshotSummary {
    SnapshotSummary {
        since: since(plan, input),
        totals: Totals {
            lanes: plan.lanes.iter().map(Vec::len).sum::<usize>() as u32,
            damaged_lanes: damaged(plan),
            ..Totals::default()
        },
        ..SnapshotSummary::default()
    }
}

fn since(plan: &SnapshotPlan, input: &SnapshotInput) -> Nanos {
    Nanos(plan.since_ns - input.start.started_monotonic_ns)
}

/// Emits processes, modules and sites, which precede all records that refer to them.
fn emit_definitions(input: &mut SnapshotInput, sink: &mut dyn Sink) {
    let definitions = std::mem::take(&mut input.definitions);
    definitions.into_iter().for_each(|record| sink.take(record));
}

fn emit_window(plan: &SnapshotPlan, input: &SnapshotInput, sink: &mut dyn Sink) {
    sink.take(Record::Window(Window {
        since: since(plan, input),
        overwritten: plan.overwritten,
        unattributed: plan.unattributed,
        goes_on: input.ended.is_none(),
    }));
}

/// Emits the ends of processes. The lanes of a process were not read when its end was noticed, perhaps late: the
/// end is not before the latest event.
fn emit_process_ends(input: &SnapshotInput, sink: &mut dyn Sink) {
    let latest = input.latest_of_processes();
    for mark in &input.marks {
        if let Record::ProcessEnd(end) = mark {
            let latest = latest.get(&end.process).copied().unwrap_or_default();
            let at = end.at.max(latest);
            sink.take(Record::ProcessEnd(ProcessEnd { at, ..*end }));
        }
    }
}

/// The last record, with the counts of `counted`.
fn end_of(input: &SnapshotInput, counted: End) -> End {
    End {
        at: input.end_at(),
        how: input.ended.map_or(ExitReason::Stopped, |(how, _)| how),
        refused: input.counters.refused.into(),
        unnamed: input.counters.unnamed.into(),
        faulting_tid: input.faulting_tid,
        unrecorded: input.unrecorded,
        ..counted
    }
}

fn damaged(plan: &SnapshotPlan) -> u32 {
    let lanes = plan.lanes.iter().flatten();
    lanes.filter(|lane| lane.is_damaged).count() as u32
}

/// Emits the coroutines that are described individually, and the sums of the others.
fn emit_coroutines(
    plan: &SnapshotPlan,
    input: &SnapshotInput,
    summary: &mut SnapshotSummary,
    sink: &mut dyn Sink,
) {
    let mut ended_before = input.ended_before.clone();
    for planned in &plan.coroutines {
        if !planned.is_included {
            if !planned.is_born_later {
                ended_before.add(&planned.known);
            }
            continue;
        }
        let birth = &planned.known.birth;
        sink.take(Record::Birth(birth.as_ref().clone()));
        if let Some(aggregate) = &planned.state().aggregate {
            sink.take(Record::Aggregate(Box::new(Aggregate {
                at: aggregate.at.min(input.end_at()),
                ..aggregate.as_ref().clone()
            })));
        }
        let (coroutine, events) = (birth.coroutine, planned.earlier);
        summary.totals.summed_up = summary.totals.summed_up.saturating_add(events);
        summary.end.coroutines += 1;
        if events > 0 {
            sink.take(Record::Earlier(Earlier { coroutine, events }));
        }
    }
    for sums in ended_before.iter() {
        summary.totals.summed_up = summary.totals.summed_up.saturating_add(sums.events);
        summary.end.lost = summary.end.lost.saturating_add(sums.lost);
        summary.totals.filtered = summary.totals.filtered.saturating_add(sums.filtered);
        summary.ended_before += sums.coroutines;
        sink.take(Record::EndedSums(Box::new(sums.clone())));
    }
}

/// Emits the observations of sockets, and those of coroutines that are in the snapshot.
fn emit_looks(plan: &SnapshotPlan, input: &SnapshotInput, sink: &mut dyn Sink) {
    let included = plan.coroutines.iter().filter(|planned| planned.is_included);
    let included: HashSet<CoroutineId> =
        included.map(|planned| planned.state().coroutine).collect();
    let looks = input.looks.iter();
    looks
        .filter(|look| included.contains(&look.coroutine))
        .for_each(|look| sink.take(Record::Look(*look)));
    let sockets = input.sockets.iter();
    sockets.for_each(|sockets| sink.take(Record::Sockets(*sockets)));
}
