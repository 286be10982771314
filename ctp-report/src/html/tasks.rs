//! The table of the tasks that the last inspection of a process found.

use ctp_trace::model::JudgedTask;

use super::table::{Definition, Kind, Table, Value};
use crate::config::StuckView;
use crate::config::filter::Filter;
use crate::evidence::inspected::site::name_of;
use crate::evidence::inspected::{filter, groups, kind_word, owners, wakers, words};
use crate::load::Model;
use crate::names::Names;
use crate::names::source::{self, paths};
use crate::text;
use crate::text::ContextLines;

const COLUMNS: [Definition; 14] = [
    ("id", "id", Kind::Number, true),
    ("verdict", "verdict", Kind::Text, true),
    ("function", "function", Kind::Text, true),
    ("place", "place", Kind::Text, true),
    ("waits_for", "waits for", Kind::Text, true),
    ("state", "state", Kind::Text, true),
    ("name", "task", Kind::Text, true),
    ("reason", "reason", Kind::Text, false),
    ("awaited_by", "awaited by", Kind::Text, false),
    ("spawned_at", "spawned at", Kind::Text, false),
    ("holds", "holds", Kind::Text, false),
    ("held_by", "held by", Kind::Text, false),
    ("wakers", "can wake", Kind::Text, false),
    ("kind", "kind", Kind::Text, false),
];

/// Returns the table, the worst verdicts first.
pub fn table(model: &Model, names: &Names, view: &StuckView, shown: &Filter) -> Table {
    let mut judged = model.trace_model.judge_inspected(view.threshold);
    filter(&mut judged, shown);
    let mut table = Table::new("task", &COLUMNS);
    for group in groups(judged, &view.ignore) {
        let place = group.site.at();
        if let Some(place) = &place {
            table.add_source(place, || {
                source::excerpt(names.sources(), &group.site.label, ContextLines::MANY)
            });
        }
        let awaited_by = group.site.awaited_by.join("  <-  ");
        for member in &group.tasks {
            add(
                &mut table,
                member,
                (&group.site.function, &place, &awaited_by),
            );
        }
    }
    table
}

fn add(
    table: &mut Table,
    member: &JudgedTask,
    (function, place, awaited_by): (&str, &Option<String>, &str),
) {
    let task = member.task;
    let spawned = task.spawned_at.as_ref();
    let holds: Vec<String> = task.holds.iter().map(words::held).collect();
    table.add([
        Value::Number(task.id.0.into()),
        member.judgement.verdict.word().into(),
        function.into(),
        place.clone().into(),
        Value::Text(words::waits(&[task], None).join(", ")),
        task.state.word().into(),
        Value::Text(name_of(task)),
        member.judgement.reason.word().into(),
        awaited_by.into(),
        spawned
            .map(|(file, line)| format!("{}:{line}", text::escape(paths::displayed(file))))
            .into(),
        Value::Text(holds.join(", ")),
        Value::Text(owners::holders(&[task], &[]).join(", ")),
        Value::Text(wakers::holders(&[task]).join(", ")),
        kind_word(task.kind).into(),
    ]);
}
