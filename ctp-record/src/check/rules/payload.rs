//! Rules about the content of an event.

use ctp_nostd::layout::SLOTS;
use ctp_nostd::slot::{Epoch, EventKind};

use super::ReadingPair;
use super::RuleVerdict::{self, Broken, Kept, NotSeen};
use super::numbers::no_gap;
use crate::check::threads::LARGEST_TID;

/// Tolerance for a coarse clock, which is late by up to a kernel tick, and for a probe that has its own clock.
const LEEWAY_NS: u64 = 10_000_000;

/// Accepts the clock of the program's time namespace, too.
pub(super) fn clock(pair: &ReadingPair<'_>) -> RuleVerdict {
    match clock_ahead(pair, 0) {
        Broken(_) if clock_ahead(pair, pair.ahead_ns) == Kept => Kept,
        judged => judged,
    }
}

fn clock_ahead(pair: &ReadingPair<'_>, ahead_ns: i64) -> RuleVerdict {
    let times = pair
        .now
        .events
        .iter()
        .map(|(n, epoch)| (*n, epoch.timestamp));
    let (start_ns, now_ns) = (pair.started_ns, pair.now.now_ns);
    let [start_ns, now_ns] = [start_ns, now_ns].map(|ns| ns.saturating_add_signed(ahead_ns));
    let range = start_ns.saturating_sub(LEEWAY_NS)..=now_ns.saturating_add(LEEWAY_NS);
    let mut wrong = times.filter(|(_, at)| !range.contains(at));
    match wrong.next() {
        Some((n, at)) => Broken(format!("event {n} is at {at}, not within {range:?}")),
        None if pair.now.events.is_empty() => NotSeen,
        None if !range.contains(&pair.now.raw.birth_ts) => Broken(format!(
            "birth_ts is {}, not within {range:?}",
            pair.now.raw.birth_ts
        )),
        None => Kept,
    }
}

pub(super) fn time_order(pair: &ReadingPair<'_>) -> RuleVerdict {
    // Without a known order of events, their times cannot be compared.
    if no_gap(pair) != Kept {
        return NotSeen;
    }
    let mut neighbours = pair.now.events.windows(2);
    match neighbours.find(|two| two[1].1.timestamp < two[0].1.timestamp) {
        Some([(a, first), (b, second)]) => Broken(format!(
            "event {b} is at {}, event {a} before it at {}",
            second.timestamp, first.timestamp
        )),
        _ if pair.now.events.len() < 2 => NotSeen,
        _ => Kept,
    }
}

pub(super) fn thread(pair: &ReadingPair<'_>) -> RuleVerdict {
    let mut events = pair.now.events.iter();
    match events.find(|(_, epoch)| !(1..=LARGEST_TID).contains(&epoch.tid)) {
        Some((n, epoch)) => Broken(format!("event {n} has tid {}", epoch.tid)),
        None if pair.now.events.is_empty() => NotSeen,
        None => Kept,
    }
}

pub(super) fn is_active(pair: &ReadingPair<'_>) -> RuleVerdict {
    let now = pair.now;
    let bytes = now.raw.is_active;
    let fault = match bytes.iter().position(|byte| *byte > 1) {
        Some(slot) => Some(format!("slot {slot}: is_active is {}", bytes[slot])),
        None if now.is_extended() => contradiction(&now.events),
        None if no_gap(pair) == Kept => monotony(&now.events),
        None => None,
    };
    match fault {
        Some(fault) => Broken(fault),
        None if now.events.is_empty() => NotSeen,
        None => Kept,
    }
}

/// Compares the kind of each event with `is_active`, for an extended probe.
fn contradiction(events: &[(u64, Epoch)]) -> Option<String> {
    let (n, epoch) = events.iter().find(|(_, epoch)| contradicts(epoch))?;
    let is_active = u8::from(epoch.tail.is_active);
    let kind = epoch.tail.kind;
    Some(format!(
        "event {n} is of kind {kind}, and its is_active is {is_active}"
    ))
}

/// For a v1 probe, which writes no kinds: no coroutine suspends or runs [`SLOTS`] times in a row, even counting birth
/// and death.
fn monotony(events: &[(u64, Epoch)]) -> Option<String> {
    let (first, rest) = events.split_first()?;
    let is_active = first.1.tail.is_active;
    let is_same = rest
        .iter()
        .all(|(_, epoch)| epoch.tail.is_active == is_active);
    (is_same && events.len() == SLOTS).then(|| {
        let (n, is_active) = (first.0, u8::from(is_active));
        format!("is_active is {is_active} in {SLOTS} events in a row, from event {n} on")
    })
}

/// Whether the kind of the event contradicts `is_active`. Unknown kinds never do.
fn contradicts(epoch: &Epoch) -> bool {
    let is_suspend = match epoch.tail.kind {
        kind if kind == EventKind::Suspend as u8 => true,
        kind if (1..=EventKind::Death as u8).contains(&kind) => false,
        _ => return false,
    };
    epoch.tail.is_active == is_suspend
}

/// Events must carry their station's generation and a kind.
pub(super) fn kind(pair: &ReadingPair<'_>) -> RuleVerdict {
    let now = pair.now;
    let Some(owner) = now.identity.filter(|_| now.is_still && now.is_extended()) else {
        return NotSeen;
    };
    let mut own_part = now.events.iter().filter(|(n, _)| *n >= owner.base_n);
    let wrong = own_part
        .clone()
        .find(|(_, epoch)| epoch.generation != owner.generation || epoch.tail.kind == 0);
    match wrong {
        Some((n, epoch)) => Broken(format!(
            "event {n} is of generation {} and kind {}, the station of generation {}",
            epoch.generation, epoch.tail.kind, owner.generation
        )),
        None if own_part.next().is_none() => NotSeen,
        None => Kept,
    }
}
