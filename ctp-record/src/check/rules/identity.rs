//! Rules about the coroutine of a station: its identity, its death, and its table entries.

use ctp_nostd::Kind;
use ctp_nostd::layout::Interned;

use super::ReadingPair;
use super::RuleVerdict::{self, Broken, Kept, NotSeen};
use crate::check::station_reading::FreeByte;

/// The largest code of a kind of coroutine.
const MAX_KIND: u8 = Kind::Bare as u8;

pub(super) fn probe_id(pair: &ReadingPair<'_>) -> RuleVerdict {
    match (pair.now.dialect, pair.now.raw.probe_id) {
        (None, _) => NotSeen,
        (_, 0) => Broken("the station has events and probe_id 0".to_owned()),
        _ => Kept,
    }
}

pub(super) fn death(pair: &ReadingPair<'_>) -> RuleVerdict {
    let before = pair.before.filter(|before| {
        let (before, now) = (&before.raw, &pair.now.raw);
        (before.probe_id, before.generation) == (now.probe_id, now.generation)
    });
    match (pair.now.raw.is_dead, before) {
        (dead @ 2.., _) => Broken(format!("is_dead is {dead}")),
        // Only if nothing changes during this reading: otherwise it may have words of the station's next coroutine.
        (0, Some(before)) if before.raw.is_dead == 1 && pair.now.is_still => {
            Broken("is_dead is 0 again".to_owned())
        }
        // Only if nothing changed during the earlier reading: otherwise its sequence numbers may be older than its
        // `is_dead`.
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
    if pair.now.is_extended() || pair.now.dialect.is_none() {
        return NotSeen;
    }
    let Some(FreeByte { word, slot, value }) = pair.now.written_free_byte else {
        return Kept;
    };
    Broken(match slot {
        Some(slot) => format!("slot {slot}: {word} is {value:#x}"),
        None => format!("{word} is {value:#x}"),
    })
}

pub(super) fn extension(pair: &ReadingPair<'_>) -> RuleVerdict {
    let is_settled = pair.now.is_still && pair.now.is_extended();
    let Some(identity) = pair.now.identity.as_ref().filter(|_| is_settled) else {
        return NotSeen;
    };
    let (head, attached) = (pair.now.head, pair.attached);
    if identity.base_n > head && !pair.is_jumbled {
        let base_n = identity.base_n;
        return Broken(format!("base_n {base_n} is beyond event_head {head}"));
    }
    if identity.owner == 0 || identity.owner as usize > attached {
        return Broken(format!(
            "owner {} is no row of the {attached} attached processes",
            identity.owner
        ));
    }
    if identity.kind > MAX_KIND {
        return Broken(format!("kind is {}", identity.kind));
    }
    // The wake word has as many bits for the use of the station.
    let station_use = (identity.generation / 2) & 0xFFF;
    let wake_use = pair.now.raw.wake_use;
    if wake_use != station_use {
        return Broken(format!(
            "the wake word is of use {wake_use}, the station in use {station_use}"
        ));
    }
    Kept
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
    let Some(id) = pair.now.name() else {
        return NotSeen;
    };
    let names = &pair.region.names;
    match fault_of(names.get(id as usize - 1), names.len()) {
        Some(fault) => Broken(format!("meta is {id}, {fault}")),
        None => Kept,
    }
}

/// What is wrong with the table entry that an id names; `None` if nothing is. The entry may be incomplete, because
/// another thread may be filling it in, but it must have a key.
fn fault_of(entry: Option<&Interned>, entries: usize) -> Option<String> {
    match entry {
        None => Some(format!("the table has {entries} entries")),
        Some(entry) if !entry.is_claimed() => Some("an entry without a key".to_owned()),
        Some(_) => None,
    }
}
