//! The verdict of a group, and its confidence.

use ctp_trace::verdict::{Basis, Caveat, Fact, Judgement};
use serde::Serialize;

use super::oldest;
use crate::evidence::Member;
use crate::load::Model;

/// The verdict that the coroutines of a group share.
#[derive(Clone, Debug, Serialize)]
pub struct GroupVerdict {
    /// The fact, as a word.
    pub state: &'static str,
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// The confidence of the verdict, as a word.
    pub confidence: &'static str,
    /// The reason, as a word.
    pub reason: &'static str,
    /// Why the verdict is not certain, as a word, if its reason leaves a doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<&'static str>,
    /// Whether a member's last wake came within a millisecond of the start of its last run.
    pub close_call: bool,
    /// Whether "not woken" rests on exact wake counts.
    #[serde(skip)]
    pub wakes_exact: bool,
    /// The judgement of the oldest member.
    #[serde(skip)]
    pub judged: Judgement,
}

impl GroupVerdict {
    /// Creates the verdict of `members`, which share a verdict and a reason.
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

    /// Whether the verdict rests on elapsed time alone.
    pub(super) fn is_by_time(&self) -> bool {
        let basis = self.judged.reason.describe().basis;
        matches!(basis, Basis::Length | Basis::Time)
    }
}
