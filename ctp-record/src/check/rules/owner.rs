//! Rules about the coroutine of a station, its identity and its table entries.

use ctp_nostd::layout::Interned;

use super::ReadingPair;
use super::RuleVerdict::{self, Broken, Kept, NotSeen};

pub(super) fn id(pair: &ReadingPair<'_>) -> RuleVerdict {
    match (pair.now.dialect, pair.now.raw.probe_id) {
        (None, _) => NotSeen,
        (_, 0) => Broken("the station has events and probe_id 0".to_owned()),
        _ => Kept,
    }
}

pub(super) fn is_dead(pair: &ReadingPair<'_>) -> RuleVerdict {
    let before = pair.before.filter(|before| {
        let (before, now) = (&before.raw, &pair.now.raw);
        (before.probe_id, before.generation) == (now.probe_id, now.generation)
    });
    match (pair.now.raw.is_dead, before) {
        (dead @ 2.., _) => Broken(format!("is_dead is {dead}")),
        // Words of the next coroutine may be read beside those of this one while the station changes.
        (0, Some(before)) if before.raw.is_dead == 1 && pair.now.is_still => {
            Broken("is_dead is 0 again".to_owned())
        }
        // The earlier reading may have copied the numbers before the death came.
        (_, Some(before)) if before.raw.is_dead == 1 && before.is_still => {
            if before.seqs == pair.now.seqs {
                Kept
            } else {
                Broken("the station had events after is_dead".to_owned())
            }
        }
        (0, _) => NotSeen,
        _ => Kept,
    }
}

pub(super) fn free_bytes(pair: &ReadingPair<'_>) -> RuleVerdict {
    match pair.now.used {
        _ if pair.now.is_extended() || pair.now.dialect.is_none() => NotSeen,
        Some((word, Some(slot), value)) => Broken(format!("slot {slot}: {word} is {value:#x}")),
        Some((word, None, value)) => Broken(format!("{word} is {value:#x}")),
        None => Kept,
    }
}

pub(super) fn extension(pair: &ReadingPair<'_>) -> RuleVerdict {
    let still = pair.now.is_still && pair.now.is_extended();
    let Some(identity) = pair.now.identity.as_ref().filter(|_| still) else {
        return NotSeen;
    };
    let uses = (identity.generation / 2) & 0xFFF;
    match identity {
        _ if identity.base_n > pair.now.head && !pair.is_jumbled => Broken(format!(
            "base_n {} is beyond event_head {}",
            identity.base_n, pair.now.head
        )),
        _ if identity.owner == 0 || identity.owner as usize > pair.attached => Broken(format!(
            "owner {} is no row of the {} attached processes",
            identity.owner, pair.attached
        )),
        _ if identity.kind > 4 => Broken(format!("kind is {}", identity.kind)),
        _ if pair.now.raw.wake_use != uses => Broken(format!(
            "the wake word is of use {}, the station in use {uses}",
            pair.now.raw.wake_use
        )),
        _ => Kept,
    }
}

pub(super) fn sites(pair: &ReadingPair<'_>) -> RuleVerdict {
    let mut judged = NotSeen;
    let region = &pair.region;
    let entries = region.sites.len() + region.chains.len();
    for (n, id) in pair.now.sites() {
        if let Some(fault) = fault_of(region.entry_of_site(id), entries) {
            return Broken(format!("event {n} has site {id}, {fault}"));
        }
        judged = Kept;
    }
    judged
}

pub(super) fn names(pair: &ReadingPair<'_>) -> RuleVerdict {
    match pair.now.name() {
        None => NotSeen,
        Some(id) => match fault_of(
            pair.region.names.get(id as usize - 1),
            pair.region.names.len(),
        ) {
            Some(fault) => Broken(format!("meta is {id}, {fault}")),
            None => Kept,
        },
    }
}

/// A thread may use the id of an entry that another thread is still filling in, but an entry without a key has no id
/// yet.
fn fault_of(entry: Option<&Interned>, entries: usize) -> Option<String> {
    match entry {
        None => Some(format!("the table has {entries} entries")),
        Some(entry) if !entry.is_claimed() => Some("an entry without a key".to_owned()),
        Some(_) => None,
    }
}
