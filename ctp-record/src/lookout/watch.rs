//! The account of a trace that is being written, and what the rule says of it so far.

use std::collections::{BTreeMap, HashSet};

use ctp_trace::Census;
use ctp_trace::record::{CoroutineId, Nanos, Record, SiteId, Start};
use ctp_trace::verdict::{Confidence, Judgement};

use super::Sighting;
use super::places::Places;
use crate::clock::processor_time;
use crate::harvest::Standstill;

/// A site where somebody is stuck.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Where they wait, else where they waited last, else where they were spawned.
    pub site: SiteId,
    /// The same in words.
    pub place: String,
    /// How many are stuck for certain.
    pub certain: usize,
    /// How many more most likely are.
    pub likely: usize,
    /// The longest that one of them has been so.
    pub longest: Nanos,
    /// The shortest.
    pub shortest: Nanos,
}

impl Finding {
    /// All of them.
    pub fn stuck(&self) -> usize {
        self.certain + self.likely
    }

    fn add(&mut self, judgement: &Judgement) {
        self.shortest = match self.stuck() {
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

/// Takes in the records of a trace, and looks at what came of them.
#[derive(Debug)]
pub struct Watch {
    census: Census,
    places: Places,
    thresholds: Vec<Nanos>,
}

impl Watch {
    /// Of a trace that begins so.
    pub fn new(start: &Start, thresholds: Vec<Nanos>) -> Self {
        let mut watch = Watch {
            census: Census::new(),
            places: Places::default(),
            thresholds,
        };
        watch.take(&Record::Start(start.clone()));
        watch
    }

    /// Takes in one more.
    pub fn take(&mut self, record: &Record) {
        self.places.note(record);
        self.census.feed(record);
    }

    /// All that happened until `at` was taken in; of those that stand still this is told besides.
    pub fn look(&mut self, at: Nanos, standstill: Standstill) -> Sighting {
        let begin = processor_time();
        for account in &standstill.accounts {
            self.census.feed(account);
        }
        self.census.advance_to(at);
        let moving: HashSet<CoroutineId> = standstill.moving.into_iter().collect();
        let thresholds = self.thresholds.iter();
        let findings = thresholds
            .map(|threshold| self.findings(*threshold, &moving))
            .collect();
        let cost = processor_time().saturating_sub(begin);
        Sighting { at, findings, cost }
    }

    /// By site, without those that have gone on.
    fn findings(&self, threshold: Nanos, moving: &HashSet<CoroutineId>) -> Vec<Finding> {
        let mut sites: BTreeMap<SiteId, Finding> = BTreeMap::new();
        for (id, judgement) in self.census.judge(threshold) {
            if judgement.verdict.is_stuck() && !moving.contains(&id) {
                sites.entry(self.site_of(id)).or_default().add(&judgement);
            }
        }
        let described = |(site, finding)| Finding {
            site,
            place: self.places.text(site),
            ..finding
        };
        sites.into_iter().map(described).collect()
    }

    fn site_of(&self, id: CoroutineId) -> SiteId {
        let one = self.census.get(id);
        one.map_or(SiteId(0), |one| self.census.place_of(one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::{Act, Birth, Deed, Event, EventKind};
    use ctp_trace::verdict::{Fact, Reason, Verdict};

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
    fn one_that_ran_on_a_thread_that_ended_is_where_it_waited_last() {
        let spawn_site = SiteId(3);
        let birth = Record::Birth(Birth {
            spawn_site,
            ..Birth::default()
        });
        let ends = Record::Deed(Deed {
            at: Nanos(3),
            tid: 9,
            act: Act::End,
            ..Deed::default()
        });
        let mut watch = Watch::new(&Start::default(), vec![Nanos(SECOND)]);
        watch.take(&birth);
        watch.take(&event(0, EventKind::Run, SiteId(0)));
        watch.take(&event(1, EventKind::Suspend, READ));
        watch.take(&event(2, EventKind::Run, SiteId(0)));
        watch.take(&ends);
        let sighting = watch.look(Nanos(5 * SECOND), Standstill::default());
        let sites: Vec<SiteId> = sighting.findings[0].iter().map(|it| it.site).collect();
        assert_eq!(sites, [READ]);
    }

    // CT-26
    #[test]
    fn those_in_a_deadlock_are_stuck_for_certain() {
        let mut finding = Finding::default();
        for verdict in [Verdict::Deadlock, Verdict::Stuck, Verdict::MaybeStuck] {
            finding.add(&Judgement {
                fact: Fact::NotWoken,
                verdict,
                confidence: verdict.confidence(),
                reason: Reason::Over,
                age: Nanos(1),
                close_call: false,
            });
        }
        assert_eq!((finding.certain, finding.likely), (2, 1));
    }
}
