//! What the rule says of a group, and how sure that is.

use ctp_trace::verdict::{Basis, Caveat, Fact, Judgement};
use serde::Serialize;

use super::oldest;
use crate::evidence::Member;
use crate::load::Model;

/// What is said of the coroutines of a group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupVerdict {
    /// The fact, as a word.
    pub state: &'static str,
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// How sure it is, as a word.
    pub confidence: &'static str,
    /// The reason, as a word.
    pub reason: &'static str,
    /// Why it is not certain though what the oldest of them waits for was closed, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<&'static str>,
    /// The last wake of one of them came within a millisecond of the start of its last run.
    pub close_call: bool,
    /// That they were not woken rests on counts that can be trusted.
    #[serde(skip)]
    pub wakes_exact: bool,
    /// What was judged, of the oldest of them.
    #[serde(skip)]
    pub judged: Judgement,
}

impl GroupVerdict {
    /// Of these, which all have one verdict for one reason.
    pub(super) fn of(model: &Model, members: &[Member]) -> Self {
        let (_, judged) = oldest(members);
        let close_call = members.iter().any(|(_, judgement)| judgement.close_call);
        let is_counted = matches!(judged.fact, Fact::NotWoken | Fact::NoWaker);
        GroupVerdict {
            state: judged.fact.word(),
            verdict: judged.verdict.word(),
            confidence: judged.verdict.confidence().word(),
            reason: judged.reason.word(),
            caveat: judged.reason.caveat().map(Caveat::word),
            close_call,
            wakes_exact: !close_call && is_counted && model.is_readable(),
            judged,
        }
    }

    /// Whether nothing but the time that they take speaks against them.
    pub(super) fn is_of_time(&self) -> bool {
        let basis = self.judged.reason.describe().basis;
        matches!(basis, Basis::Length | Basis::Time)
    }
}
