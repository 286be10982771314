//! What coroutines come to that ended before the window of a snapshot: sums by process, name and
//! place, however many they were.

use std::collections::BTreeMap;

use ctp_trace::record::{Former, ProcessId, SiteId};

use super::chronicle::KnownCoroutine;

/// The sums.
#[derive(Clone, Debug, Default)]
pub struct EndedCoroutines(BTreeMap<(ProcessId, String, SiteId), Former>);

impl EndedCoroutines {
    /// One more. Without totals of its own, only its events are counted.
    pub fn add(&mut self, known: &KnownCoroutine) {
        let KnownCoroutine { occupant, birth } = known;
        let key = (birth.process, birth.name.clone(), birth.spawn_site);
        let sums = self.0.entry(key).or_insert_with(|| Former {
            process: birth.process,
            name: birth.name.clone(),
            spawn_site: birth.spawn_site,
            ..Former::default()
        });
        let had = occupant.end_n.wrapping_sub(occupant.base_n);
        sums.coroutines += 1;
        // The death of a v1 coroutine is a mark in its station, and counts as an event that is there.
        let with_death = had.saturating_add((occupant.is_plain() && occupant.has_ended).into());
        sums.events = sums.events.saturating_add(with_death);
        let nowhere = occupant.tally.attempted.saturating_sub(with_death);
        sums.lost = sums.lost.saturating_add(nowhere);
        sums.filtered = sums.filtered.saturating_add(occupant.tally.filtered);
        match &occupant.aggregate {
            Some(own) => {
                sums.bins = own.bins;
                sums.waiting.merge(&own.waiting);
                sums.running.merge(&own.running);
                sums.left_out = sums.left_out.saturating_add(own.left_out);
            }
            None => sums.left_out = sums.left_out.saturating_add(had),
        }
    }

    /// All sums.
    pub fn iter(&self) -> impl Iterator<Item = &Former> {
        self.0.values()
    }
}
