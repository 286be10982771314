//! Sums of coroutines that ended before the window of a snapshot, by process, name and spawn site.

use std::collections::BTreeMap;

use ctp_trace::record::{EndedSums, ProcessId, SiteId};

use super::history::KnownCoroutine;

/// The sums of all ended coroutines.
#[derive(Clone, Debug, Default)]
pub struct EndedCoroutines(BTreeMap<(ProcessId, String, SiteId), EndedSums>);

impl EndedCoroutines {
    /// Adds a coroutine. If it has no totals, only its events are counted.
    pub fn add(&mut self, known: &KnownCoroutine) {
        let KnownCoroutine { state, birth } = known;
        let key = (birth.process, birth.name.clone(), birth.spawn_site);
        let sums = self.0.entry(key).or_insert_with(|| EndedSums {
            process: birth.process,
            name: birth.name.clone(),
            spawn_site: birth.spawn_site,
            ..EndedSums::default()
        });
        let had = state.end_n.wrapping_sub(state.base_n);
        sums.coroutines += 1;
        // The death of a v1 coroutine is a mark in its station, and counts as a recorded event.
        let with_death = had.saturating_add((state.is_v1_peer() && state.has_ended).into());
        sums.events = sums.events.saturating_add(with_death);
        let lost = state.event_counts.attempted.saturating_sub(with_death);
        sums.lost = sums.lost.saturating_add(lost);
        sums.filtered = sums.filtered.saturating_add(state.event_counts.filtered);
        match &state.aggregate {
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
    pub fn iter(&self) -> impl Iterator<Item = &EndedSums> {
        self.0.values()
    }
}
