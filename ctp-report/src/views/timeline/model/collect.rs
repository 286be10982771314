//! The second pass over the trace: collects the events of the shown coroutines.

use std::collections::HashMap;
use std::convert::Infallible;

use ctp_trace::Reader;
use ctp_trace::record::{Act, CoroutineId, EventKind, Nanos, Record, ThreadEvent, Waker};

use super::arrows::{Arrow, Arrows};
use super::row::Row;
use super::selection::ShownRows;
use crate::load::read_ahead;
use crate::time_scale::Scale;

/// Returns the rows of the selected coroutines, in the order of the selection, and the wakes
/// between these coroutines.
pub fn collect(mut reader: Reader<'_>, selection: &ShownRows, scale: &Scale) -> (Vec<Row>, Arrows) {
    let members = selection.groups.iter().flat_map(|group| &group.members);
    let members: Vec<_> = members.collect();
    let count = members.len().max(1);
    let rows = members.iter().map(|member| Row::new(member, scale, count));
    let rows: Vec<Row> = rows.collect();
    let places = members.iter().map(|member| member.id).zip(0..).collect();
    let awaited = vec![None; rows.len()];
    let mut table = RowTable {
        rows,
        places,
        awaited,
        arrows: Arrows::default(),
    };
    let Ok(()) = read_ahead::for_each(&mut reader, |chunk| {
        for record in chunk.iter().flatten() {
            table.take(record, scale);
        }
        Ok::<_, Infallible>(())
    });
    table.rows.iter_mut().for_each(|row| row.finish(scale));
    (table.rows, table.arrows)
}

/// The rows, and the indexes to find the row of a record.
struct RowTable {
    rows: Vec<Row>,
    places: HashMap<CoroutineId, usize>,
    /// The resource number that each row waits for. Kept in a list of its own, because every
    /// closing searches this list and concerns few rows.
    awaited: Vec<Option<u64>>,
    arrows: Arrows,
}

impl RowTable {
    fn take(&mut self, record: &Record, scale: &Scale) {
        match record {
            Record::Event(event) => {
                if let Some(&place) = self.places.get(&event.coroutine) {
                    self.rows[place].add_event(event, scale);
                    let waits = event.kind == EventKind::Suspend;
                    self.awaited[place] = waits.then_some(event.arg);
                }
            }
            Record::Earlier(earlier) => {
                if let Some(&place) = self.places.get(&earlier.coroutine) {
                    self.rows[place].set_earlier(earlier.events);
                }
            }
            Record::Wake(wake) => {
                if let Some(&place) = self.places.get(&wake.coroutine)
                    && self.rows[place].woken(wake, scale)
                {
                    self.arrow(wake.at, wake.waker, place, scale);
                }
            }
            Record::ThreadEvent(thread_event) => self.thread_event(thread_event, scale),
            _ => {}
        }
    }

    fn arrow(&mut self, at: Nanos, by: Waker, to: usize, scale: &Scale) {
        let from = match by {
            Waker::Coroutine(id) => self.places.get(&id),
            _ => None,
        };
        if let Some(&from) = from {
            self.arrows.add(Arrow { at, from, to }, scale);
        }
    }

    fn thread_event(&mut self, thread_event: &ThreadEvent, scale: &Scale) {
        match &thread_event.act {
            Act::Wake(call) => {
                if let Some(&place) = self.places.get(&call.coroutine) {
                    self.rows[place].called(thread_event, call, scale);
                    self.arrow(thread_event.at, call.by, place, scale);
                }
            }
            Act::Close(close) => {
                let rows = self.rows.iter_mut().zip(&self.awaited);
                for (row, _) in rows.filter(|(_, arg)| **arg == Some(close.arg)) {
                    row.closed(thread_event, close, scale);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::marks::{MarkAuthor, Marks, RowMark};
    use super::super::{ObservedPopulation, Piece, PieceKind, alive, pick};
    use super::*;
    use ctp_trace::record::{
        Birth, Close, Earlier, End, Event, SiteId, Start, WaitKind, Wake, WakeCall,
    };
    use ctp_trace::verdict::Verdict;
    use ctp_trace::{TraceModel, Writer};

    const ID: CoroutineId = CoroutineId(1);

    fn event(n: u64, at: u64, kind: EventKind, tid: u64) -> Record {
        Record::Event(Event {
            coroutine: ID,
            n,
            at: Nanos(at),
            tid,
            kind,
            ..Event::default()
        })
    }

    fn row(records: &[Record], from: u64) -> Row {
        let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
        let birth = Record::Birth(Birth {
            coroutine: ID,
            at: Nanos(10),
            ..Birth::default()
        });
        writer.write(&birth).unwrap();
        records
            .iter()
            .for_each(|record| writer.write(record).unwrap());
        let end = End {
            at: Nanos(1_000),
            ..End::default()
        };
        let bytes = writer.finish(&end).unwrap();
        let scale = Scale::new(Nanos(from), Nanos(1_000));
        let (mut trace_model, mut observed) = (TraceModel::new(), ObservedPopulation::new(scale));
        for record in Reader::new(&bytes).unwrap().flatten() {
            observed.note(&trace_model, &record);
            trace_model.consume(&record);
        }
        let alive = alive(&trace_model, Nanos(100));
        let selection = pick(alive, observed, &scale, None);
        let (mut rows, _) = collect(Reader::new(&bytes).unwrap(), &selection, &scale);
        rows.remove(0)
    }

    fn near(row: &Row) -> Vec<(u64, u64, PieceKind)> {
        let parts = |piece: &Piece| (piece.from.0, piece.to.0, piece.activity);
        row.near.pieces().iter().map(parts).collect()
    }

    fn when(marks: &Marks) -> Vec<u64> {
        marks.all().iter().map(|mark| mark.at.0).collect()
    }

    // CT-19: each recorded wake once, and the closing of the awaited resource once
    #[test]
    fn wakes_and_closings_become_marks() {
        let wait = |n, at| {
            let mut suspend = event(n, at, EventKind::Suspend, 2);
            if let Record::Event(event) = &mut suspend {
                (event.wait, event.arg) = (WaitKind::Readable, 7);
            }
            suspend
        };
        let thread_event = |at, act| {
            Record::ThreadEvent(ThreadEvent {
                at: Nanos(at),
                tid: 9,
                act,
                ..ThreadEvent::default()
            })
        };
        let site = SiteId(3);
        let call = |count| {
            Act::Wake(WakeCall {
                coroutine: ID,
                count,
                site,
                ..WakeCall::default()
            })
        };
        let close = Act::Close(Close {
            wait: WaitKind::Readable,
            arg: 7,
            site,
        });
        let word = Record::Wake(Wake {
            coroutine: ID,
            count: 2,
            at: Nanos(41),
            ..Wake::default()
        });
        let row = row(
            &[
                thread_event(15, close),
                event(0, 20, EventKind::Run, 2),
                wait(1, 30),
                thread_event(35, call(1)),
                thread_event(40, call(2)),
                word,
                event(2, 50, EventKind::Run, 2),
                wait(3, 60),
                thread_event(70, close),
                thread_event(80, close),
            ],
            0,
        );
        let by = Some(MarkAuthor { tid: 9, site });
        let at = Nanos(70);
        assert_eq!(
            (when(&row.wakes), when(&row.closes)),
            (vec![35, 40], vec![70])
        );
        assert!(row.wakes.all().iter().all(|mark| mark.by == by));
        assert_eq!(row.lost, Some(RowMark { at, by }));
    }

    // CT-19: pieces, thread changes, the latest wake of a wait, an open end
    #[test]
    fn events_become_pieces_and_marks() {
        let wake = |count, at| {
            Record::Wake(Wake {
                coroutine: ID,
                count,
                waker: Waker::Foreign,
                at: Nanos(at),
            })
        };
        let row = row(
            &[
                wake(0, 0),
                event(0, 10, EventKind::Birth, 1),
                event(1, 20, EventKind::Run, 2),
                event(2, 50, EventKind::Suspend, 2),
                wake(1, 80),
                event(3, 90, EventKind::Run, 3),
            ],
            0,
        );
        let waits = PieceKind::Waits(SiteId(0), WaitKind::Unknown, 0);
        let expected = [
            (10, 20, PieceKind::Born),
            (20, 50, PieceKind::Runs(2)),
            (50, 90, waits),
        ];
        assert_eq!(near(&row), expected);
        assert_eq!((when(&row.wakes), when(&row.moves)), (vec![80], vec![90]));
        assert_eq!(row.member.verdict, Verdict::Busy);
        let open = row.open.unwrap();
        assert_eq!(
            (open.from, open.to, open.activity),
            (Nanos(90), Nanos(1_000), PieceKind::Runs(3))
        );
    }

    // CT-19: a loss is a piece of its own, and an ended coroutine has no open end
    #[test]
    fn losses_and_deaths_are_shown() {
        let row = row(
            &[
                event(5, 40, EventKind::Run, 2),
                event(6, 60, EventKind::Death, 2),
            ],
            0,
        );
        assert_eq!(
            near(&row),
            [(10, 40, PieceKind::Lost(5)), (40, 60, PieceKind::Runs(2))]
        );
        assert_eq!((row.open, row.events), (None, (2, 5)));
        assert_eq!(
            row.death(&Scale::new(Nanos(0), Nanos(1_000))),
            Some(Nanos(60))
        );
    }

    // CT-19: events that a flight recorder did not keep are neither shown nor lost
    #[test]
    fn row_begins_with_first_event_kept_by_flight_recorder() {
        let earlier = Earlier {
            coroutine: ID,
            events: 5,
        };
        let row = row(
            &[
                Record::Earlier(earlier),
                event(5, 40, EventKind::Run, 2),
                event(6, 60, EventKind::Death, 2),
            ],
            0,
        );
        assert_eq!(near(&row), [(40, 60, PieceKind::Runs(2))]);
        assert_eq!(row.events, (2, 0));
    }

    // CT-19: pieces are clipped to the window
    #[test]
    fn window_clips_pieces() {
        let row = row(
            &[
                event(0, 20, EventKind::Run, 2),
                event(1, 600, EventKind::Suspend, 2),
            ],
            500,
        );
        assert_eq!(near(&row), [(500, 600, PieceKind::Runs(2))]);
    }
}
