//! Who should have woken coroutines that wait: who closed what they wait for, and who usually
//! wakes those that wait where they do.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::{CoroutineId, Nanos, Place, ProcessId, SiteId};
use ctp_trace::trace_model::{Closing, Coroutine};
use ctp_trace::verdict::Verdict;
use serde::Serialize;

use crate::load::Model;
use crate::names::{Label, Names, chains};
use crate::text::units;

/// Marks the line of a page that is to be looked at first.
pub const LOOK: &str = "   <== look here";

/// A place that closed what coroutines of a group waited for, while they did; or a coroutine for whose
/// end they waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosedBy {
    /// The function there, if known.
    pub function: Option<String>,
    /// Its file and line, or what is known instead.
    pub at: Option<String>,
    /// Which coroutine ended, and its name.
    pub ended: Option<Ended>,
    /// On which threads.
    pub threads: Vec<u64>,
    /// How many resources.
    pub closes: usize,
    /// How many coroutines waited for them.
    pub coroutines: usize,
    /// How long ago the first of them was closed.
    pub oldest_ns: u64,
    /// How long ago the last.
    pub youngest_ns: u64,
}

/// A coroutine that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Its number.
    pub id: u32,
    /// Its name; empty if it had none.
    pub name: String,
}

/// The place that ended most of the known waits of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsualWaker {
    /// The function there, if known.
    pub function: Option<String>,
    /// Its file and line, or what is known instead.
    pub at: Option<String>,
    /// Waits that it ended.
    pub wakes: u64,
    /// All waits of which it is known what ended them.
    pub of: u64,
}

/// Records that a thread lost while coroutines of a group waited: a wake may be among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostRecords {
    /// Which thread.
    pub tid: u64,
    /// Just before when.
    pub at_ns: u64,
    /// How many records.
    pub records: u64,
}

/// How many records threads lost since a moment. Of each the latest loss is known, and of all of them
/// together what they have lost from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// At least so many.
    pub least: u64,
    /// At most so many, if that is known.
    pub most: Option<u64>,
}

impl Losses {
    /// What threads of a process lost since; `None` if that is nothing.
    pub fn since(model: &Model, process: ProcessId, since: Nanos) -> Option<Self> {
        let losses = model.trace_model.losses_since(process, since);
        let records = losses.iter().map(|loss| loss.records);
        let all = model.trace_model.lost_records();
        (!losses.is_empty()).then(|| Losses {
            least: records.fold(0, u64::saturating_add),
            most: (!all.or_more).then_some(all.known),
        })
    }

    /// What all threads lost, from the beginning; `None` if that is nothing.
    pub fn of_all(model: &Model) -> Option<Self> {
        let all = model.trace_model.lost_records();
        (0 < all.known || all.or_more).then(|| Losses {
            least: all.known,
            most: (!all.or_more).then_some(all.known),
        })
    }

    /// `213 records`, `213 to 894 364 records`.
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

/// How many records may have been lost of the wakes of a coroutine that waits, or of the end of what it
/// waits for, where it is not known to be stuck; and the losses, the largest first.
pub fn lost_meanwhile(
    model: &Model,
    coroutine: &Coroutine,
    verdict: Verdict,
) -> Option<(Losses, Vec<LostRecords>)> {
    let is_open = matches!(verdict, Verdict::Unknown | Verdict::Waiting);
    let wait = coroutine.suspend().filter(|_| is_open)?;
    let losses = model.trace_model.losses_since(coroutine.process, wait.at);
    let lost = losses.iter().map(|loss| LostRecords {
        tid: loss.tid,
        at_ns: loss.at.0,
        records: loss.records,
    });
    let mut lost: Vec<LostRecords> = lost.collect();
    lost.sort_by_key(|loss| std::cmp::Reverse(loss.records));
    Some((Losses::since(model, coroutine.process, wait.at)?, lost))
}

/// Where that which each of these waits for was closed: what most of them lost first.
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

/// Of several that waited for the same, each lost the same closing.
fn place(model: &Model, names: &Names, closings: &[(Closing, Nanos)]) -> ClosedBy {
    let (first, _) = closings[0];
    let label = names.of(first.site);
    let ended = first.ended.map(|(id, name)| Ended {
        id: id.0,
        name: names
            .called(model.trace_model.name(name))
            .unwrap_or_default(),
    });
    let ages = || closings.iter().map(|(_, age)| age.0);
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
        oldest_ns: ages().max().unwrap_or_default(),
        youngest_ns: ages().min().unwrap_or_default(),
    }
}

/// Where somebody called. Of a place that only its address tells, code of a library says nothing
/// of who that was.
pub fn caller<'n>(model: &Model, names: &'n Names, site: SiteId) -> Option<&'n Label> {
    let label = names.of(site)?;
    let place = model.sites.get(&site).map(|site| &site.place);
    let is_recorded = matches!(place, Some(Place::Source { .. }));
    (is_recorded || !chains::is_of_library(label)).then_some(label)
}

/// Who usually wakes those that wait where this one does. Ways that lead to one line are one, and so
/// are those of which only a library's code is known.
pub fn usual_waker(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<UsualWaker> {
    let wait = coroutine.suspend()?;
    let wakers = &model.trace_model.site(wait.site, wait.wait)?.wakers;
    let mut places: BTreeMap<_, u64> = BTreeMap::new();
    for (site, wakes) in wakers.places() {
        let label = caller(model, names, *site);
        let function = label.and_then(|label| label.function.clone());
        let place = (function, label.and_then(Label::at));
        *places.entry(place).or_default() += wakes;
    }
    let ((function, at), wakes) = places.into_iter().max_by_key(|(_, wakes)| *wakes)?;
    Some(UsualWaker {
        function,
        at,
        wakes,
        of: wakers.count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-24
    #[test]
    fn where_the_latest_losses_are_not_all_both_bounds_are_told() {
        let words = |least, most| Losses { least, most }.in_words();
        assert_eq!(words(213, Some(213)), "213 records");
        assert_eq!(words(1_408, Some(894_364)), "1 408 to 894 364 records");
        assert_eq!(words(1, None), "1 record or more");
        assert_eq!(words(0, None), "records without number");
    }
}
