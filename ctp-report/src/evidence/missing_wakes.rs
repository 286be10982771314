//! What may explain a missing wake: places that closed what coroutines wait for, and lost records.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Closing, Coroutine};
use ctp_trace::record::{CoroutineId, Nanos, Place, ProcessId, SiteId};
use ctp_trace::verdict::Verdict;
use serde::Serialize;

use crate::load::Model;
use crate::names::{Label, Names};
use crate::text::units;

/// Marks the line of a page to look at first.
pub const LOOK: &str = "   <== look here";

/// A place that closed what coroutines of a group were waiting for, or a coroutine that ended without
/// resuming the coroutines of a group that waited for its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosedBy {
    /// The function, if known.
    pub function: Option<String>,
    /// File and line, or module and offset.
    pub at: Option<String>,
    /// The coroutine that ended.
    pub ended: Option<EndedCoroutine>,
    /// The threads that closed the resources.
    pub threads: Vec<u64>,
    /// The number of closed resources.
    pub closes: usize,
    /// The number of coroutines that waited for these resources.
    pub coroutines: usize,
    /// Time since the first close.
    pub oldest_ns: u64,
    /// Time since the last close.
    pub youngest_ns: u64,
}

/// A coroutine that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedCoroutine {
    /// The id.
    pub id: u32,
    /// The name, or empty.
    pub name: String,
}

/// Records that a thread lost while coroutines of a group waited. These may include a wake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostThreadRecords {
    /// The thread.
    pub tid: u64,
    /// The time just after the loss.
    pub at_ns: u64,
    /// The number of records.
    pub records: u64,
}

/// Bounds for the number of records that threads lost since a given time. The latest loss of each thread
/// and the total of all threads since the beginning are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Lower bound.
    pub least: u64,
    /// Upper bound, if known.
    pub most: Option<u64>,
}

impl Losses {
    /// Records that threads of a process lost since a given time. `None` if nothing was lost.
    pub fn since(model: &Model, process: ProcessId, since: Nanos) -> Option<Self> {
        let losses = model.trace_model.losses_since(process, since);
        let records = losses.iter().map(|loss| loss.records);
        let all = model.trace_model.lost_records();
        (!losses.is_empty()).then(|| Losses {
            least: records.fold(0, u64::saturating_add),
            most: (!all.or_more).then_some(all.known),
        })
    }

    /// Records that all threads lost since the beginning. `None` if nothing was lost.
    pub fn of_all(model: &Model) -> Option<Self> {
        let all = model.trace_model.lost_records();
        (0 < all.known || all.or_more).then(|| Losses {
            least: all.known,
            most: (!all.or_more).then_some(all.known),
        })
    }

    /// Formats `213 records` or `213 to 894 364 records`.
    pub fn in_words(&self) -> String {
        let Losses { least, most } = *self;
        match most {
            Some(most) if most <= least => units::counted(least, "record"),
            Some(most) => format!(
                "{} to {}",
                units::grouped(least),
                units::counted(most, "record")
            ),
            None if least == 0 => "records without number".to_owned(),
            None => format!("{} or more", units::counted(least, "record")),
        }
    }
}

/// The records lost during the wait of a coroutine that is not known to be stuck: their number, and the
/// losses, largest first. The lost records may include the wake of the coroutine, or the end of what it
/// waits for.
pub fn lost_meanwhile(
    model: &Model,
    coroutine: &Coroutine,
    verdict: Verdict,
) -> Option<(Losses, Vec<LostThreadRecords>)> {
    let is_open = matches!(verdict, Verdict::Unknown | Verdict::Waiting);
    let wait = coroutine.suspend().filter(|_| is_open)?;
    let losses = model.trace_model.losses_since(coroutine.process, wait.at);
    let lost = losses.iter().map(|loss| LostThreadRecords {
        tid: loss.tid,
        at_ns: loss.at.0,
        records: loss.records,
    });
    let mut lost: Vec<LostThreadRecords> = lost.collect();
    lost.sort_by_key(|loss| std::cmp::Reverse(loss.records));
    Some((Losses::since(model, coroutine.process, wait.at)?, lost))
}

/// The places that closed what the members wait for, those with the most members first.
pub fn closed_by<'a>(
    model: &Model,
    names: &Names,
    closings: &BTreeMap<CoroutineId, Closing>,
    members: impl Iterator<Item = &'a Coroutine>,
) -> Vec<ClosedBy> {
    let mut places: BTreeMap<_, Vec<(Closing, Nanos)>> = BTreeMap::new();
    for coroutine in members {
        if let Some(closing) = closings.get(&coroutine.id) {
            let age = closing
                .at
                .until(model.trace_model.end_of(coroutine.process));
            places
                .entry((closing.site, closing.ended))
                .or_default()
                .push((*closing, age));
        }
    }
    let mut places: Vec<ClosedBy> = places
        .values()
        .map(|all| place(model, names, all))
        .collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.coroutines));
    places
}

/// Sums up the closings of a place. Several coroutines that waited for the same resource share a closing.
fn place(model: &Model, names: &Names, closings: &[(Closing, Nanos)]) -> ClosedBy {
    let (first, _) = closings[0];
    let label = names.of(first.site);
    let ended = first.ended.map(|(id, name)| EndedCoroutine {
        id: id.0,
        name: names
            .called(model.trace_model.name(name))
            .unwrap_or_default(),
    });
    let ages = closings.iter().map(|(_, age)| age.0);
    let threads: BTreeSet<u64> = closings.iter().map(|(closing, _)| closing.tid).collect();
    let closes: BTreeSet<_> = closings
        .iter()
        .map(|(closing, _)| (closing.at, closing.tid))
        .collect();
    ClosedBy {
        function: label.and_then(|label| label.function.clone()),
        at: label.and_then(|label| label.at()),
        ended,
        threads: threads.into_iter().collect(),
        closes: closes.len(),
        coroutines: closings.len(),
        oldest_ns: ages.clone().max().unwrap_or_default(),
        youngest_ns: ages.min().unwrap_or_default(),
    }
}

/// The label of a calling place. `None` for library code that is known only by its address, since the
/// actual caller is unknown.
pub fn caller<'n>(model: &Model, names: &'n Names, site: SiteId) -> Option<&'n Label> {
    let label = names.of(site)?;
    let place = model.sites.get(&site).map(|site| &site.place);
    let is_recorded = matches!(place, Some(Place::Source { .. }));
    (is_recorded || !names.is_of_library(label)).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-24
    #[test]
    fn losses_are_shown_with_both_bounds() {
        let words = |least, most| Losses { least, most }.in_words();
        assert_eq!(words(213, Some(213)), "213 records");
        assert_eq!(words(1_408, Some(894_364)), "1 408 to 894 364 records");
        assert_eq!(words(1, None), "1 record or more");
        assert_eq!(words(0, None), "records without number");
    }
}
