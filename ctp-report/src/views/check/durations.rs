//! The waits, runs and delays that rules select. They are collected in a second reading of the trace,
//! because patterns need the names of places, which are known only after the first.

use std::collections::HashMap;

use ctp_trace::model::{Coroutine, NameId, Span, SpanActivity, TraceModel};
use ctp_trace::record::{Nanos, SiteId};
use ctp_trace::verdict::State;
use hdrhistogram::Histogram;

use crate::config::rules::{DurationKind, DurationSelector, Statistic};
use crate::load::Model;
use crate::names::Names;
use crate::views::check::missing::Missing;
use crate::views::check::proof::{MetricProof, OwnedSpan};
use crate::views::check::range::MetricRange;

/// How many significant decimal digits a percentile has.
const DIGITS: u8 = 3;

/// The durations that a rule selects.
pub struct SelectedDurations<'r> {
    durations: &'r DurationSelector,
    patterns: Patterns<'r>,
    lengths: Histogram<u64>,
    sum_ns: u128,
    longest: Option<OwnedSpan>,
}

impl<'r> SelectedDurations<'r> {
    /// Starts without any durations.
    pub fn new(durations: &'r DurationSelector, model: &'r Model, names: &'r Names) -> Self {
        SelectedDurations {
            durations,
            patterns: Patterns {
                durations,
                model,
                names,
                sites: HashMap::new(),
                coroutines: HashMap::new(),
            },
            lengths: Histogram::new(DIGITS).expect("the number of digits is from 0 to 5"),
            sum_ns: 0,
            longest: None,
        }
    }

    /// Takes a span that has ended, after the trace model did.
    pub fn add(&mut self, trace_model: &TraceModel, span: &Span) {
        let Some(coroutine) = trace_model.get(span.coroutine) else {
            return;
        };
        let Some((site, span)) = selected(self.durations.kind, coroutine, span) else {
            return;
        };
        if self.patterns.admit(site, coroutine) {
            self.count(OwnedSpan::of(coroutine, span));
        }
    }

    fn count(&mut self, witness: OwnedSpan) {
        let length = witness.span.length();
        // The histogram grows as needed. If there is no memory, the duration is left out of percentiles.
        let _ = self.lengths.record(length.0);
        self.sum_ns = self.sum_ns.saturating_add(length.0.into());
        let longest = self.longest.as_ref();
        if longest.is_none_or(|longest| longest.span.length() < length) {
            self.longest = Some(witness);
        }
    }

    /// The longest duration.
    pub fn proof(&self, model: &Model, names: &Names) -> Option<MetricProof> {
        let verb = match self.durations.kind {
            DurationKind::Wait => "the longest: waited",
            DurationKind::Run => "the longest: ran",
            DurationKind::Ready => "the longest: was ready for",
        };
        Some(self.longest?.proof(model, names, verb))
    }

    /// The range of a statistic.
    pub fn range(&self, statistic: Statistic, missing: &Missing) -> MetricRange {
        let (least, most) = self.bounds(statistic, missing.durations);
        let why = if least == most.unwrap_or(u64::MAX) {
            None
        } else if self.lengths.is_empty() && missing.durations == Some(0) {
            Some(self.why_empty())
        } else {
            missing.why.clone()
        };
        MetricRange { least, most, why }
    }

    fn why_empty(&self) -> String {
        match self.durations.kind {
            DurationKind::Wait => "no such wait has ended".to_owned(),
            DurationKind::Run => "no such run has ended".to_owned(),
            DurationKind::Ready => "no wake before such a run was recorded".to_owned(),
        }
    }

    /// The bounds of a statistic, if up to `missing` durations of any length are not in the trace.
    fn bounds(&self, statistic: Statistic, missing: Option<u64>) -> (u64, Option<u64>) {
        let count = self.lengths.len();
        let longest = self
            .longest
            .map_or(Nanos(0), |longest| longest.span.length());
        let is_complete = missing == Some(0) && 0 < count;
        match statistic {
            Statistic::Count => (count, missing.map(|missing| count.saturating_add(missing))),
            Statistic::Max => (longest.0, is_complete.then_some(longest.0)),
            Statistic::Mean if is_complete => {
                let mean = self.sum_ns / u128::from(count);
                let mean = u64::try_from(mean).unwrap_or(u64::MAX);
                (mean, Some(mean))
            }
            Statistic::Mean => (0, None),
            Statistic::Percentile(percent) => match missing {
                Some(missing) => self.percentile(percent, missing),
                None => (0, None),
            },
        }
    }

    /// The bounds of a percentile: all missing durations are shorter than those in the trace, or longer.
    fn percentile(&self, percent: u8, missing: u64) -> (u64, Option<u64>) {
        let all = u128::from(self.lengths.len()) + u128::from(missing);
        let rank = (all * u128::from(percent)).div_ceil(100).max(1);
        let least = rank.checked_sub(u128::from(missing));
        let least = least.and_then(|rank| self.at_rank(rank));
        (least.unwrap_or(0), self.at_rank(rank))
    }

    /// The length of this rank among those in the trace, from 1.
    fn at_rank(&self, rank: u128) -> Option<u64> {
        let count = self.lengths.len();
        if rank == 0 || u128::from(count) < rank {
            return None;
        }
        // The histogram rounds up to a rank, so half a rank less is exact in spite of floating point.
        let share = (rank as f64 - 0.5) / count as f64;
        let length = self.lengths.value_at_quantile(share);
        Some(length.min(self.longest?.span.length().0))
    }
}

/// The part of a span that rules about this kind of duration select, and the site of the wait.
fn selected(kind: DurationKind, coroutine: &Coroutine, span: &Span) -> Option<(SiteId, Span)> {
    let has_run = coroutine.state().0 == State::Running;
    match (kind, span.activity) {
        (DurationKind::Wait, SpanActivity::Waiting(site, _)) => has_run.then_some((site, *span)),
        (DurationKind::Ready, SpanActivity::Waiting(site, _)) if has_run => {
            let from = woken_at(coroutine, span)?;
            Some((site, Span { from, ..*span }))
        }
        (DurationKind::Run, SpanActivity::Running(after)) => {
            let site = after.map_or(coroutine.spawn_site, |(site, _)| site);
            Some((site, *span))
        }
        _ => None,
    }
}

/// When the coroutine was woken during the wait, if recorded.
fn woken_at(coroutine: &Coroutine, wait: &Span) -> Option<Nanos> {
    let call = coroutine.wakes.call.map(|call| call.at);
    let word = coroutine.wakes.word.map(|word| word.at);
    let mut times = call.into_iter().chain(word);
    times.find(|at| wait.from < *at && *at <= wait.to)
}

/// The patterns of a rule, with the places and names that were compared already.
struct Patterns<'r> {
    durations: &'r DurationSelector,
    model: &'r Model,
    names: &'r Names,
    sites: HashMap<SiteId, bool>,
    coroutines: HashMap<(NameId, SiteId), bool>,
}

impl Patterns<'_> {
    fn admit(&mut self, site: SiteId, coroutine: &Coroutine) -> bool {
        let (durations, names) = (self.durations, self.names);
        let is_site = durations.site.as_ref().is_none_or(|pattern| {
            let compare = || {
                let label = names.of(site);
                let function = label.and_then(|label| label.function.clone());
                let texts = [function, label.and_then(|label| label.at())];
                texts.iter().flatten().any(|text| pattern.is_match(text))
            };
            *self.sites.entry(site).or_insert_with(compare)
        });
        is_site
            && durations.name.as_ref().is_none_or(|pattern| {
                let key = (coroutine.name, coroutine.spawn_site);
                let compare = || pattern.is_match(&names.of_coroutine(self.model, coroutine));
                *self.coroutines.entry(key).or_insert_with(compare)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected<'r>(
        durations: &'r DurationSelector,
        model: &'r Model,
        names: &'r Names,
        lengths: impl Iterator<Item = u64>,
    ) -> SelectedDurations<'r> {
        let mut collected = SelectedDurations::new(durations, model, names);
        for length in lengths {
            let span = Span {
                coroutine: ctp_trace::record::CoroutineId(1),
                activity: SpanActivity::Running(None),
                from: Nanos(5),
                to: Nanos(5 + length),
            };
            collected.count(OwnedSpan::of(&Coroutine::default(), span));
        }
        collected
    }

    // CT-24
    #[test]
    fn missing_durations_widen_the_range() {
        let durations = DurationSelector {
            kind: DurationKind::Run,
            site: None,
            name: None,
        };
        let (model, names) = (Model::default(), Names::default());
        let runs = collected(&durations, &model, &names, 1..=100);
        for (statistic, missing, expected) in [
            (Statistic::Percentile(50), Some(0), (50, Some(50))),
            (Statistic::Percentile(50), Some(10), (45, Some(55))),
            (Statistic::Percentile(99), Some(1), (99, Some(100))),
            (Statistic::Percentile(99), Some(5), (99, None)),
            (Statistic::Percentile(99), None, (0, None)),
            (Statistic::Percentile(50), Some(200), (0, None)),
            (Statistic::Max, Some(0), (100, Some(100))),
            (Statistic::Max, Some(1), (100, None)),
            (Statistic::Mean, Some(0), (50, Some(50))),
            (Statistic::Mean, Some(1), (0, None)),
            (Statistic::Count, Some(3), (100, Some(103))),
            (Statistic::Count, None, (100, None)),
        ] {
            assert_eq!(
                runs.bounds(statistic, missing),
                expected,
                "{statistic:?} {missing:?}"
            );
        }
        let none = collected(&durations, &model, &names, std::iter::empty());
        assert_eq!(none.bounds(Statistic::Percentile(99), Some(0)), (0, None));
        assert_eq!(none.bounds(Statistic::Max, Some(0)), (0, None));
        assert_eq!(none.bounds(Statistic::Count, Some(0)), (0, Some(0)));
    }
}
