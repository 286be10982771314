//! The rows of `verdicts`.

use ctp_trace::verdict::Caveat;

use super::Output;
use super::references::References;
use crate::evidence::proof;
use crate::load::Model;
use crate::tables::schema::TableId;
use crate::tables::value::Value;
use crate::views::stuck::Explained;

/// Writes the verdict on a coroutine of `model`.
pub fn write(
    model: &Model,
    references: &References,
    explained: &Explained<'_>,
    out: &mut Output<'_>,
) {
    let (coroutine, judgement) = explained.member;
    let end = model.trace_model.end_of(coroutine.process);
    let caveat = judgement.reason.caveat().map(Caveat::word);
    let proof = proof::lines(&explained.proof.steps).join("\n");
    out.row(
        TableId::Verdicts,
        &[
            Value::id(Some(coroutine.id.0)),
            Value::Text(judgement.verdict.word()),
            Value::Text(judgement.confidence.word()),
            Value::Text(judgement.fact.word()),
            Value::Text(judgement.reason.word()),
            Value::text(caveat),
            Value::count(end.0.saturating_sub(judgement.age.0)),
            Value::count(judgement.age.0),
            references.site(model.trace_model.place_of(coroutine)),
            Value::Text(explained.text),
            Value::Text(&proof),
        ],
    );
}
