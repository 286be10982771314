//! Waiting coroutines whose latest poll registered no waker.

use ctp_trace::model::TraceModel;
use ctp_trace::verdict::{Reason, THRESHOLD};

use super::lost_waker::longest;
use super::places::Groups;
use super::{Detection, Lint};
use crate::evidence::members;
use crate::evidence::selection::Selection;

/// Detects waits without a waker by the rule for verdicts.
pub const LINT: Lint = Lint {
    name: "unregistered",
    help: "Its last poll registered no waker, as std::future::pending() does",
    advice: "wait, and their last poll registered no waker, so nothing can wake them; this is a bug \
             unless intended, as with std::future::pending()",
    see: None,
    of_parts: true,
    detection: Detection::AtTheEnd(find),
    message: longest,
};

fn find(trace_model: &TraceModel, selection: &Selection) -> Groups {
    let mut groups = Groups::default();
    let members = members(trace_model, THRESHOLD);
    for (coroutine, judged) in members.filter(|(coroutine, _)| selection.has(coroutine.id)) {
        if judged.reason == Reason::Unregistered {
            groups.add_waiting(coroutine, judged.age);
        }
    }
    groups
}
