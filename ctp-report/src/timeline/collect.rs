//! What those that are shown did, gathered while the trace is read once more.

use std::collections::HashMap;

use ctp_trace::Reader;
use ctp_trace::record::{CoroutineId, Record};

use super::pick::Selection;
use super::row::Row;
use super::scale::Scale;

/// Reads what the selected ones did, in the order of the selection.
pub fn collect(reader: Reader<'_>, selection: &Selection, scale: &Scale) -> Vec<Row> {
    let members = || selection.groups.iter().flat_map(|group| &group.members);
    let count = members().count().max(1);
    let mut rows: Vec<Row> = members().map(|one| Row::new(one, scale, count)).collect();
    let places: HashMap<CoroutineId, usize> = members().map(|it| it.id).zip(0..).collect();
    for record in reader.flatten() {
        match record {
            Record::Event(event) => {
                if let Some(&place) = places.get(&event.coroutine) {
                    rows[place].event(&event, scale);
                }
            }
            Record::Wake(wake) => {
                if let Some(&place) = places.get(&wake.coroutine) {
                    rows[place].woken(&wake, scale);
                }
            }
            _ => {}
        }
    }
    rows.iter_mut().for_each(|row| row.close(scale));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::{Crowd, Doing, Piece, pick};
    use super::*;
    use ctp_trace::record::{
        Birth, End, Event, EventKind, Nanos, SiteId, Start, WaitKind, Wake, Waker,
    };
    use ctp_trace::verdict::Verdict;
    use ctp_trace::{Census, Writer};

    const ONE: CoroutineId = CoroutineId(1);

    fn event(n: u64, at: u64, kind: EventKind, tid: u64) -> Record {
        Record::Event(Event {
            coroutine: ONE,
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
            coroutine: ONE,
            at: Nanos(10),
            ..Birth::default()
        });
        writer.write(&birth).unwrap();
        records.iter().for_each(|it| writer.write(it).unwrap());
        let end = End {
            at: Nanos(1_000),
            ..End::default()
        };
        let bytes = writer.finish(&end).unwrap();
        let scale = Scale::new(Nanos(from), Nanos(1_000));
        let (mut census, mut crowd) = (Census::new(), Crowd::new(scale));
        for record in Reader::new(&bytes).unwrap().flatten() {
            crowd.see(&census, &record);
            census.feed(&record);
        }
        let selection = pick(&census, crowd, &scale, Nanos(100), None);
        collect(Reader::new(&bytes).unwrap(), &selection, &scale).remove(0)
    }

    fn near(row: &Row) -> Vec<(u64, u64, Doing)> {
        let parts = |it: &Piece| (it.from.0, it.to.0, it.doing);
        row.near.pieces().iter().map(parts).collect()
    }

    // CT-19: spans, thread changes, the latest wake of a wait, an open end
    #[test]
    fn events_become_pieces_and_marks() {
        let wake = |count, at| {
            Record::Wake(Wake {
                coroutine: ONE,
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
        let waits = Doing::Waits(SiteId(0), WaitKind::Unknown, 0);
        let expected = [
            (10, 20, Doing::Born),
            (20, 50, Doing::Runs(2)),
            (50, 90, waits),
        ];
        assert_eq!(near(&row), expected);
        assert_eq!(
            (row.wakes.moments(), row.moves.moments()),
            (&[Nanos(80)][..], &[Nanos(90)][..])
        );
        assert_eq!(row.member.verdict, Verdict::Busy);
        let open = row.open.unwrap();
        assert_eq!(
            (open.from, open.to, open.doing),
            (Nanos(90), Nanos(1_000), Doing::Runs(3))
        );
    }

    // CT-19: a loss is a piece of its own, and the dead have no open end
    #[test]
    fn a_loss_is_seen_and_a_death_is_an_end() {
        let row = row(
            &[
                event(5, 40, EventKind::Run, 2),
                event(6, 60, EventKind::Death, 2),
            ],
            0,
        );
        assert_eq!(
            near(&row),
            [(10, 40, Doing::Lost(5)), (40, 60, Doing::Runs(2))]
        );
        assert_eq!((row.open, row.events), (None, (2, 5)));
        assert_eq!(
            row.death(&Scale::new(Nanos(0), Nanos(1_000))),
            Some(Nanos(60))
        );
    }

    // CT-19: a window cuts what reaches into it
    #[test]
    fn a_window_cuts() {
        let row = row(
            &[
                event(0, 20, EventKind::Run, 2),
                event(1, 600, EventKind::Suspend, 2),
            ],
            500,
        );
        assert_eq!(near(&row), [(500, 600, Doing::Runs(2))]);
    }
}
