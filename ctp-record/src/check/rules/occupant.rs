//! Rules of the coroutine that occupies a station, and of what goes with it.

use ctp_nostd::intern;

use super::Judged::{self, Broken, Kept, NotSeen};
use super::Pair;
use crate::check::look::Look;

pub(super) fn id(pair: &Pair<'_>) -> Judged {
    match (pair.now.dialect, pair.now.raw.probe_id) {
        (None, _) => NotSeen,
        (_, 0) => Broken("it has events and probe_id 0".to_owned()),
        _ => Kept,
    }
}

pub(super) fn is_dead(pair: &Pair<'_>) -> Judged {
    let occupant = |look: &Look| (look.raw.probe_id, look.raw.generation);
    let before = pair
        .before
        .filter(|before| occupant(before) == occupant(pair.now));
    match (pair.now.raw.is_dead, before) {
        (dead @ 2.., _) => Broken(format!("is_dead is {dead}")),
        // The look before may have copied the numbers before the death came.
        (_, Some(before)) if before.raw.is_dead == 1 && before.still => {
            match before.seqs == pair.now.seqs {
                true => Kept,
                false => Broken("it had events after its death".to_owned()),
            }
        }
        (0, _) => NotSeen,
        _ => Kept,
    }
}

pub(super) fn free_bytes(pair: &Pair<'_>) -> Judged {
    match pair.now.used {
        _ if pair.now.extended() || pair.now.dialect.is_none() => NotSeen,
        Some((word, Some(slot), value)) => Broken(format!("slot {slot}: {word} is {value:#x}")),
        Some((word, None, value)) => Broken(format!("{word} is {value:#x}")),
        None => Kept,
    }
}

pub(super) fn extension(pair: &Pair<'_>) -> Judged {
    let still = pair.now.still && pair.now.extended();
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

/// The bit of a site that is an id, not an address.
const INTERNED: u64 = 1 << 63;

pub(super) fn sites(pair: &Pair<'_>) -> Judged {
    let ids = pair.now.events.iter().filter(|_| pair.now.extended());
    let mut judged = NotSeen;
    for (n, epoch) in ids.filter(|(_, epoch)| epoch.site & INTERNED != 0) {
        let id = epoch.site & !INTERNED;
        judged = Kept;
        if id != 0 && id as usize > pair.sites.len() {
            let room = pair.sites.len();
            return Broken(format!(
                "event {n} has site {id}, the table has {room} entries"
            ));
        }
        // Another thread may still fill it in: only after the next look is it late.
        let was_there = pair
            .before
            .is_some_and(|look| look.events.iter().any(|e| e.0 == *n));
        if was_there && id != 0 && intern::lookup(pair.sites, id as u32).is_none() {
            return Broken(format!(
                "event {n} has site {id}, which nobody has filled in"
            ));
        }
    }
    judged
}
