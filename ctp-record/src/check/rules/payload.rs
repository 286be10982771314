//! Rules of what is in an event.

use super::Judged::{self, Broken, Kept, NotSeen};
use super::Pair;
use super::numbers::no_gap;

pub(super) fn clock(pair: &Pair<'_>) -> Judged {
    let times = pair
        .now
        .events
        .iter()
        .map(|(n, epoch)| (*n, epoch.timestamp));
    let range = pair.started_ns..=pair.now.now_ns;
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

pub(super) fn time_order(pair: &Pair<'_>) -> Judged {
    // Where numbers do not tell which event came first, times cannot be compared.
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

/// No kernel gives out larger ids (`PID_MAX_LIMIT`).
const LARGEST_TID: u64 = 1 << 22;

pub(super) fn thread(pair: &Pair<'_>) -> Judged {
    let mut events = pair.now.events.iter();
    match events.find(|(_, epoch)| !(1..=LARGEST_TID).contains(&epoch.tid)) {
        Some((n, epoch)) => Broken(format!("event {n} has tid {}", epoch.tid)),
        None if pair.now.events.is_empty() => NotSeen,
        None => Kept,
    }
}

pub(super) fn is_active(pair: &Pair<'_>) -> Judged {
    let bytes = pair.now.raw.is_active;
    match bytes.iter().position(|byte| *byte > 1) {
        Some(slot) => Broken(format!("slot {slot}: is_active is {}", bytes[slot])),
        None if pair.now.events.is_empty() => NotSeen,
        None => Kept,
    }
}
