//! When stuck groups stopped growing, as a sort key: what caused a stop comes before its victims.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{CoroutineId, LeafKind, WaitKind};
use ctp_trace::verdict::{Fact, Verdict};

use super::Group;

/// What groups below one headline have in common.
pub(super) type Headline = (Fact, &'static str);

/// How soon a group stopped growing, in seconds. Of groups that stopped together, those come first that
/// hold something for which others wait: a coroutine that waits for a lock or for a message waits for
/// some other coroutine. The exact time decides last.
pub(super) type Stop = (Reverse<u64>, Needs, Reverse<u64>);

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Needs {
    /// A part of its work, such as a reply or room.
    Work,
    /// A lock that some coroutine holds.
    Lock,
    /// What others send or do.
    Others,
}

/// When each group stopped growing, and the first group below each headline.
#[derive(Debug, Default)]
pub(super) struct Stops {
    groups: BTreeMap<u32, Stop>,
    headlines: BTreeMap<(Verdict, Headline), Stop>,
}

impl Stops {
    pub fn of(model: &TraceModel, groups: &[Group]) -> Self {
        let mut stops = Stops::default();
        for group in groups.iter().filter(|group| group.verdict().is_stuck()) {
            let stop = stop(model, group);
            stops.groups.insert(group.evidence.proof.id, stop);
            let headline = (group.verdict(), group.headline());
            let first = stops.headlines.entry(headline).or_insert(stop);
            *first = stop.min(*first);
        }
        stops
    }

    pub fn of_group(&self, group: &Group) -> Option<Stop> {
        self.groups.get(&group.evidence.proof.id).copied()
    }

    pub fn of_headline(&self, group: &Group) -> Option<Stop> {
        let headline = (group.verdict(), group.headline());
        self.headlines.get(&headline).copied()
    }
}

fn stop(model: &TraceModel, group: &Group) -> Stop {
    let age = group.members.youngest_ns;
    let oldest = model.get(CoroutineId(group.evidence.proof.id));
    let kind = oldest.map_or(LeafKind::Unknown, |oldest| model.leaf_kind(oldest));
    let announced = oldest.and_then(Coroutine::suspend).map(|wait| wait.wait);
    let needs = match (announced, kind) {
        (Some(WaitKind::Lock), _) | (_, LeafKind::Lock) => Needs::Lock,
        (Some(WaitKind::Coroutine), _)
        | (_, LeafKind::Message | LeafKind::Notification | LeafKind::Task) => Needs::Others,
        _ => Needs::Work,
    };
    (Reverse(age / 1_000_000_000), needs, Reverse(age))
}
