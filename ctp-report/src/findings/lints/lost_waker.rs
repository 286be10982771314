//! Waiting coroutines that have no waker left.

use ctp_trace::model::TraceModel;
use ctp_trace::verdict::{Fact, THRESHOLD};

use super::places::{Groups, LintPlace};
use super::{Detection, Lint};
use crate::evidence::members;
use crate::evidence::selection::Selection;
use crate::text::units::duration_ns;

/// Detects lost wakers by the rule for verdicts.
pub const LINT: Lint = Lint {
    name: "lost-waker",
    help: "It waits, and none of its wakers is left",
    advice: "wait although none of their wakers is left; for details:",
    see: Some("--stuck"),
    of_parts: true,
    detection: Detection::AtTheEnd(find),
    message: longest,
};

/// How long the coroutines of a place wait.
pub(super) fn longest(place: &LintPlace) -> String {
    let longest = duration_ns(place.figures.longest_ns);
    match place.coroutines {
        1 => format!("for {longest}"),
        _ => format!("for up to {longest}"),
    }
}

/// Excludes coroutines that are not stuck: another coroutine may poll them without a waker.
fn find(trace_model: &TraceModel, selection: &Selection) -> Groups {
    let mut groups = Groups::default();
    let members = members(trace_model, THRESHOLD);
    for (coroutine, judged) in members.filter(|(coroutine, _)| selection.has(coroutine.id)) {
        if judged.fact == Fact::NoWaker && judged.verdict.is_stuck() {
            groups.add_waiting(coroutine, judged.age);
        }
    }
    groups
}
