//! The model of a trace that is being written, and the verdicts so far.

use std::collections::{BTreeMap, HashSet};

use ctp_trace::TraceModel;
use ctp_trace::record::{CoroutineId, Nanos, Record, SiteId, Start};
use ctp_trace::verdict::{Confidence, Judgement, Verdict};

use super::StuckObservation;
use super::places::StuckPlaces;
use crate::harvest::IdleReport;
use crate::memory::clock::processor_time;

/// The stuck coroutines at a site, or the busy coroutines that last left this site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Where the coroutines wait, else where they last waited, else where they were spawned.
    pub site: SiteId,
    /// The site in words.
    pub place: String,
    /// The thread that has been kept for longest, if the coroutines are BUSY instead of stuck.
    pub keeps_tid: Option<u64>,
    /// Coroutines with a certain verdict.
    pub certain: usize,
    /// Coroutines with a likely verdict.
    pub likely: usize,
    /// The longest time that a coroutine has been in this state.
    pub longest: Nanos,
    /// The shortest time that a coroutine has been in this state.
    pub shortest: Nanos,
}

impl Finding {
    /// All coroutines of this finding.
    pub fn count(&self) -> usize {
        self.certain + self.likely
    }

    /// The number of stuck coroutines: 0 for a finding of busy coroutines.
    pub fn stuck(&self) -> usize {
        match self.keeps_tid {
            Some(_) => 0,
            None => self.count(),
        }
    }

    fn add(&mut self, judgement: &Judgement, keeps_tid: Option<u64>) {
        if self.longest <= judgement.age {
            self.keeps_tid = keeps_tid;
        }
        self.shortest = match self.count() {
            0 => judgement.age,
            _ => self.shortest.min(judgement.age),
        };
        match judgement.confidence {
            Confidence::Certain => self.certain += 1,
            _ => self.likely += 1,
        }
        self.longest = self.longest.max(judgement.age);
    }
}

/// Takes in the records of a trace and judges the coroutines.
#[derive(Debug)]
pub struct Watch {
    trace_model: TraceModel,
    places: StuckPlaces,
    thresholds: Vec<Nanos>,
}

impl Watch {
    /// Creates a watch of a trace that begins with this record.
    pub fn new(start: &Start, thresholds: Vec<Nanos>) -> Self {
        let mut watch = Watch {
            trace_model: TraceModel::new(),
            places: StuckPlaces::default(),
            thresholds,
        };
        watch.take(&Record::Start(start.clone()));
        watch
    }

    /// Takes in the next record.
    pub fn take(&mut self, record: &Record) {
        self.places.note(record);
        self.trace_model.consume(record);
    }

    /// Judges the coroutines. All records until `at` must have been taken in; `no_progress` adds what is
    /// known about coroutines without recent records.
    pub fn judge(&mut self, at: Nanos, no_progress: IdleReport) -> StuckObservation {
        let begin = processor_time();
        for account in &no_progress.accounts {
            self.trace_model.consume(account);
        }
        self.trace_model.advance_to(at);
        let moving: HashSet<CoroutineId> = no_progress.moving.into_iter().collect();
        let thresholds = self.thresholds.iter();
        let findings = thresholds
            .map(|threshold| self.findings(*threshold, &moving))
            .collect();
        let cost = processor_time().saturating_sub(begin);
        StuckObservation { at, findings, cost }
    }

    /// The findings by site, without coroutines that have moved on.
    fn findings(&self, threshold: Nanos, moving: &HashSet<CoroutineId>) -> Vec<Finding> {
        let mut sites: BTreeMap<(SiteId, bool), Finding> = BTreeMap::new();
        for (id, judgement) in self.trace_model.judge(threshold) {
            let keeps_tid = self.keeps_tid(id, &judgement);
            let is_reported = judgement.verdict.is_stuck() || keeps_tid.is_some();
            if is_reported && !moving.contains(&id) {
                let key = (self.site_of(id), keeps_tid.is_some());
                sites.entry(key).or_default().add(&judgement, keeps_tid);
            }
        }
        sites
            .into_iter()
            .map(|((site, _), finding)| Finding {
                site,
                place: self.places.text(site),
                ..finding
            })
            .collect()
    }

    /// The thread that this coroutine keeps, if the coroutine is BUSY.
    fn keeps_tid(&self, id: CoroutineId, judgement: &Judgement) -> Option<u64> {
        let last = self.trace_model.get(id)?.last?;
        (judgement.verdict == Verdict::Busy).then_some(last.tid)
    }

    fn site_of(&self, id: CoroutineId) -> SiteId {
        let coroutine = self.trace_model.get(id);
        coroutine.map_or(SiteId(0), |coroutine| self.trace_model.place_of(coroutine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::{Act, Birth, Event, EventKind, ThreadEvent};
    use ctp_trace::verdict::{Fact, Reason};

    const READ: SiteId = SiteId(7);
    const SECOND: u64 = 1_000_000_000;

    fn event(n: u64, kind: EventKind, site: SiteId) -> Record {
        Record::Event(Event {
            n,
            at: Nanos(n),
            tid: 9,
            kind,
            site,
            ..Event::default()
        })
    }

    // CT-26
    #[test]
    fn a_coroutine_of_an_ended_thread_is_at_the_last_wait() {
        let spawn_site = SiteId(3);
        let birth = Record::Birth(Birth {
            spawn_site,
            ..Birth::default()
        });
        let ends = Record::ThreadEvent(ThreadEvent {
            at: Nanos(3),
            tid: 9,
            act: Act::End,
            ..ThreadEvent::default()
        });
        let mut watch = Watch::new(&Start::default(), vec![Nanos(SECOND)]);
        watch.take(&birth);
        watch.take(&event(0, EventKind::Run, SiteId(0)));
        watch.take(&event(1, EventKind::Suspend, READ));
        watch.take(&event(2, EventKind::Run, SiteId(0)));
        watch.take(&ends);
        let stuck_observation = watch.judge(Nanos(5 * SECOND), IdleReport::default());
        let sites: Vec<SiteId> = stuck_observation.findings[0]
            .iter()
            .map(|finding| finding.site)
            .collect();
        assert_eq!(sites, [READ]);
    }

    // CT-26
    #[test]
    fn deadlocked_coroutines_count_as_certain() {
        let mut finding = Finding::default();
        for verdict in [Verdict::Deadlock, Verdict::Stuck, Verdict::MaybeStuck] {
            finding.add(
                &Judgement {
                    fact: Fact::NotWoken,
                    verdict,
                    confidence: verdict.confidence(),
                    reason: Reason::Over,
                    age: Nanos(1),
                    close_call: false,
                },
                None,
            );
        }
        assert_eq!((finding.certain, finding.likely), (2, 1));
    }

    // CT-26
    #[test]
    fn a_busy_coroutine_is_found_but_is_not_stuck() {
        let mut watch = Watch::new(&Start::default(), vec![Nanos(SECOND)]);
        watch.take(&Record::Birth(Birth::default()));
        watch.take(&event(0, EventKind::Run, SiteId(0)));
        watch.take(&event(1, EventKind::Suspend, READ));
        watch.take(&event(2, EventKind::Run, SiteId(0)));
        let stuck_observation = watch.judge(Nanos(5 * SECOND), IdleReport::default());
        let [found] = &stuck_observation.findings[0][..] else {
            panic!("a single site: {stuck_observation:?}");
        };
        assert_eq!((found.site, found.keeps_tid), (READ, Some(9)));
        assert_eq!((found.certain, found.stuck()), (1, 0));
    }
}
