//! The level of earlier waits with which a wait is compared.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{Level, Reason, Verdict};

const MS: u64 = 1_000_000;
const THRESHOLD: Nanos = Nanos(1_000 * MS);

fn site(id: u32, place: Place) -> Record {
    Record::Site(Site {
        id: SiteId(id),
        process: ProcessId(1),
        place,
    })
}

fn line(id: u32, line: u32) -> Record {
    let file = "src/main.rs".into();
    site(
        id,
        Place::Source {
            file,
            line,
            column: 5,
        },
    )
}

/// A site in a function, with the calls that led there.
fn chained(id: u32, addresses: &[u64]) -> [Record; 2] {
    let name = "async fn main".into();
    let chain = Chain {
        site: SiteId(id),
        is_whole: true,
        addresses: addresses.to_vec(),
    };
    [
        site(id, Place::Function { address: 1, name }),
        Record::Chain(chain),
    ]
}

/// A coroutine that waits this many times for a millisecond at a site, and then at `last` from 20 ms on.
fn coroutine(id: u32, name: &str, waits: u64, at: u32, last: u32, kind: WaitKind) -> Vec<Record> {
    let event = |n: u64, at: u64, kind, site, wait| {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            n,
            at: Nanos(at),
            kind,
            site: SiteId(site),
            wait,
            arg: u64::from(wait == WaitKind::Lock) * 64,
            ..Event::default()
        })
    };
    let mut records = vec![
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(1),
            name: name.into(),
            ..Birth::default()
        }),
        event(0, 0, EventKind::Run, 0, WaitKind::Unknown),
    ];
    for i in 0..waits {
        let from = (1 + 2 * i) * MS;
        records.push(event(1 + 2 * i, from, EventKind::Suspend, at, kind));
        records.push(event(
            2 + 2 * i,
            from + MS,
            EventKind::Run,
            0,
            WaitKind::Unknown,
        ));
    }
    records.push(event(
        1 + 2 * waits,
        20 * MS,
        EventKind::Suspend,
        last,
        kind,
    ));
    records
}

/// The level with which the last coroutine is compared, and its verdict 5 s later.
fn judged(records: &[Vec<Record>]) -> (Option<Level>, Verdict, &'static str) {
    let mut trace_model = TraceModel::new();
    for record in records.iter().flatten() {
        trace_model.consume(record);
    }
    trace_model.consume(&Record::End(End {
        at: Nanos(5_000 * MS),
        ..End::default()
    }));
    let all = trace_model.judge(THRESHOLD);
    let (_, judged) = all.last().expect("a coroutine");
    (judged.reason.level(), judged.verdict, judged.reason.word())
}

const READ: WaitKind = WaitKind::Readable;

// CT-14
#[test]
fn sites_at_the_same_line_are_compared() {
    let lines = vec![line(1, 7), line(2, 7), line(3, 8)];
    let others = coroutine(1, "a", 8, 1, 1, READ);
    let at_line = [
        lines.clone(),
        others.clone(),
        coroutine(2, "b", 0, 2, 2, READ),
    ];
    let quiet = (Some(Level::Line), Verdict::Waiting, "quiet");
    assert_eq!(judged(&at_line), quiet);
    let elsewhere = [lines, others, coroutine(2, "b", 0, 3, 3, READ)];
    let of_kind = (Some(Level::Leaf), Verdict::Waiting, "only-coarse");
    assert_eq!(judged(&elsewhere), of_kind);
}

// CT-14
#[test]
fn copies_of_a_line_are_compared() {
    let chains = [chained(1, &[2, 3, 4, 5]), chained(2, &[2, 6, 7, 8])].concat();
    let leaf = |site, same_as| {
        Record::Leaf(Leaf {
            site: SiteId(site),
            same_as: SiteId(same_as),
            ..Leaf::default()
        })
    };
    let others = coroutine(1, "a", 8, 1, 1, READ);
    let copy = coroutine(2, "b", 0, 2, 2, READ);
    let of =
        |leaves: Vec<Record>| judged(&[chains.clone(), leaves, others.clone(), copy.clone()]).0;
    assert_eq!(of(vec![leaf(1, 1), leaf(2, 1)]), Some(Level::Line));
    assert_ne!(of(vec![leaf(1, 1), leaf(2, 2)]), Some(Level::Line));
    assert_ne!(of(Vec::new()), Some(Level::Line));
}

// CT-14
#[test]
fn the_same_innermost_calls_are_compared() {
    let sites: Vec<Record> = [chained(1, &[1, 2, 3, 4, 5]), chained(2, &[1, 2, 3, 4, 6])].concat();
    let others = coroutine(1, "a", 8, 1, 1, WaitKind::Unknown);
    let own = coroutine(2, "b", 0, 2, 2, WaitKind::Unknown);
    let inner = (Some(Level::InnerCalls), Verdict::Waiting, "only-coarse");
    assert_eq!(judged(&[sites.clone(), others.clone(), own]), inner);
    let own = coroutine(2, "b", 0, 1, 1, WaitKind::Unknown);
    let chain = (Some(Level::Chain), Verdict::Waiting, "quiet");
    assert_eq!(judged(&[sites, others, own]), chain);
}

// CT-14
#[test]
fn own_waits_come_before_those_of_the_name() {
    let lines = vec![line(1, 7), line(2, 8)];
    let own = coroutine(1, "a", 8, 1, 2, READ);
    let coroutine_level = (Some(Level::Coroutine), Verdict::Waiting, "only-coarse");
    assert_eq!(judged(&[lines.clone(), own]), coroutine_level);
    let all = [
        lines,
        coroutine(1, "a", 8, 1, 1, READ),
        coroutine(2, "a", 0, 2, 2, READ),
    ];
    let name = (Some(Level::Name), Verdict::Waiting, "only-coarse");
    assert_eq!(judged(&all), name);
}

// CT-14
#[test]
fn locks_are_compared_with_other_locks() {
    let lines = vec![line(1, 7), line(2, 8)];
    let others = coroutine(1, "a", 8, 1, 1, WaitKind::Lock);
    let own = coroutine(2, "a", 0, 2, 2, WaitKind::Lock);
    let stuck = (Some(Level::Leaf), Verdict::MaybeStuck, "far-beyond");
    assert_eq!(judged(&[lines.clone(), others, own.clone()]), stuck);
    let reads = coroutine(1, "b", 8, 1, 1, READ);
    assert_eq!(judged(&[lines, reads, own]).2, Reason::NoPast.word());
}

// CT-14
#[test]
fn leaves_of_different_kinds_are_not_compared() {
    let sites: Vec<Record> = [chained(1, &[1, 2, 3, 4, 5]), chained(2, &[1, 2, 6, 7, 8])].concat();
    let kind = |site, kind| {
        Record::Leaf(Leaf {
            site: SiteId(site),
            kind,
            same_as: SiteId(site),
        })
    };
    let kinds = |other, own| vec![kind(1, other), kind(2, own)];
    let others = coroutine(1, "a", 8, 1, 1, WaitKind::Unknown);
    let own = coroutine(2, "b", 0, 2, 2, WaitKind::Unknown);
    let with = |other_kind, own_kind| {
        let kinds = kinds(other_kind, own_kind);
        [sites.clone(), kinds, others.clone(), own.clone()]
    };
    let alike = (Some(Level::Leaf), Verdict::Waiting, "only-coarse");
    assert_eq!(judged(&with(LeafKind::Reply, LeafKind::Reply)), alike);
    assert_eq!(judged(&with(LeafKind::Reply, LeafKind::Lock)).2, "no-past");
    let timers = with(LeafKind::Timer, LeafKind::Timer);
    assert_eq!(judged(&timers).2, "no-past", "each has a time of its own");
}

/// A coroutine whose waits for permits are ended by another of the same spawn site, 9 ms into each. The
/// latest wait is not ended.
fn peers(waits: u64, callers_spawn_site: u32) -> Vec<Record> {
    let birth = |id: u32, spawn_site: u32| {
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(1),
            spawn_site: SiteId(spawn_site),
            ..Birth::default()
        })
    };
    let event = |id: u32, n: u64, at: u64, kind| {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            n,
            at: Nanos(at),
            kind,
            site: SiteId(1),
            ..Event::default()
        })
    };
    let mut records = vec![birth(1, callers_spawn_site), birth(2, 9)];
    records.push(event(1, 0, 0, EventKind::Run));
    records.push(event(2, 0, 0, EventKind::Run));
    for wait in 0..waits {
        let from = (1 + 10 * wait) * MS;
        records.push(event(2, 1 + 2 * wait, from, EventKind::Suspend));
        records.push(Record::ThreadEvent(ThreadEvent {
            process: ProcessId(1),
            tid: 7,
            at: Nanos(from + 8 * MS),
            act: Act::Wake(WakeCall {
                coroutine: CoroutineId(2),
                count: wait as u32 + 1,
                by: Waker::Coroutine(CoroutineId(1)),
                site: SiteId(3),
            }),
        }));
        records.push(event(2, 2 + 2 * wait, from + 9 * MS, EventKind::Run));
    }
    let end = (1 + 10 * waits) * MS;
    records.push(event(1, 1, end, EventKind::Suspend));
    records.push(event(2, 1 + 2 * waits, end, EventKind::Suspend));
    records
}

// CT-15
#[test]
fn nothing_is_left_to_end_waits_among_peers() {
    let stuck = (Some(Level::Line), Verdict::MaybeStuck, "peers");
    assert_eq!(judged(&[vec![line(1, 7)], peers(9, 9)]), stuck);
    let quiet = (Some(Level::Line), Verdict::Waiting, "quiet");
    assert_eq!(judged(&[vec![line(1, 7)], peers(9, 8)]), quiet);
    let mut with_another = peers(9, 9);
    with_another.push(Record::Birth(Birth {
        coroutine: CoroutineId(3),
        process: ProcessId(1),
        spawn_site: SiteId(9),
        ..Birth::default()
    }));
    let all = [vec![line(1, 7)], with_another];
    assert_ne!(judged(&all).2, "peers");
    assert_eq!(judged(&[vec![line(1, 7)], peers(7, 9)]).2, "no-past");
}
