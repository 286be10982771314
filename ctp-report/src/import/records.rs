//! Writes the lines of a run as a trace in memory.

use anyhow::Result;
use ctp_trace::Writer;
use ctp_trace::record::{
    Birth, CoroutineId, End, Event, EventCounts, EventKind, ExitReason, Nanos, Process, ProcessId,
    Record, Start,
};

use super::line::ImportLine;
use super::number::{Numbering, indices, lives, numbering};
use super::sift::by_id;

const PROCESS: ProcessId = ProcessId(1);

/// Writes the trace of a run. `quarantined` is the number of lines that were left out.
///
/// # Errors
/// Errors of the writer.
pub fn trace(run: &[ImportLine], quarantined: u64) -> Result<Vec<u8>> {
    let zero = run.iter().map(|line| line.ts).min().unwrap_or(0);
    let start = Start {
        recorder: "coroTracer".to_owned(),
        started_monotonic_ns: zero,
        ..Start::default()
    };
    let (births, events, counts) = coroutines(run, zero);
    let lost = counts
        .iter()
        .map(|event_counts| event_counts.attempted - event_counts.recorded);
    let end = End {
        at: events.last().map(|event| event.at).unwrap_or_default(),
        how: ExitReason::Stopped,
        events: events.len() as u64,
        lost: lost.fold(0, u64::saturating_add),
        coroutines: births.len() as u64,
        quarantined,
        ..End::default()
    };
    let mut writer = Writer::uncompressed(Vec::new(), &start)?;
    writer.write(&Record::Process(Process {
        id: PROCESS,
        ..Process::default()
    }))?;
    for birth in births {
        writer.write(&Record::Birth(birth))?;
    }
    for event in events {
        writer.write(&Record::Event(event))?;
    }
    for event_counts in counts {
        writer.write(&Record::EventCounts(event_counts))?;
    }
    Ok(writer.finish(&end)?)
}

/// All coroutines, their events in the order of time, and the event counts of each.
fn coroutines(run: &[ImportLine], zero: u64) -> (Vec<Birth>, Vec<Event>, Vec<EventCounts>) {
    let numbering = numbering(run);
    let (mut births, mut events, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0;
    for of_id in by_id(run) {
        for life in lives(&of_id, numbering) {
            number += 1;
            let coroutine = CoroutineId(number);
            births.push(birth(coroutine, &life[0], zero, numbering));
            let indices = indices(life, numbering);
            counts.push(event_counts(coroutine, &indices, life));
            let indexed = indices.into_iter().zip(life);
            events.extend(indexed.map(|(n, line)| event(coroutine, n, line, zero)));
        }
    }
    events.sort_by_key(|event| event.at);
    (births, events, counts)
}

/// The event counts of a coroutine. Lines do not record ends, and most coroutines end while running. So
/// the state of a coroutine that was last running is unknown.
fn event_counts(coroutine: CoroutineId, indices: &[u64], life: &[ImportLine]) -> EventCounts {
    EventCounts {
        coroutine,
        attempted: indices.last().map_or(0, |n| n + 1),
        recorded: life.len() as u64,
        torn: None,
        inexact: life.last().is_some_and(|last| last.is_active),
        ..EventCounts::default()
    }
}

fn birth(coroutine: CoroutineId, first: &ImportLine, zero: u64, numbering: Numbering) -> Birth {
    Birth {
        coroutine,
        process: PROCESS,
        station: coroutine.0 - 1,
        probe_id: first.probe_id,
        at: Nanos(first.ts - zero),
        dialect: numbering.dialect(),
        ..Birth::default()
    }
}

/// Keeps the address as the argument of the event: it is the address of the coroutine's frame, not
/// of code.
fn event(coroutine: CoroutineId, n: u64, line: &ImportLine, zero: u64) -> Event {
    Event {
        coroutine,
        n,
        at: Nanos(line.ts - zero),
        tid: line.tid,
        kind: if line.is_active {
            EventKind::Run
        } else {
            EventKind::Suspend
        },
        arg: line.addr,
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_lost_events_saturates() {
        let run: Vec<ImportLine> = (1..=20_000)
            .map(|probe_id| ImportLine {
                number: 1,
                probe_id,
                tid: 1,
                addr: 0,
                seq: 1 << 48,
                is_active: true,
                ts: 1 << 50,
            })
            .collect();
        assert!(trace(&run, 0).is_ok());
    }
}
