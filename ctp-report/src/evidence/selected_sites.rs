//! The figures of sites for a selection of coroutines and time, added up from single waits and runs.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Coroutine, NameId, SiteStats, Span, SpanActivity, TraceModel};
use ctp_trace::record::{CoroutineId, EventKind, Nanos, Record, SiteId, WaitKind};

use crate::evidence::selection::Selection;

/// A kind of wait at a site.
type Key = (SiteId, WaitKind);

/// Sums by site.
#[derive(Debug, Default)]
pub struct SelectedSites {
    sums: BTreeMap<Key, SiteStats>,
    visitors: BTreeSet<(Key, CoroutineId)>,
    /// The coroutine that the current record ends, and its name.
    death: Option<(CoroutineId, NameId)>,
}

impl SelectedSites {
    /// Notes a record, before the model does. A wait that the death of its coroutine ends was cancelled.
    pub fn see(&mut self, trace_model: &TraceModel, record: &Record) {
        self.death = match record {
            Record::Event(event) if event.kind == EventKind::Death => {
                let coroutine = trace_model.get(event.coroutine);
                coroutine.map(|coroutine| (coroutine.id, coroutine.name))
            }
            _ => None,
        };
    }

    /// Adds a span that has ended.
    pub fn add(&mut self, trace_model: &TraceModel, span: &Span) {
        let ended = self.death.filter(|(id, _)| *id == span.coroutine);
        let alive = trace_model
            .get(span.coroutine)
            .map(|coroutine| coroutine.name);
        let name = ended.map(|(_, name)| name).or(alive).unwrap_or_default();
        let length = span.length();
        match span.activity {
            SpanActivity::Waiting(site, wait) => {
                let stats = self.visit((site, wait), span.coroutine, name);
                stats.events += 1;
                let kind = match ended {
                    Some(_) => &mut stats.cancelled,
                    None => &mut stats.waits,
                };
                kind.add(length);
            }
            SpanActivity::Running(Some(from)) => {
                self.sums.entry(from).or_default().runs.add(length)
            }
            SpanActivity::Running(None) => {}
        }
    }

    /// Adds the waits and runs that had not ended. Returns the sites with at least one wait.
    pub fn finish(mut self, trace_model: &TraceModel, selection: &Selection) -> Vec<SiteStats> {
        let all = trace_model.coroutines().into_iter();
        for coroutine in all.filter(|coroutine| selection.has(coroutine.id)) {
            self.add_open(trace_model, coroutine, selection);
        }
        let known = trace_model.sites();
        let approximate = known.iter().filter(|stats| stats.approximate);
        let approximate: BTreeSet<Key> =
            approximate.map(|stats| (stats.site, stats.wait)).collect();
        let sums = self.sums.into_iter().map(|(key, mut stats)| {
            (stats.site, stats.wait) = key;
            stats.approximate = approximate.contains(&key);
            stats
        });
        sums.filter(|stats| 0 < stats.events).collect()
    }

    fn add_open(&mut self, trace_model: &TraceModel, coroutine: &Coroutine, selection: &Selection) {
        let end = trace_model.end_of(coroutine.process);
        let length = |since: Nanos| selection.part(since, end).map(|(from, to)| from.until(to));
        if let Some(wait) = coroutine.suspend() {
            if let Some(length) = length(coroutine.waits.since) {
                let stats = self.visit((wait.site, wait.wait), coroutine.id, coroutine.name);
                stats.events += 1;
                stats.open.add(length);
            }
            return;
        }
        let from = trace_model.resumed_from(coroutine);
        let from = from.map(|stats| (stats.site, stats.wait));
        let run = coroutine.runs_since().and_then(length);
        if let (Some(from), Some(length)) = (from, run) {
            self.sums.entry(from).or_default().runs.add(length);
        }
    }

    /// The sums of a site that a coroutine with this name visits.
    fn visit(&mut self, key: Key, coroutine: CoroutineId, name: NameId) -> &mut SiteStats {
        let is_new = self.visitors.insert((key, coroutine));
        let stats = self.sums.entry(key).or_default();
        if stats.coroutines == 0 {
            stats.name = name;
        }
        stats.names_differ |= stats.name != name;
        stats.coroutines += u64::from(is_new);
        stats
    }
}
