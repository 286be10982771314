//! The table of the tasks that the last inspection of a process found.

use ctp_trace::model::JudgedTask;

use super::table::{Definition, Table, TableValue, ValueKind};
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
    ("id", "id", ValueKind::Number, true),
    ("verdict", "verdict", ValueKind::Text, true),
    ("function", "function", ValueKind::Text, true),
    ("place", "place", ValueKind::Text, true),
    ("waits_for", "waits for", ValueKind::Text, true),
    ("state", "state", ValueKind::Text, true),
    ("name", "task", ValueKind::Text, true),
    ("reason", "reason", ValueKind::Text, false),
    ("awaited_by", "awaited by", ValueKind::Text, false),
    ("spawned_at", "spawned at", ValueKind::Text, false),
    ("holds", "holds", ValueKind::Text, false),
    ("held_by", "held by", ValueKind::Text, false),
    ("wakers", "can wake", ValueKind::Text, false),
    ("kind", "kind", ValueKind::Text, false),
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
        TableValue::Number(task.id.0.into()),
        member.judgement.verdict.word().into(),
        function.into(),
        place.clone().into(),
        TableValue::Text(words::waits(&[task], None).join(", ")),
        task.state.word().into(),
        TableValue::Text(name_of(task)),
        member.judgement.reason.word().into(),
        awaited_by.into(),
        spawned
            .map(|(file, line)| format!("{}:{line}", text::escape(paths::displayed(file))))
            .into(),
        TableValue::Text(holds.join(", ")),
        TableValue::Text(owners::holders(&[task], &[]).join(", ")),
        TableValue::Text(wakers::holders(&[task]).join(", ")),
        kind_word(task.kind).into(),
    ]);
}
