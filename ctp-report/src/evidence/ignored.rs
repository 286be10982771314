//! Judges the coroutines that are alive. A coroutine that the user ignores gets no bad verdict.

use ctp_trace::model::Coroutine;
use ctp_trace::record::Nanos;

use crate::config::ignore::Ignore;
use crate::evidence::{self, Member};
use crate::load::Model;
use crate::names::Names;

/// Judges all coroutines that are alive. A coroutine that the user ignores never gets a bad verdict.
pub fn members<'m>(
    model: &'m Model,
    names: &Names,
    threshold: Nanos,
    ignore: &Ignore,
) -> Vec<Member<'m>> {
    let judged = evidence::members(&model.trace_model, threshold);
    judged
        .map(|(coroutine, judgement)| {
            if is_ignored(model, names, coroutine, ignore) {
                (coroutine, judgement.ignored())
            } else {
                (coroutine, judgement)
            }
        })
        .collect()
}

fn is_ignored(model: &Model, names: &Names, coroutine: &Coroutine, ignore: &Ignore) -> bool {
    let site = model.trace_model.place_of(coroutine);
    let function = names.function(site, model.trace_model.name(coroutine.name));
    let at = names.at(site);
    ignore.is_of(&function, at.as_deref())
}
