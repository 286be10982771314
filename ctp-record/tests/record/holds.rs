//! Which coroutines take and release locks.

use ctp_trace::record::{Act, CoroutineId, Hold, Place, SiteId, WaitKind, Waker};

use crate::lab::Lab;
use crate::trace::Trace;

const PROGRAM: &str = include_str!("../../examples/holds.rs");
const ROUNDS: u32 = 1_000;

/// The line of a call in the program, by what stands there.
fn line_of(call: &str) -> u32 {
    let mut lines = (1..).zip(PROGRAM.lines());
    let found = lines.find(|(_, line)| line.trim() == call);
    found.expect("it stands there").0
}

fn line(trace: &Trace, site: SiteId) -> u32 {
    match &trace.sites[&site] {
        Place::Source { file, line, .. } if file.ends_with("holds.rs") => *line,
        other => panic!("no line of the program: {other:?}"),
    }
}

/// In words: taken or released, which lock, by which coroutine, and where.
type Reported = (bool, u64, Waker, u32);

fn reported(trace: &Trace) -> Vec<Reported> {
    let of = |act: &Act| {
        let (taken, hold) = match act {
            Act::Acquire(hold) => (true, hold),
            Act::Release(hold) => (false, hold),
            _ => return None,
        };
        let Hold {
            arg,
            by,
            site,
            wait,
            shared,
            ..
        } = *hold;
        assert_eq!(shared, taken && arg == 8192);
        let expected = if arg == 7 {
            WaitKind::User
        } else {
            WaitKind::Lock
        };
        assert_eq!(wait, expected);
        Some((taken, arg, by, line(trace, site)))
    };
    trace
        .thread_events
        .iter()
        .filter_map(|thread_event| of(&thread_event.act))
        .collect()
}

fn of_round(outer: CoroutineId, inner: CoroutineId) -> [Reported; 4] {
    let (outer, inner) = (Waker::Coroutine(outer), Waker::Coroutine(inner));
    [
        (true, 4096, outer, line_of("ctp::acquired(4096usize);")),
        (
            true,
            8192,
            inner,
            line_of("ctp::acquired_shared(8192usize);"),
        ),
        (false, 8192, inner, line_of("ctp::released(8192usize);")),
        (false, 4096, outer, line_of("ctp::released(4096usize);")),
    ]
}

fn holders_follow_the_station(flag: &str) {
    let lab = Lab::new();
    let rounds = ROUNDS.to_string();
    lab.record(&[flag], "holds", &["truth", &rounds]);
    let trace = lab.trace();
    let id = |name: String| trace.named(&name).birth.coroutine;
    let mut expected: Vec<Reported> = (0..ROUNDS)
        .flat_map(|round| of_round(id(format!("outer-{round}")), id(format!("inner-{round}"))))
        .collect();
    let tid: u32 = lab.truth("truth")[0][0].parse().expect("a number");
    let last = line_of("ctp::acquired(7u64);");
    expected.push((true, 7, Waker::Thread(tid), last));
    assert_eq!(reported(&trace), expected);
}

// CTP-22
#[test]
fn lock_holders_match_the_owner_of_the_station() {
    holders_follow_the_station("-v");
}

// CTP-22
#[test]
fn flight_recorder_keeps_lock_holders() {
    holders_follow_the_station("--flight-recorder");
}
