//! Stacks for a flame graph: which coroutines waited or ran, where, for what, and for how long.

use std::collections::{BTreeMap, HashMap, HashSet};

use ctp_trace::model::{Coroutine, NameId, Span, SpanActivity, TraceModel, stem};
use ctp_trace::record::{CoroutineId, Nanos, SiteId};
use ctp_trace::verdict::{THRESHOLD, Verdict};

use crate::config::FlameWidth;
use crate::document::flame_graph::end_of_recording;
use crate::evidence::resource;
use crate::evidence::selection::Selection;
use crate::load::Model;
use crate::names::{Names, label};
use crate::views::flame::stuck_waits::StuckWaits;

/// The spans that a stack sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackKey {
    /// The name of the coroutines.
    pub name: NameId,
    /// Where the coroutines were spawned.
    pub spawned: SiteId,
    /// What the coroutines were doing.
    pub activity: SpanActivity,
    /// The verdict of the coroutine, if the span had not ended when the recording did, or if the coroutine was
    /// stuck until its process dropped it in order to end.
    pub open: Option<Verdict>,
}

/// The number of spans and their total length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanSum {
    /// The number of spans.
    pub count: u64,
    /// The total length.
    pub ns: u64,
}

/// Sums time by stack.
#[derive(Debug)]
pub struct StackFolder {
    /// Which spans count. `None`: all of them, also those without a length.
    by: Option<FlameWidth>,
    stuck: StuckWaits,
    sums: HashMap<StackKey, SpanSum>,
}

/// Nanoseconds by stack. Frames are text, the outermost first.
pub type Stacks = BTreeMap<Vec<String>, u64>;

impl StackFolder {
    /// Creates an empty folder for waits or for runs.
    pub fn new(by: FlameWidth) -> Self {
        StackFolder {
            by: Some(by),
            stuck: StuckWaits::default(),
            sums: HashMap::new(),
        }
    }

    /// Creates an empty folder for both waits and runs.
    pub fn of_all() -> Self {
        StackFolder {
            by: None,
            stuck: StuckWaits::default(),
            sums: HashMap::new(),
        }
    }

    /// Whether waits count, rather than runs only.
    pub fn has_waits(&self) -> bool {
        self.by != Some(FlameWidth::Run)
    }

    /// An empty folder for the same spans, in which these waits have their verdicts.
    pub fn marking(&self, stuck: StuckWaits) -> Self {
        StackFolder {
            by: self.by,
            stuck,
            sums: HashMap::new(),
        }
    }

    /// Adds a span that has ended, after the trace model did.
    pub fn add(&mut self, trace_model: &TraceModel, span: &Span) {
        if let Some(coroutine) = trace_model.get(span.coroutine) {
            let open = self.stuck.ended_by_last_event(coroutine);
            self.count(coroutine, span.activity, open, span.length());
        }
    }

    /// Adds the spans that had not ended when the recording or the process did. Returns all stacks
    /// with names.
    pub fn finish(self, model: &Model, names: &Names, selection: &Selection) -> Stacks {
        let mut stacks = Stacks::new();
        for (key, name, sum) in self.named(model, selection) {
            let stack = stacks
                .entry(frames(&key, &name, (model, names)))
                .or_default();
            *stack = stack.saturating_add(sum.ns);
        }
        limit_sum(stacks.values_mut(), u64::MAX);
        stacks.retain(|_, sum| *sum > 0);
        stacks
    }

    /// Adds the spans that had not ended when the recording or the process did. Returns all sums with
    /// the displayed names of the coroutines.
    pub fn named(
        mut self,
        model: &Model,
        selection: &Selection,
    ) -> Vec<(StackKey, String, SpanSum)> {
        self.close(model, selection);
        let numbered = self.numbered_names(model);
        let sums = self.sums.iter().map(|(key, sum)| {
            let name = model.trace_model.name(key.name);
            let name = if numbered.contains(&(key.spawned, stem(name))) {
                label::numbered(name)
            } else {
                name.to_owned()
            };
            (*key, name, *sum)
        });
        sums.collect()
    }

    fn close(&mut self, model: &Model, selection: &Selection) {
        let judged = model.trace_model.judge(THRESHOLD);
        let verdicts: HashMap<CoroutineId, Verdict> = judged
            .into_iter()
            .map(|(id, judgement)| (id, judgement.verdict))
            .collect();
        let all = model.trace_model.coroutines().into_iter();
        for coroutine in all.filter(|coroutine| selection.has(coroutine.id)) {
            let end = model.trace_model.end_of(coroutine.process);
            let open = open_span(&model.trace_model, coroutine);
            let part = open.and_then(|(activity, since)| {
                let (from, to) = selection.part(since, end)?;
                Some((activity, from.until(to)))
            });
            if let Some((activity, length)) = part {
                let verdict = verdicts.get(&coroutine.id).copied();
                let open = Some(verdict.unwrap_or(Verdict::Unknown));
                self.count(coroutine, activity, open, length);
            }
        }
    }

    /// Returns the spawn sites and stems of names that differ only in their number. Like in
    /// `--tree`, coroutines with these names are joined.
    fn numbered_names<'m>(&self, model: &'m Model) -> HashSet<(SiteId, &'m str)> {
        let mut first: HashMap<(SiteId, &str), NameId> = HashMap::new();
        let mut numbered = HashSet::new();
        for key in self.sums.keys() {
            let group_key = (key.spawned, stem(model.trace_model.name(key.name)));
            if *first.entry(group_key).or_insert(key.name) != key.name {
                numbered.insert(group_key);
            }
        }
        numbered
    }

    fn count(
        &mut self,
        coroutine: &Coroutine,
        activity: SpanActivity,
        open: Option<Verdict>,
        length: Nanos,
    ) {
        let by = if matches!(activity, SpanActivity::Waiting(..)) {
            FlameWidth::Wait
        } else {
            FlameWidth::Run
        };
        if self.by.is_none_or(|only| only == by && length.0 > 0) {
            let key = StackKey {
                name: coroutine.name,
                spawned: coroutine.spawn_site,
                activity,
                open,
            };
            let sum = self.sums.entry(key).or_default();
            sum.count += 1;
            sum.ns = sum.ns.saturating_add(length.0);
        }
    }
}

fn open_span(trace_model: &TraceModel, coroutine: &Coroutine) -> Option<(SpanActivity, Nanos)> {
    if let Some(wait) = coroutine.suspend() {
        return Some((SpanActivity::Waiting(wait.site, wait.wait), wait.at));
    }
    let from = trace_model.resumed_from(coroutine);
    let from = from.map(|stats| (stats.site, stats.wait));
    Some((SpanActivity::Running(from), coroutine.runs_since()?))
}

fn frames(key: &StackKey, name: &str, (model, names): (&Model, &Names)) -> Vec<String> {
    let mut frames = vec![names.function(SiteId(0), name)];
    if let Some(at) = names.at(key.spawned) {
        frames.push(format!("spawned at {at}"));
    }
    match key.activity {
        SpanActivity::Waiting(site, wait) => {
            frames.extend(chain(names, site, name));
            frames.push(format!(
                "waits for {}",
                resource::phrase_at(model, site, wait)
            ));
        }
        SpanActivity::Running(Some((site, _))) => {
            frames.extend(chain(names, site, name));
            frames.push("runs from there".to_owned());
        }
        SpanActivity::Running(None) => frames.push("runs first".to_owned()),
    }
    frames.extend(key.open.map(end_of_recording));
    frames.iter().map(|frame| frame.replace(';', ",")).collect()
}

/// Limits the sum of all values to `room`, since viewers add all stacks up. Only invalid times of a
/// program exceed this limit.
pub fn limit_sum<'s>(sums: impl Iterator<Item = &'s mut u64>, mut room: u64) {
    for sum in sums {
        *sum = room.min(*sum);
        room -= *sum;
    }
}

/// Returns the call chain of a site, the outermost function first. The innermost function has its
/// line.
fn chain(names: &Names, site: SiteId, name: &str) -> Vec<String> {
    let label = names.of(site).cloned().unwrap_or_default();
    let at = label.at().map(|at| format!(" {at}")).unwrap_or_default();
    let mut frames: Vec<String> = label.callers.iter().rev().cloned().collect();
    frames.push(format!("{}{at}", names.function(site, name)));
    frames.extend(label.within);
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_all_stacks_fits_64_bits() {
        let mut sums = [7, u64::MAX - 9, 5, u64::MAX];
        limit_sum(sums.iter_mut(), u64::MAX);
        assert_eq!(sums, [7, u64::MAX - 9, 2, 0]);
    }
}
