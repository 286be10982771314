//! What led to each run: the wake before it, the run that called this wake, and so on.
//!
//! A single pass over the trace keeps the chain to the latest run of each live coroutine. Chains are
//! linked lists that share their older parts, and are cut before they grow long.

use std::collections::HashMap;
use std::rc::Rc;

use ctp_trace::TraceModel;
use ctp_trace::model::ThreadOccupancy;
use ctp_trace::record::{
    Act, Birth, CoroutineId, Event, EventKind, Nanos, Record, SiteId, ThreadEvent, Wake, WakeCall,
    Waker,
};

/// The minimum number of runs that a cut chain keeps.
pub const KEPT: usize = 16;

/// The coroutine of a run.
#[derive(Clone, Debug, Default)]
pub struct RunCoroutine {
    /// The coroutine's id.
    pub id: CoroutineId,
    /// The coroutine's name as recorded.
    pub name: String,
    /// Where the coroutine was spawned.
    pub spawn_site: SiteId,
}

/// A run of a coroutine, and what led to it.
#[derive(Clone, Debug)]
pub struct CausedRun {
    /// The coroutine that ran.
    pub subject: Rc<RunCoroutine>,
    /// When the run began.
    pub began: Nanos,
    /// The wait that the run ended, if no event is missing in between.
    pub wait: Option<Event>,
    /// What made the coroutine ready, if recorded.
    pub cause: Option<Cause>,
    /// How many runs precede this run in the list.
    depth: usize,
}

/// What made a coroutine ready.
#[derive(Clone, Debug)]
pub struct Cause {
    /// When the wake or spawn happened.
    pub at: Nanos,
    /// The coroutine or thread that called the wake or spawn.
    pub by: Waker,
    /// The place of the call.
    pub site: SiteId,
    /// Whether this is a spawn rather than a wake.
    pub is_birth: bool,
    /// The run that called the wake or spawn. `None` if no coroutine called, or if the run is no
    /// longer kept.
    pub run: Option<Rc<CausedRun>>,
}

/// The chain of a coroutine.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The coroutine.
    pub subject: Rc<RunCoroutine>,
    /// The latest run.
    pub run: Option<Rc<CausedRun>>,
    /// The first wake since the latest run began.
    pub cause: Option<Cause>,
    /// The latest event.
    pub last: Option<Event>,
}

/// The chains of all live coroutines.
#[derive(Debug, Default)]
pub struct Causes {
    heads: HashMap<CoroutineId, Head>,
}

impl Causes {
    /// Returns the chain of a live coroutine.
    pub fn of(&self, id: CoroutineId) -> Option<&Head> {
        self.heads.get(&id)
    }

    /// Takes a record into account. `trace_model` has not seen this record yet.
    pub fn see(&mut self, trace_model: &TraceModel, record: &Record) {
        match record {
            Record::Birth(birth) => self.birth(birth),
            Record::Event(event) => self.event(trace_model, event),
            Record::Wake(wake) => self.wake(wake),
            Record::ThreadEvent(ThreadEvent {
                at,
                act: Act::Wake(call),
                ..
            }) => self.called(*at, call),
            _ => {}
        }
    }

    fn birth(&mut self, birth: &Birth) {
        let subject = RunCoroutine {
            id: birth.coroutine,
            name: birth.name.clone(),
            spawn_site: birth.spawn_site,
        };
        self.heads.entry(birth.coroutine).or_default().subject = Rc::new(subject);
    }

    fn event(&mut self, trace_model: &TraceModel, event: &Event) {
        let id = event.coroutine;
        match event.kind {
            EventKind::Birth => self.spawned(trace_model, event),
            EventKind::Run => self.heads.entry(id).or_default().begin(event),
            EventKind::Suspend | EventKind::Death => {}
        }
        if event.kind == EventKind::Death {
            self.heads.remove(&id);
        } else {
            self.heads.entry(id).or_default().last = Some(*event);
        }
    }

    fn spawned(&mut self, trace_model: &TraceModel, event: &Event) {
        let by = match trace_model.runs_there(event) {
            ThreadOccupancy::Coroutine(parent) => Waker::Coroutine(parent.id),
            ThreadOccupancy::Empty => Waker::Thread(event.tid as u32),
            ThreadOccupancy::NotRecorded => Waker::Foreign,
        };
        let head = self.heads.entry(event.coroutine).or_default();
        let site = head.subject.spawn_site;
        self.ready(event.coroutine, event.at, by, site, true);
    }

    /// Takes the latest wake of a station, for runtimes whose threads do not record wake calls.
    fn wake(&mut self, wake: &Wake) {
        if wake.count > 0 {
            self.ready(wake.coroutine, wake.at, wake.waker, SiteId(0), false);
        }
    }

    fn called(&mut self, at: Nanos, call: &WakeCall) {
        self.ready(call.coroutine, at, call.by, call.site, false);
    }

    /// Keeps the first wake since the coroutine's latest run began. Ignores a wake that came before
    /// the run and was recorded late.
    fn ready(&mut self, id: CoroutineId, at: Nanos, by: Waker, site: SiteId, is_birth: bool) {
        let run = match by {
            Waker::Coroutine(waker) => self.heads.get(&waker).and_then(|head| head.run.clone()),
            _ => None,
        };
        let Some(head) = self.heads.get_mut(&id) else {
            return;
        };
        let is_late = head.run.as_ref().is_some_and(|run| at <= run.began);
        if head.cause.is_none() && !is_late {
            head.cause = Some(Cause {
                at,
                by,
                site,
                is_birth,
                run: run.filter(|run| run.began <= at),
            });
        }
    }
}

impl Head {
    fn begin(&mut self, event: &Event) {
        let wait = self
            .last
            .filter(|last| last.kind == EventKind::Suspend && event.follows(last));
        let cause = self.cause.take().filter(|cause| cause.at <= event.at);
        let before = cause.as_ref().and_then(|cause| cause.run.as_ref());
        let run = Rc::new(CausedRun {
            subject: Rc::clone(&self.subject),
            began: event.at,
            wait,
            depth: before.map_or(0, |run| run.depth + 1),
            cause,
        });
        self.run = Some(if run.depth < 2 * KEPT {
            run
        } else {
            cut(&run, KEPT)
        });
    }
}

/// Copies a run with at most `keep` runs before it.
fn cut(run: &Rc<CausedRun>, keep: usize) -> Rc<CausedRun> {
    let mut short = CausedRun::clone(run);
    short.depth = 0;
    if let Some(cause) = &mut short.cause {
        cause.run = cause
            .run
            .as_ref()
            .filter(|_| keep > 0)
            .map(|before| cut(before, keep - 1));
        short.depth = cause.run.as_ref().map_or(0, |before| before.depth + 1);
    }
    Rc::new(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: u32, n: u64, at: u64, kind: EventKind) -> Record {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            n,
            at: Nanos(at),
            kind,
            tid: id.into(),
            ..Event::default()
        })
    }

    fn wake(id: u32, by: u32, at: u64) -> Record {
        let call = WakeCall {
            coroutine: CoroutineId(id),
            by: Waker::Coroutine(CoroutineId(by)),
            ..WakeCall::default()
        };
        Record::ThreadEvent(ThreadEvent {
            at: Nanos(at),
            act: Act::Wake(call),
            ..ThreadEvent::default()
        })
    }

    /// Two coroutines wake each other again and again.
    #[test]
    fn long_wake_chains_keep_the_latest_runs() {
        let mut causes = Causes::default();
        let (mut at, mut longest) = (0, 0);
        for round in 0..100_000 {
            for (id, other) in [(1, 2), (2, 1)] {
                causes.see(
                    &TraceModel::new(),
                    &event(id, 2 * round, at, EventKind::Run),
                );
                causes.see(&TraceModel::new(), &wake(other, id, at + 1));
                causes.see(
                    &TraceModel::new(),
                    &event(id, 2 * round + 1, at + 2, EventKind::Suspend),
                );
                at += 10;
                let run = causes.of(CoroutineId(id)).and_then(|head| head.run.clone());
                longest = longest.max(run.map_or(0, |run| run.depth));
            }
        }
        assert!((KEPT..2 * KEPT).contains(&longest), "{longest}");
        let last = causes.of(CoroutineId(2)).unwrap().run.clone().unwrap();
        let cause = last.cause.as_ref().unwrap();
        assert_eq!((last.began.0, cause.at.0), (at - 10, at - 19));
        assert_eq!(cause.run.as_ref().unwrap().began.0, at - 20);
    }

    #[test]
    fn first_wake_since_a_run_is_the_cause_of_the_next_run() {
        let mut causes = Causes::default();
        causes.see(&TraceModel::new(), &event(1, 0, 10, EventKind::Run));
        for at in [5, 20, 30] {
            causes.see(&TraceModel::new(), &wake(1, 2, at));
        }
        causes.see(&TraceModel::new(), &event(1, 1, 40, EventKind::Suspend));
        causes.see(&TraceModel::new(), &event(1, 2, 50, EventKind::Run));
        causes.see(&TraceModel::new(), &wake(1, 2, 45));
        let head = causes.of(CoroutineId(1)).unwrap();
        assert!(head.cause.is_none());
        let run = head.run.as_ref().unwrap();
        assert_eq!(run.cause.as_ref().unwrap().at, Nanos(20));
        assert_eq!(run.wait.unwrap().at, Nanos(40));
    }
}
