//! What threads do rather than coroutines.

use ctp_trace::record::{Act, Close, Place, SiteId, ThreadEvent, WaitKind, WakeCall, Waker};

use crate::lab::Lab;
use crate::trace::Trace;

const THREADS: usize = 3;
const CALLS: u32 = 100;

fn line(trace: &Trace, site: SiteId) -> u64 {
    match &trace.sites[&site] {
        Place::Source { file, line, .. } if file.ends_with("thread_events.rs") => u64::from(*line),
        other => panic!("no line of the program: {other:?}"),
    }
}

fn recorded(lab: &Lab, flag: &str) -> (Trace, Vec<u64>) {
    let (threads, calls) = (THREADS.to_string(), CALLS.to_string());
    lab.record(&[flag], "thread_events", &["truth", &threads, &calls]);
    (
        lab.trace(),
        lab.truth("truth")
            .into_iter()
            .map(|words| words[0].parse().expect("a number"))
            .collect(),
    )
}

fn of_thread(trace: &Trace, tid: u64) -> Vec<Act> {
    let thread_events = trace
        .thread_events
        .iter()
        .filter(|thread_event| thread_event.tid == tid);
    thread_events.map(|ThreadEvent { act, .. }| *act).collect()
}

// LT-05, LT-33
#[test]
fn wakes_and_closings_are_in_order_with_their_lines() {
    they_stand_in_their_order("-v");
}

// LT-05
#[test]
fn flight_recorder_has_thread_events() {
    they_stand_in_their_order("--flight-recorder");
}

fn they_stand_in_their_order(flag: &str) {
    let lab = Lab::new();
    let (trace, truth) = recorded(&lab, flag);
    let (tids, lines) = truth.split_at(THREADS);
    let sleeper = trace.named("sleeper").birth.coroutine;
    let mut count = 0;
    for &tid in tids {
        let acts = of_thread(&trace, tid);
        assert_eq!(acts.first(), Some(&Act::Begin));
        assert_eq!(acts.last(), Some(&Act::End));
        let calls = acts[1..acts.len() - 1].chunks(2);
        assert_eq!(calls.len(), CALLS as usize);
        for (pair, number) in calls.zip(0..) {
            count += 1;
            let &[Act::Wake(wake), Act::Close(close)] = pair else {
                panic!("not a wake and a close: {pair:?}");
            };
            let by = Waker::Thread(tid as u32);
            let expected = WakeCall {
                coroutine: sleeper,
                count,
                by,
                site: wake.site,
            };
            assert_eq!(wake, expected);
            let wait = WaitKind::Readable;
            assert_eq!(
                close,
                Close {
                    wait,
                    arg: number,
                    site: close.site
                }
            );
            assert_eq!(
                [line(&trace, wake.site), line(&trace, close.site)],
                lines[..2]
            );
        }
    }
}

// CT-15
#[test]
fn run_and_suspend_carry_the_wake_count_of_the_run() {
    for flag in ["-v", "--flight-recorder"] {
        let (trace, _) = recorded(&Lab::new(), flag);
        let sleeper = trace.named("sleeper");
        let seen: Vec<u16> = sleeper.events.iter().map(|event| event.wake_seen).collect();
        let all = THREADS as u16 * CALLS as u16;
        assert_eq!(
            seen,
            [0, 0, 0, all, all, 0],
            "birth, twice run and suspend, death; {flag}"
        );
    }
}

// LT-05
#[test]
fn wake_by_a_coroutine_has_the_id() {
    let lab = Lab::new();
    let (trace, truth) = recorded(&lab, "-v");
    let other = trace.named("other").birth.coroutine;
    let is_own = |act: &Act| matches!(act, Act::Wake(call) if call.coroutine == other);
    let acts = trace
        .thread_events
        .iter()
        .map(|thread_event| thread_event.act);
    let Some(Act::Wake(call)) = acts.clone().find(is_own) else {
        panic!("it was woken");
    };
    assert_eq!(acts.filter(is_own).count(), 1);
    assert_eq!(
        call.by,
        Waker::Coroutine(trace.named("sleeper").birth.coroutine)
    );
    assert_eq!(Some(&line(&trace, call.site)), truth.last());
}

// LT-33
#[test]
fn thread_ends_returns_the_lane_at_once() {
    let lab = Lab::new();
    let outcome = lab.record(&["-v"], "thread_events", &["truth", "50", "2"]);
    assert!(outcome.stderr.contains("; 2 lanes"), "{}", outcome.stderr);
}
