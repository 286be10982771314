//! The table of the coroutines that were alive at the end of a recording.

use ctp_trace::model::Coroutine;
use ctp_trace::record::Waker;
use ctp_trace::verdict::Judgement;

use super::table::{Definition, Table, TableValue, ValueKind};
use crate::config::StuckView;
use crate::config::filter::Filter;
use crate::evidence::resource;
use crate::evidence::selection::is_admitted;
use crate::load::Model;
use crate::names::{Label, Names, source};
use crate::text::ContextLines;
use crate::views::stuck;

const COLUMNS: [Definition; 17] = [
    ("id", "id", ValueKind::Number, true),
    ("verdict", "verdict", ValueKind::Text, true),
    ("function", "function", ValueKind::Text, true),
    ("place", "place", ValueKind::Text, true),
    ("waits_for", "waits for", ValueKind::Text, true),
    ("age", "for", ValueKind::Duration, true),
    ("name", "name", ValueKind::Text, true),
    ("state", "state", ValueKind::Text, false),
    ("reason", "reason", ValueKind::Text, false),
    ("awaited_by", "awaited by", ValueKind::Text, false),
    ("spawned_at", "spawned at", ValueKind::Text, false),
    ("born", "born", ValueKind::Moment, false),
    ("since", "since", ValueKind::Moment, false),
    ("thread", "last thread", ValueKind::Number, false),
    ("waits", "earlier waits", ValueKind::Number, false),
    ("waker", "last woken by", ValueKind::Number, false),
    ("woken_at", "last woken at", ValueKind::Text, false),
];

/// Returns the table, the worst verdicts first.
pub fn table(model: &Model, names: &Names, view: &StuckView, filter: &Filter) -> Table {
    let mut members = stuck::members(model, names, view);
    members.retain(|member| is_admitted(model, names, member, filter));
    members.sort_by_key(|(coroutine, judgement)| {
        let age = std::cmp::Reverse(judgement.age);
        (judgement.verdict, age, coroutine.id)
    });
    let mut table = Table::new("coroutine", &COLUMNS);
    for (coroutine, judgement) in members {
        add(&mut table, (model, names), coroutine, &judgement);
    }
    table
}

fn add(
    table: &mut Table,
    (model, names): (&Model, &Names),
    coroutine: &Coroutine,
    judgement: &Judgement,
) {
    let site = model.trace_model.place_of(coroutine);
    let place = names.at(site);
    if let (Some(place), Some(label)) = (&place, names.of(site)) {
        table.add_source(place, || {
            source::excerpt(names.sources(), label, ContextLines::MANY)
        });
    }
    let awaits = names.awaits(site);
    let file = names.of(site).and_then(Label::displayed_file);
    let awaited_by = awaits.map(|awaits| awaits.describe(file).join("  <-  "));
    let wait = coroutine.suspend();
    let last = coroutine.last;
    let (waker, woken_at) = last_wake(names, coroutine);
    table.add([
        TableValue::Number(coroutine.id.0.into()),
        judgement.verdict.word().into(),
        TableValue::Text(names.name_of_row(model, site, coroutine)),
        place.into(),
        wait.map(|wait| resource::of(model, wait)).into(),
        TableValue::Number(judgement.age.0),
        TableValue::Text(names.of_coroutine(model, coroutine)),
        judgement.fact.word().into(),
        judgement.reason.word().into(),
        awaited_by.into(),
        names.at(coroutine.spawn_site).into(),
        (!coroutine.lived_before).then_some(coroutine.born.0).into(),
        TableValue::Number(coroutine.state().1.0),
        last.map(|event| event.tid).into(),
        TableValue::Number(coroutine.waits.waited.count),
        waker.into(),
        woken_at.into(),
    ]);
}

/// The id of the coroutine that last woke this coroutine, if a coroutine did, and where.
fn last_wake(names: &Names, coroutine: &Coroutine) -> (Option<u64>, Option<String>) {
    let Some(wake) = coroutine.wakes.word.filter(|wake| 0 < wake.count) else {
        return (None, None);
    };
    let by = match wake.waker {
        Waker::Coroutine(id) => Some(u64::from(id.0)),
        Waker::Thread(_) | Waker::Foreign => None,
    };
    let call = coroutine.wakes.call_of(&wake);
    (by, call.and_then(|call| names.at(call.site)))
}
