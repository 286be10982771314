//! [`Watch`]: judges the coroutines of a trace that is being written, and counts the stuck and busy coroutines by site.

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
pub struct StuckSite {
    /// Where the coroutines wait, else where they last waited, else where they were spawned.
    pub site: SiteId,
    /// The site in words.
    pub place: String,
    /// The thread that a coroutine has kept for longest, if the coroutines are BUSY instead of stuck.
    pub kept_tid: Option<u64>,
    /// The number of coroutines with a certain verdict.
    pub certain: usize,
    /// The number of coroutines with a likely verdict.
    pub likely: usize,
    /// The longest time that a coroutine has been in this state.
    pub longest: Nanos,
    /// The shortest time that a coroutine has been in this state.
    pub shortest: Nanos,
}

impl StuckSite {
    /// The number of coroutines of this finding.
    pub fn count(&self) -> usize {
        self.certain + self.likely
    }

    /// The number of stuck coroutines: 0 for a finding of busy coroutines.
    pub fn stuck(&self) -> usize {
        match self.kept_tid {
            Some(_) => 0,
            None => self.count(),
        }
    }

    fn add(&mut self, judgement: &Judgement, kept_tid: Option<u64>) {
        if self.longest <= judgement.age {
            self.kept_tid = kept_tid;
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

/// Consumes the records of a trace and judges its coroutines.
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

    /// Consumes the next record.
    pub fn take(&mut self, record: &Record) {
        self.places.note(record);
        self.trace_model.consume(record);
    }

    /// Judges the coroutines. All records until `at` must have been consumed; `idle_report` adds what is
    /// known about coroutines without recent records.
    pub fn judge(&mut self, at: Nanos, idle_report: IdleReport) -> StuckObservation {
        let begin = processor_time();
        for record in &idle_report.records {
            self.trace_model.consume(record);
        }
        self.trace_model.advance_to(at);
        let unread: HashSet<CoroutineId> = idle_report.with_unread_events.into_iter().collect();
        let thresholds = self.thresholds.iter();
        let findings = thresholds
            .map(|threshold| self.findings(*threshold, &unread))
            .collect();
        let cost = processor_time().saturating_sub(begin);
        StuckObservation { at, findings, cost }
    }

    /// The findings by site, without coroutines that have unread events.
    fn findings(&self, threshold: Nanos, unread: &HashSet<CoroutineId>) -> Vec<StuckSite> {
        let mut sites: BTreeMap<(SiteId, bool), StuckSite> = BTreeMap::new();
        for (id, judgement) in self.trace_model.judge(threshold) {
            let kept_tid = self.kept_tid(id, &judgement);
            let is_reported = judgement.verdict.is_stuck() || kept_tid.is_some();
            if is_reported && !unread.contains(&id) {
                let key = (self.site_of(id), kept_tid.is_some());
                sites.entry(key).or_default().add(&judgement, kept_tid);
            }
        }
        sites
            .into_iter()
            .map(|((site, _), finding)| StuckSite {
                site,
                place: self.places.text(site),
                ..finding
            })
            .collect()
    }

    /// The thread that this coroutine keeps, if the coroutine is BUSY.
    fn kept_tid(&self, id: CoroutineId, judgement: &Judgement) -> Option<u64> {
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
        let mut finding = StuckSite::default();
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
        assert_eq!((found.site, found.kept_tid), (READ, Some(9)));
        assert_eq!((found.certain, found.stuck()), (1, 0));
    }
}
