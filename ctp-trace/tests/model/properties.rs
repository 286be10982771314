//! Properties of any stream of records.

use std::collections::{BTreeMap, HashMap};

use ctp_trace::TraceModel;
use ctp_trace::record::EventKind::{Birth as Born, Death, Run, Suspend};
use ctp_trace::record::*;
use proptest::prelude::*;

use super::{SECOND, birth, wake};
use crate::facts::{end, event, event_counts, trace_model};

fn any_record() -> impl Strategy<Value = Record> {
    let (id, n, at) = (1u32..6, 0u64..12, any::<u64>());
    let kind = prop::sample::select(vec![Born, Run, Suspend, Death]);
    prop_oneof![
        (1u32..6).prop_map(birth),
        (id.clone(), n, at, kind).prop_map(|(id, n, at, kind)| event(id, n, at, kind)),
        (id.clone(), any::<u32>(), at).prop_map(|(id, count, at)| wake(id, count, at)),
        (id, any::<u64>(), any::<u64>()).prop_map(|(id, a, r)| event_counts(id, a, r)),
        any::<u64>().prop_map(end),
    ]
}

proptest! {
    #[test]
    fn no_stream_of_records_panics(records in prop::collection::vec(any_record(), 0..80)) {
        let mut trace_model = trace_model(&records);
        trace_model.note_damage();
        prop_assert!(trace_model.judge(SECOND).len() <= records.len());
        trace_model.sites();
        trace_model.lost();
    }

    /// Compares the trace model with a plain model that visits every coroutine at each change.
    #[test]
    fn uncertain_and_ended_coroutines_match_a_plain_model(steps in prop::collection::vec(any_step(), 0..150)) {
        let (mut trace_model, mut plain) = (TraceModel::new(), Plain::default());
        for step in steps {
            step.emit(&mut trace_model, &plain);
            plain.apply(step);
            let known = trace_model.coroutines();
            let uncertain = known.iter().map(|coroutine| (coroutine.id.0, coroutine.account.uncertain));
            let expected = plain.all.iter().map(|(id, state)| (*id, state.uncertain));
            prop_assert!(uncertain.eq(expected), "{step:?}: {plain:?}");
        }
    }

    /// Without a loss, the spans cover the life of each coroutine, and the sums are those of the spans.
    #[test]
    fn spans_are_complete(steps in prop::collection::vec((1u32..4, 1u64..1000), 1..100)) {
        let mut trace_model = trace_model(&[birth(1), birth(2), birth(3)]);
        let (mut clock, mut spans, mut counts) = (0, 0, HashMap::new());
        for (id, length) in steps {
            clock += length;
            let n = counts.entry(id).or_insert((0u64, clock));
            let kind = if n.0 % 2 == 0 { Run } else { Suspend };
            if let Some(span) = trace_model.consume(&event(id, n.0, clock, kind)) {
                prop_assert_eq!(span.from, Nanos(n.1));
                spans += span.length().0;
            }
            *n = (n.0 + 1, clock);
        }
        let all = trace_model.coroutines();
        prop_assert_eq!(all.iter().map(|coroutine| coroutine.waits.waited.sum.0 + coroutine.waits.ran.sum.0).sum::<u64>(), spans);
        prop_assert_eq!(trace_model.lost(), 0);
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Birth(u32, u32),
    Event(u32, EventKind),
    EventCounts(u32),
    Control(bool),
    Damage,
    Exec(u32),
}

fn any_step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![Born, Run, Suspend, Death]);
    prop_oneof![
        (1u32..9, 1u32..4).prop_map(|(id, process)| Step::Birth(id, process)),
        (1u32..9, kind).prop_map(|(id, kind)| Step::Event(id, kind)),
        (1u32..9).prop_map(Step::EventCounts),
        any::<bool>().prop_map(Step::Control),
        Just(Step::Damage),
        (0u32..4).prop_map(Step::Exec),
    ]
}

impl Step {
    fn emit(self, trace_model: &mut TraceModel, plain: &Plain) {
        let record = match self {
            Step::Birth(id, process) => Record::Birth(Birth {
                coroutine: CoroutineId(id),
                process: ProcessId(process),
                ..Birth::default()
            }),
            Step::Event(id, kind) => {
                let n = plain.all.get(&id).map_or(0, |state| state.events);
                event(id, n, 0, kind)
            }
            Step::EventCounts(id) => event_counts(id, 0, 0),
            Step::Control(stopped) => Record::Control(Control {
                stopped,
                ..Control::default()
            }),
            Step::Damage => return trace_model.note_damage(),
            Step::Exec(process) => Record::ProcessEnd(ProcessEnd {
                process: ProcessId(process),
                how: ProcessExit::Exec,
                ..ProcessEnd::default()
            }),
        };
        trace_model.consume(&record);
    }
}

/// What decides whether a coroutine is uncertain or removed.
#[derive(Debug, Default)]
struct CoroutineState {
    process: u32,
    events: u64,
    is_over: bool,
    is_recorded: bool,
    uncertain: bool,
}

#[derive(Debug, Default)]
struct Plain {
    all: BTreeMap<u32, CoroutineState>,
    stopped: bool,
}

impl Plain {
    fn apply(&mut self, step: Step) {
        match step {
            Step::Birth(id, process) => self.of(id).process = process,
            Step::Event(id, kind) => {
                let stopped = self.stopped;
                let state = self.of(id);
                state.events += 1;
                (state.is_over, state.uncertain) = (kind == Death, stopped);
            }
            Step::EventCounts(id) => {
                let state = self.of(id);
                (state.is_recorded, state.uncertain) = (true, false);
                self.all.retain(|of, state| *of != id || !state.is_over);
            }
            Step::Control(stopped) => {
                self.stopped = stopped;
                self.mark_uncertain(stopped);
            }
            Step::Damage => self.mark_uncertain(true),
            Step::Exec(process) => self.all.retain(|_, state| state.process != process),
        }
    }

    fn of(&mut self, id: u32) -> &mut CoroutineState {
        self.all.entry(id).or_default()
    }

    fn mark_uncertain(&mut self, is_in_force: bool) {
        for state in self.all.values_mut().filter(|_| is_in_force) {
            state.uncertain = !state.is_recorded;
        }
    }
}
