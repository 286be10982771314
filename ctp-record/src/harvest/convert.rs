//! Codes of the shared memory to the words of the trace, each checked.

use ctp_nostd::WaitKind as Stored;
use ctp_nostd::control::AFTER_FILTERED;
use ctp_nostd::dialect::Dialect as Numbering;
use ctp_nostd::inspect::{Identity, WakeState, WokenBy};
use ctp_nostd::lane::Payload;
use ctp_nostd::slot::{Epoch, EventKind as StoredKind, Tail};
use ctp_nostd::{WAIT_IDLE, WAIT_ONE_OF_SEVERAL};
use ctp_trace::record::{
    Birth, CoroutineId, CoroutineKind, Dialect, Event, EventKind, Nanos, SiteId, WaitKind,
    WaitMarks, Waker,
};

/// What an event says, or nothing if it cannot be one.
pub(crate) fn event_kind(epoch: &Epoch, plain: bool) -> Option<EventKind> {
    match (plain, epoch.tail.kind & !AFTER_FILTERED) {
        _ if epoch.timestamp == 0 => None,
        (true, _) if epoch.tail.is_active => Some(EventKind::Run),
        (true, _) => Some(EventKind::Suspend),
        (false, 1) => Some(EventKind::Birth),
        (false, 2) => Some(EventKind::Run),
        (false, 3) => Some(EventKind::Suspend),
        (false, 4) => Some(EventKind::Death),
        (false, _) => None,
    }
}

/// Were events of ours kept out before it?
pub(crate) fn is_after_filtered(epoch: &Epoch) -> bool {
    epoch.tail.kind & AFTER_FILTERED != 0
}

/// A record of a lane as a slot would have it. It does not tell what a suspend has seen of wakes.
#[inline]
pub(crate) fn epoch(
    at: u64,
    payload: &Payload,
    tid: u64,
    generation: u32,
    wakes_seen: impl FnOnce() -> u16,
) -> Epoch {
    let is_run = payload.kind & !AFTER_FILTERED == StoredKind::Run as u8;
    Epoch {
        timestamp: at,
        tid,
        addr: 0,
        site: payload.site,
        arg: if is_run { 0 } else { payload.arg },
        generation,
        tail: Tail {
            kind: payload.kind,
            wait_kind: payload.wait_kind,
            wake_seen: match is_run {
                true => payload.arg as u16,
                false => wakes_seen(),
            },
            ..Tail::default()
        },
    }
}

/// What a suspend says of its wait, which is at this site. A plain v1 peer tells an address; one that
/// is no site is told as it is.
pub(crate) fn describe_wait(event: &mut Event, epoch: &Epoch, plain: bool, site: SiteId) {
    event.site = site;
    if plain {
        event.arg = if site.0 == 0 { epoch.addr } else { 0 };
        return;
    }
    event.wait = wait_kind(epoch.tail.wait_kind);
    event.marks = wait_marks(epoch.tail.wait_kind);
    event.arg = epoch.arg;
    event.wake_seen = epoch.tail.wake_seen;
}

/// The argument of an event that is no suspend: whether it is a death that gives something out.
#[inline]
pub(crate) fn given_out(kind: EventKind, epoch: &Epoch) -> u64 {
    u64::from(kind == EventKind::Death && epoch.arg != 0)
}

/// The wakes that a run knew of when it began. A suspend tells those of the run before it, see
/// [`describe_wait`]; a plain v1 peer tells none.
#[inline]
pub(crate) fn wakes_seen_by_a_run(kind: EventKind, epoch: &Epoch, plain: bool) -> u16 {
    match kind {
        EventKind::Run if !plain => epoch.tail.wake_seen,
        _ => 0,
    }
}

/// What is said of a wait besides its kind.
fn wait_marks(code: u8) -> WaitMarks {
    WaitMarks {
        idle: code & WAIT_IDLE != 0,
        one_of_several: code & WAIT_ONE_OF_SEVERAL != 0,
    }
}

pub(crate) fn wait_kind(code: u8) -> WaitKind {
    match Stored::from_code(code) {
        Stored::Readable => WaitKind::Readable,
        Stored::Writable => WaitKind::Writable,
        Stored::Timer => WaitKind::Timer,
        Stored::Lock => WaitKind::Lock,
        Stored::Channel => WaitKind::Channel,
        Stored::Coroutine => WaitKind::Coroutine,
        Stored::User => WaitKind::User,
        Stored::Yield => WaitKind::Yield,
        _ => WaitKind::Unknown,
    }
}

/// What line 0 of a station says of a coroutine.
pub(crate) fn birth(identity: &Identity, plain: Option<Numbering>, at: Nanos) -> Birth {
    Birth {
        generation: identity.generation,
        probe_id: identity.probe_id,
        at,
        dialect: match plain {
            None => Dialect::Extended,
            Some(Numbering::PerSlot) => Dialect::V1PerSlot,
            Some(Numbering::PerStation) => Dialect::V1PerStation,
        },
        kind: match identity.kind {
            1 => CoroutineKind::Future,
            2 => CoroutineKind::Stackful,
            3 => CoroutineKind::Thread,
            4 => CoroutineKind::Bare,
            _ => CoroutineKind::Unknown,
        },
        ..Birth::default()
    }
}

/// What is new in a lane's count of losses, modulo 2^32. One that goes back is not to be believed, or was
/// read amid others: it tells of none.
pub(crate) fn newly_lost(told: u32, now: u32) -> u32 {
    let more = now.wrapping_sub(told);
    if more > u32::MAX / 2 { 0 } else { more }
}

/// How far ahead of this one a record's event is, of whose index it has the low bits: as near as it can
/// be, negative if it is behind.
#[inline]
pub(crate) fn distance(n: u64, payload: &Payload) -> i64 {
    let unknown = u64::BITS - payload.n_bits();
    (payload.n.wrapping_sub(n) << unknown).cast_signed() >> unknown
}

/// The wakes of a coroutine that was born then: somebody who woke the one before it may have been slow
/// to say so.
pub(crate) fn own_wakes(state: WakeState, birth_ts: u64) -> WakeState {
    match state.at_ns < birth_ts {
        true => WakeState {
            by: WokenBy::Nobody,
            at_ns: 0,
            ..state
        },
        false => state,
    }
}

/// Who woke; `seated` knows who has a [seat word](ctp_nostd::layout::seat_word).
pub(crate) fn waker(by: WokenBy, seated: impl FnOnce(u32) -> Option<CoroutineId>) -> Waker {
    match by {
        WokenBy::Nobody => Waker::Foreign,
        WokenBy::Thread(tid) => Waker::Thread(tid),
        WokenBy::Coroutine(word) => seated(word).map_or(Waker::Foreign, Waker::Coroutine),
    }
}

/// A v1 peer marks a station dead without an event; the trace gets one all the same.
pub(crate) fn plain_death(coroutine: CoroutineId, n: u64, at: Nanos) -> Event {
    Event {
        coroutine,
        n,
        at,
        kind: EventKind::Death,
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // LT-07
    #[test]
    fn a_count_of_losses_goes_round_but_never_back() {
        assert_eq!([newly_lost(7, 7), newly_lost(7, 10)], [0, 3]);
        assert_eq!(newly_lost(u32::MAX - 1, 3), 5, "it comes round");
        assert_eq!([newly_lost(10, 7), newly_lost(3, u32::MAX)], [0, 0]);
    }
}
