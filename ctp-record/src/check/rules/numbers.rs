//! Rules about the numbers that identify events.

use ctp_nostd::dialect::Dialect;
use ctp_nostd::layout::SLOTS;

use super::ReadingPair;
use super::RuleVerdict::{self, Broken, Kept, NotSeen};
use crate::check::station_reading::{Fall, StationReading};

pub(super) fn dialect(pair: &ReadingPair<'_>) -> RuleVerdict {
    match pair.now.dialect {
        None => NotSeen,
        Some(Dialect::PerSlot) => Kept,
        Some(Dialect::PerStation) => Broken(format!(
            "D1, one sequence for the station, in which complete and torn events look the same: {:?}",
            pair.now.seqs
        )),
    }
}

pub(super) fn forward(pair: &ReadingPair<'_>) -> RuleVerdict {
    match (pair.now.fell.or(fall_before(pair)), pair.before) {
        (Some((slot, was, is)), _) => Broken(format!("slot {slot}: seq was {was}, then {is}")),
        (None, Some(before)) => no_repetition(before, pair.now),
        (None, None) => NotSeen,
    }
}

fn fall_before(pair: &ReadingPair<'_>) -> Option<Fall> {
    let before = pair.before?.seqs_after;
    let mut changes = (0..SLOTS).map(|slot| (slot, before[slot], pair.now.seqs[slot]));
    changes.find(|(_, was, is)| is < was)
}

/// Two different events with the same number prove that the number was reused in between.
fn no_repetition(before: &StationReading, now: &StationReading) -> RuleVerdict {
    let rewritten = now.events.iter().find(|(n, epoch)| {
        let same = before.events.iter().find(|(known, _)| known == n);
        same.is_some_and(|(_, was)| was != epoch)
    });
    match rewritten {
        Some((n, _)) => Broken(format!("event {n} was written twice")),
        None if before.seqs == now.seqs => NotSeen,
        None => Kept,
    }
}

/// At any instant the slots hold the newest event and the seven before it.
pub(super) fn no_gap(pair: &ReadingPair<'_>) -> RuleVerdict {
    let is_sure = pair.now.is_still && !pair.is_jumbled;
    let Some(newest) = pair.now.newest().filter(|_| is_sure) else {
        return NotSeen;
    };
    let step = match pair.now.dialect {
        Some(Dialect::PerStation) => 1,
        _ => 0,
    };
    for back in 0..(SLOTS as u64).min(newest.saturating_add(1)) {
        let n = newest - back;
        let slot = ((n + step) % SLOTS as u64) as usize;
        if pair.now.event_in(slot) != Some(n) {
            let seq = pair.now.seqs[slot];
            return Broken(format!(
                "event {newest} is there, but slot {slot} has seq {seq}, not event {n}"
            ));
        }
    }
    Kept
}

/// A slot must not be odd if a later event was already complete at the earlier reading.
pub(super) fn even(pair: &ReadingPair<'_>) -> RuleVerdict {
    let is_numbered = pair.now.dialect == Some(Dialect::PerSlot) && !pair.is_jumbled;
    let before = pair.before.filter(|_| is_numbered);
    let Some(newest) = before.and_then(StationReading::newest_whole) else {
        return NotSeen;
    };
    let mut slots = 0..SLOTS;
    let left = slots.find(|&slot| {
        pair.now.seqs[slot] % 2 == 1 && pair.now.event_in(slot).is_some_and(|n| n < newest)
    });
    left.map_or(Kept, |slot| {
        let seq = pair.now.seqs[slot];
        Broken(format!(
            "slot {slot}: seq {seq} is odd, and event {newest} came later"
        ))
    })
}

pub(super) fn single_writer(pair: &ReadingPair<'_>) -> RuleVerdict {
    if !pair.now.is_still || pair.is_jumbled || pair.now.dialect != Some(Dialect::PerSlot) {
        return NotSeen;
    }
    let left = pair
        .before
        .is_some_and(|before| before.seqs == pair.now.seqs);
    let odd = (0..SLOTS).filter(|slot| pair.now.seqs[*slot] % 2 == 1);
    // A slot that stays odd breaks another rule: only the two newest events count here.
    let recent = odd.filter(|slot| {
        let n = pair.now.event_in(*slot);
        n.zip(pair.now.newest())
            .is_some_and(|(n, newest)| newest.saturating_sub(n) <= 1)
    });
    let odd: Vec<usize> = recent.collect();
    match odd.as_slice() {
        [a, b, ..] if !left && even(pair) == Kept => {
            Broken(format!("slots {a} and {b} were written at the same time"))
        }
        _ => Kept,
    }
}

/// A writer stores the event and then the head, which counts it. At any instant the head is therefore the index of the
/// newest event, or one more. If the coroutine is dead, the head must be one more.
pub(super) fn head(pair: &ReadingPair<'_>) -> RuleVerdict {
    let now = pair.now;
    let Some(newest) = now.newest().filter(|_| now.is_extended()) else {
        return NotSeen;
    };
    if no_gap(pair) != Kept || now.dialect != Some(Dialect::PerSlot) {
        return NotSeen;
    }
    match now.head.checked_sub(newest) {
        Some(1) => Kept,
        Some(0) if now.raw.is_dead == 0 => Kept,
        _ => Broken(format!(
            "event_head is {}, the newest event is {newest}, and is_dead is {}",
            now.head, now.raw.is_dead
        )),
    }
}
