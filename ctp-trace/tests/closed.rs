//! Random histories of a program that closes resources, resumes some of the coroutines that wait for
//! them and forgets others. The program knows which coroutines it forgot; the trace model sees only
//! the records. Times are in microseconds.

#[expect(dead_code, reason = "other tests use the other functions")]
mod facts;

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use facts::trace_model;
use proptest::prelude::*;

const MS: u64 = 1000;
const SECOND: u64 = 1000 * MS;
const COROUTINES: u32 = 6;
const NUMBERS: u64 = 3;
/// A close that resumes its waiters does so within this time.
const LATE: u64 = 400 * MS;
const THRESHOLD: Nanos = Nanos(1_000_000_000);

/// What happens next, unless the state of the program rules it out.
#[derive(Clone, Debug)]
enum Step {
    Wait {
        task_id: u32,
        number: u64,
    },
    Wake {
        task_id: u32,
        queued: u64,
        twice: bool,
    },
    CloseAndResume {
        number: u64,
        after: u64,
    },
    CloseAndForget {
        number: u64,
    },
    Lose,
}

fn any_step() -> impl Strategy<Value = Step> {
    let (task_id, number) = (|| 1..=COROUTINES, || 0..NUMBERS);
    prop_oneof![
        8 => (task_id(), number()).prop_map(|(task_id, number)| Step::Wait { task_id, number }),
        6 => (task_id(), 0..3 * MS, prop::bool::weighted(0.2))
            .prop_map(|(task_id, queued, twice)| Step::Wake { task_id, queued, twice }),
        2 => (number(), 0..LATE).prop_map(|(number, after)| Step::CloseAndResume { number, after }),
        2 => number().prop_map(|number| Step::CloseAndForget { number }),
        1 => Just(Step::Lose),
    ]
}

/// A coroutine as the program knows it.
#[derive(Clone, Debug, Default)]
struct CoroutineState {
    events: u64,
    wakes: u32,
    seen: u32,
    /// Two wakes came just before the last run, so the second may still be pending.
    doubtful: bool,
    waits: Option<(u64, u64)>,
    /// When the awaited resource was closed, and when the coroutine is to be resumed, if ever.
    lost: Option<(u64, Option<u64>)>,
    busy_until: u64,
}

#[derive(Default)]
struct Program {
    records: BTreeMap<(u64, usize), Record>,
    all: BTreeMap<u32, CoroutineState>,
    lost_at: Option<u64>,
}

impl Program {
    fn emit(&mut self, at: u64, record: Record) {
        self.records.insert((at, self.records.len()), record);
    }

    fn event(&mut self, task_id: u32, at: u64, kind: EventKind, number: u64) {
        let state = self.all.entry(task_id).or_default();
        if kind == EventKind::Run {
            state.seen = state.wakes;
        }
        let event = Event {
            coroutine: CoroutineId(task_id),
            n: state.events,
            at: Nanos(at * 1000),
            kind,
            site: SiteId(number as u32 + 1),
            wait: WaitKind::Readable,
            arg: number,
            wake_seen: state.seen as u16,
            ..Event::default()
        };
        state.events += 1;
        self.emit(at, Record::Event(event));
    }

    fn thread_event(&mut self, at: u64, act: Act) {
        let at_ns = Nanos(at * 1000);
        self.emit(
            at,
            Record::ThreadEvent(ThreadEvent {
                at: at_ns,
                act,
                ..ThreadEvent::default()
            }),
        );
    }

    /// Wakes the coroutine and runs it `queued` later.
    fn resume(&mut self, task_id: u32, at: u64, queued: u64, times: u32) {
        let state = self.all.entry(task_id).or_default();
        state.wakes += times;
        state.doubtful = times > 1 && queued <= MS;
        (state.waits, state.lost) = (None, None);
        state.busy_until = at + queued;
        let wake = Wake {
            coroutine: CoroutineId(task_id),
            count: state.wakes,
            at: Nanos(at * 1000),
            ..Wake::default()
        };
        self.emit(at, Record::Wake(wake));
        self.event(task_id, at + queued, EventKind::Run, 0);
    }

    fn close(&mut self, at: u64, number: u64, site: u32, resumed: Option<u64>) {
        let close = Close {
            wait: WaitKind::Readable,
            arg: number,
            site: SiteId(site),
        };
        self.thread_event(at, Act::Close(close));
        for state in self.all.values_mut() {
            if state.lost.is_none() && state.waits.is_some_and(|(waits, _)| waits == number) {
                state.lost = Some((at, resumed));
            }
        }
    }

    /// Resumes each coroutine for which the resume time has come.
    fn resume_those_due(&mut self, now: u64) {
        let due = |state: &CoroutineState| state.lost.and_then(|(_, at)| at).filter(|at| *at < now);
        let all: Vec<_> = self
            .all
            .iter()
            .filter_map(|(task_id, state)| Some((*task_id, due(state)?)))
            .collect();
        for (task_id, at) in all {
            self.resume(task_id, at, 0, 1);
        }
    }

    fn step(&mut self, now: u64, step: &Step) {
        let state_of = |task_id: &u32| self.all.get(task_id).cloned().unwrap_or_default();
        match step {
            Step::Wait { task_id, number }
                if state_of(task_id).waits.is_none() && state_of(task_id).busy_until < now =>
            {
                self.event(*task_id, now, EventKind::Suspend, *number);
                self.all.entry(*task_id).or_default().waits = Some((*number, now));
            }
            Step::Wake {
                task_id,
                queued,
                twice,
            } if state_of(task_id).waits.is_some() && state_of(task_id).lost.is_none() => {
                self.resume(*task_id, now, *queued, 1 + u32::from(*twice));
            }
            Step::CloseAndResume { number, after } => {
                self.close(now, *number, 10, Some(now + after));
            }
            Step::CloseAndForget { number } => self.close(now, *number, 11, None),
            Step::Lose => {
                self.thread_event(now, Act::Loss(1));
                self.lost_at = Some(now);
            }
            _ => {}
        }
    }

    /// The forgotten coroutines that must be judged certainly stuck: nothing is lost or doubtful,
    /// and the close was at least a second ago.
    fn forgotten(&self, end: u64) -> BTreeSet<u32> {
        let is_plain = |state: &CoroutineState| {
            let (Some((_, since)), Some((closed, None))) = (state.waits, state.lost) else {
                return false;
            };
            let is_whole = self.lost_at.is_none_or(|lost| lost < since);
            is_whole && !state.doubtful && SECOND <= end - closed
        };
        self.all
            .iter()
            .filter(|(_, state)| is_plain(state))
            .map(|(task_id, _)| *task_id)
            .collect()
    }

    fn finish(&mut self, end: u64) -> Vec<Record> {
        let mut records: Vec<Record> = self.records.values().cloned().collect();
        for (task_id, state) in &self.all {
            records.push(facts::event_counts(*task_id, state.events, state.events));
        }
        records.push(facts::end(end * 1000));
        records
    }
}

fn run(steps: &[(u64, Step)], rest: u64) -> (Program, u64) {
    let (mut program, mut now) = (Program::default(), MS);
    for task_id in 1..=COROUTINES {
        let wake = Wake {
            coroutine: CoroutineId(task_id),
            ..Wake::default()
        };
        program.emit(0, Record::Wake(wake));
    }
    for (pause, step) in steps {
        now += pause;
        program.resume_those_due(now);
        program.step(now, step);
    }
    let end = now + rest;
    program.resume_those_due(end);
    (program, end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // CT-15
    #[test]
    fn exactly_the_forgotten_coroutines_are_certainly_stuck(
        steps in prop::collection::vec((1..50 * MS, any_step()), 1..80),
        rest in 1u64..3 * SECOND,
    ) {
        let (mut program, end) = run(&steps, rest);
        let forgotten = program.forgotten(end);
        let judged = trace_model(&program.finish(end)).judge(THRESHOLD);
        let certain = judged.iter().filter(|(_, judgement)| judgement.verdict == Verdict::Stuck);
        let certain: BTreeSet<u32> = certain.map(|(id, _)| id.0).collect();
        prop_assert_eq!(certain, forgotten, "{:?}", judged);
    }
}
