//! What the rule says of a group, and how sure that is.

use ctp_trace::verdict::{Basis, Doubt, Fact, Judgement, Verdict};
use serde::Serialize;

use super::{Context, Key, oldest};
use crate::evidence::Member;

/// What is said of the coroutines of a group.
#[derive(Clone, Debug, Serialize)]
pub struct Ruling {
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
    pub doubt: Option<&'static str>,
    /// The last wake of one of them came within a millisecond of the start of its last run.
    pub close_call: bool,
    /// That they were not woken rests on counts that can be trusted.
    #[serde(skip)]
    pub wakes_exact: bool,
    /// Verdict, fact and what was judged, of the oldest of them.
    #[serde(skip)]
    pub judged: (Verdict, Fact, Judgement),
}

impl Ruling {
    /// Of these, which all have this verdict for this reason.
    pub(super) fn of(context: &Context, key: &Key, members: &[Member]) -> Self {
        let (verdict, fact, reason, ..) = *key;
        let (_, judgement) = oldest(members);
        let close_call = members.iter().any(|(_, judgement)| judgement.close_call);
        let is_counted = matches!(fact, Fact::NotWoken | Fact::NoWaker);
        Ruling {
            state: fact.word(),
            verdict: verdict.word(),
            confidence: verdict.confidence().word(),
            reason,
            doubt: judgement.reason.doubt().map(Doubt::word),
            close_call,
            wakes_exact: !close_call && is_counted && context.model.is_readable(),
            judged: (verdict, fact, judgement),
        }
    }

    /// Whether nothing but the time that they take speaks against them.
    pub(super) fn is_of_time(&self) -> bool {
        let basis = self.judged.2.reason.describe().basis;
        matches!(basis, Basis::Length | Basis::Time)
    }
}
