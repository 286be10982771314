use ctp_trace::record::{Birth, Event, EventKind, SiteId};
use ctp_trace::verdict::{Reason, Verdict};

use super::*;

fn birth(id: u32) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        ..Birth::default()
    })
}

fn event(id: u32, n: u64, kind: EventKind) -> Record {
    Record::Event(Event {
        coroutine: CoroutineId(id),
        n,
        at: Nanos(n),
        site: SiteId(id),
        kind,
        ..Event::default()
    })
}

/// Reads the records, and returns the model with its rows.
fn read(batches: &[&[Record]]) -> Rows {
    let (mut model, mut rows) = (Model::default(), Rows::default());
    for batch in batches {
        let mut changes = ChangedRows::default();
        for record in *batch {
            changes.note(record);
            model.trace_model.consume(record);
        }
        rows.begin_interval(Nanos(0));
        rows.update(&model, &changes, |_| true);
    }
    rows
}

#[test]
fn rows_follow_the_records() {
    let first = [
        birth(1),
        birth(2),
        birth(3),
        event(1, 0, EventKind::Run),
        event(2, 0, EventKind::Run),
    ];
    let then = [
        event(1, 1, EventKind::Suspend),
        event(2, 1, EventKind::Death),
    ];
    let rows = read(&[&first, &then]);
    let states = [1, 2, 3].map(|id| {
        let row = rows.get(RowId::Coroutine(CoroutineId(id)));
        row.map(|row| row.state.word())
    });
    assert_eq!(states, [Some("SUSPENDED"), None, Some("NEVER_RUN")]);
    let counts = rows.counts();
    assert_eq!((counts.alive, counts.waiting, counts.never_run), (2, 1, 1));
}

#[test]
fn rates_count_from_the_beginning_of_the_interval() {
    let first = [birth(1), event(1, 0, EventKind::Run)];
    let then = [
        event(1, 1, EventKind::Suspend),
        event(1, 2, EventKind::Run),
        event(1, 3, EventKind::Suspend),
    ];
    let rows = read(&[&first, &then]);
    let interval = Interval {
        end: Nanos(3),
        length: Nanos(1_000_000_000),
    };
    let (_, rates) = rows.with_rates(interval).next().expect("a row");
    assert!((rates.polls - 1.0).abs() < 1e-9, "{rates:?}");
}

#[test]
fn verdicts_last_until_the_coroutine_changes() {
    let mut rows = read(&[&[birth(1), birth(2)]]);
    let model = Model::default();
    let judgement = Judgement {
        fact: Fact::NeverRun,
        verdict: Verdict::MaybeStuck,
        confidence: Verdict::MaybeStuck.confidence(),
        reason: Reason::Over,
        age: Nanos(1),
        close_call: false,
    };
    rows.set_verdicts(
        &[(CoroutineId(1), judgement), (CoroutineId(9), judgement)],
        |_| true,
    );
    assert_eq!(rows.counts().stuck, 1);
    let mut changes = ChangedRows::default();
    changes.note(&event(1, 0, EventKind::Run));
    rows.update(&model, &changes, |_| true);
    assert_eq!((rows.counts().stuck, rows.counts().alive), (0, 1));
}
