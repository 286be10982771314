//! The facts of a trace that rules are about, from one or more readings of the trace.

use anyhow::Result;
use ctp_trace::model::{Span, SpanActivity, TraceModel};

use crate::config::rules::{Metric, Rule};
use crate::config::{CheckView, Config};
use crate::document::selected_trace::{self, SelectedTrace};
use crate::evidence::selection::Selection;
use crate::findings::lints::{LINTS, LintPlace, Watches};
use crate::load::{Input, Model};
use crate::names::Names;
use crate::views::check::durations::SelectedDurations;
use crate::views::check::proof::{self, OwnedSpan};

/// What the first reading of a trace collects in addition to the model.
pub struct FactCollector {
    watches: Watches,
    /// The longest run that has ended.
    pub longest_run: Option<OwnedSpan>,
}

impl FactCollector {
    /// Collects what the rules need. Lints that no rule denies are not detected.
    pub fn new(view: &CheckView) -> Self {
        let names = LINTS.iter().map(|lint| lint.name.to_owned());
        let allowed: Vec<String> = names.filter(|name| !view.deny.contains(name)).collect();
        FactCollector {
            watches: Watches::start(&allowed),
            longest_run: None,
        }
    }

    /// Reads the trace, and selects what the filter admits.
    ///
    /// # Errors
    /// If the trace cannot be read, or takes too much memory.
    pub fn read(&mut self, config: &Config, input: &Input) -> Result<SelectedTrace> {
        let FactCollector {
            watches,
            longest_run,
        } = self;
        selected_trace::read_any(
            config,
            input,
            |trace_model, record| watches.see(trace_model, record),
            |trace_model, span| note_run(longest_run, trace_model, span),
        )
    }

    /// The findings of the denied lints.
    pub fn lints(self, read: (&Model, &Names), selection: &Selection) -> Vec<LintPlace> {
        self.watches.finish(read, selection)
    }
}

fn note_run(longest: &mut Option<OwnedSpan>, trace_model: &TraceModel, span: &Span) {
    let is_run = matches!(span.activity, SpanActivity::Running(_));
    let is_longer = |longest: &OwnedSpan| longest.span.length() < span.length();
    if is_run && longest.as_ref().is_none_or(is_longer) {
        *longest = proof::witness(trace_model, span).or(*longest);
    }
}

/// The longest run, including runs that have not ended. `ended` is the longest that has.
pub fn longest_run(
    (model, selection): (&Model, &Selection),
    ended: Option<OwnedSpan>,
) -> Option<OwnedSpan> {
    let all = model.trace_model.coroutines().into_iter();
    let open = all.filter_map(|coroutine| {
        let from = model.trace_model.resumed_from(coroutine);
        let span = Span {
            coroutine: coroutine.id,
            activity: SpanActivity::Running(from.map(|stats| (stats.site, stats.wait))),
            from: coroutine.runs_since()?,
            to: model.trace_model.end_of(coroutine.process),
        };
        Some(OwnedSpan::of(coroutine, selection.clip(&span)?))
    });
    open.chain(ended)
        .max_by_key(|witness| (witness.span.length(), std::cmp::Reverse(witness.span.from)))
}

/// Collects the durations that rules select, for each rule, in a second reading of the trace. Traces with
/// totals have no durations.
///
/// # Errors
/// If the trace cannot be read, or takes too much memory.
pub fn durations<'r>(
    input: &Input,
    rules: &'r [Rule],
    (model, names, selection): (&'r Model, &'r Names, &Selection),
) -> Result<Vec<Option<SelectedDurations<'r>>>> {
    let collected = rules.iter().map(|rule| match &rule.metric {
        Metric::Statistic(_, durations) if !model.is_by_name() => {
            Some(SelectedDurations::new(durations, model, names))
        }
        _ => None,
    });
    let mut collected: Vec<Option<SelectedDurations>> = collected.collect();
    if collected.iter().any(Option::is_some) {
        input.spans(&mut |trace_model, span| {
            let Some(span) = selection.clip(span) else {
                return;
            };
            let all = collected.iter_mut().flatten();
            all.for_each(|collected| collected.add(trace_model, &span));
        })?;
    }
    Ok(collected)
}
