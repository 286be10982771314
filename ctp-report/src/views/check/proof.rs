//! The coroutines and records that support the value of a metric.

use ctp_trace::model::{Coroutine, NameId, Span, SpanActivity, TraceModel};
use ctp_trace::record::SiteId;
use serde::Serialize;

use crate::evidence::Member;
use crate::findings::leaks::Leak;
use crate::findings::lints::LintPlace;
use crate::load::Model;
use crate::names::Names;
use crate::text::units;

/// A coroutine or a place that supports a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MetricProof {
    /// The id of the coroutine, if there is a single coroutine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The name of the coroutine, or the function.
    pub name: String,
    /// The place.
    pub at: Option<String>,
    /// When the state or the span began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_ns: Option<u64>,
    /// What the coroutine did.
    pub what: String,
}

/// A span, and the coroutine of that span. The model may forget the coroutine.
#[derive(Clone, Copy, Debug)]
pub struct OwnedSpan {
    /// The span.
    pub span: Span,
    /// The name of the coroutine.
    name: NameId,
    spawned: SiteId,
}

impl OwnedSpan {
    /// Notes the coroutine of a span.
    pub fn of(coroutine: &Coroutine, span: Span) -> Self {
        OwnedSpan {
            span,
            name: coroutine.name,
            spawned: coroutine.spawn_site,
        }
    }

    /// Describes the span. `verb` is what the coroutine did. The place is that of the wait: of this wait, or
    /// of the wait before this run.
    pub fn proof(&self, model: &Model, names: &Names, verb: &str) -> MetricProof {
        let site = match self.span.activity {
            SpanActivity::Waiting(site, _) | SpanActivity::Running(Some((site, _))) => site,
            SpanActivity::Running(None) => self.spawned,
        };
        let length = units::duration(self.span.length());
        let given = names.called(model.trace_model.name(self.name));
        MetricProof {
            id: Some(self.span.coroutine.0),
            name: given.unwrap_or_else(|| names.function(self.spawned, "")),
            at: names.at(site),
            from_ns: Some(self.span.from.0),
            what: format!("{verb} {length} from {}", units::moment(self.span.from)),
        }
    }
}

/// Describes a coroutine that is stuck.
pub fn of_member(model: &Model, names: &Names, (coroutine, judgement): &Member) -> MetricProof {
    let site = model.trace_model.place_of(coroutine);
    let age = units::duration(judgement.age);
    MetricProof {
        what: format!(
            "{} {} for {age}",
            judgement.verdict.word(),
            judgement.fact.word()
        ),
        from_ns: Some(coroutine.state().1.0),
        ..of_coroutine(model, names, coroutine, site)
    }
}

/// Describes the coroutine that lost the most events, of those that have not ended.
pub fn of_losses(model: &Model, names: &Names) -> Option<MetricProof> {
    let all = model.trace_model.coroutines().into_iter();
    let most = all.max_by_key(|coroutine| coroutine.account.lost())?;
    let lost = most.account.lost();
    let site = model.trace_model.place_of(most);
    (0 < lost).then(|| MetricProof {
        what: format!("lost {}", units::counted(lost, "event")),
        ..of_coroutine(model, names, most, site)
    })
}

fn of_coroutine(model: &Model, names: &Names, coroutine: &Coroutine, site: SiteId) -> MetricProof {
    MetricProof {
        id: Some(coroutine.id.0),
        name: names.of_coroutine(model, coroutine),
        at: names.at(site),
        ..MetricProof::default()
    }
}

/// Describes a group of coroutines that were alive at the end.
pub fn of_leak(leak: &Leak) -> MetricProof {
    let coroutines = units::counted(leak.count as u64, "coroutine");
    MetricProof {
        id: leak.ids.first().copied().filter(|_| leak.count == 1),
        name: leak.function.clone(),
        at: leak.at.clone(),
        what: format!("{coroutines} {}", leak.state),
        ..MetricProof::default()
    }
}

/// Describes a finding of a lint.
pub fn of_lint(place: &LintPlace) -> MetricProof {
    let coroutines = units::counted(place.coroutines, "coroutine");
    MetricProof {
        id: place.ids.first().copied().filter(|_| place.coroutines == 1),
        name: place.function.clone(),
        at: place.at.clone(),
        what: format!("{coroutines}: {}", (place.lint.message)(place)),
        ..MetricProof::default()
    }
}

/// The coroutine of a span that has just ended, and the span.
pub fn witness(trace_model: &TraceModel, span: &Span) -> Option<OwnedSpan> {
    Some(OwnedSpan::of(trace_model.get(span.coroutine)?, *span))
}
