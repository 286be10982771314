//! Events to columns, some of them at a time: one column after the other, so that what is asked for at
//! once has room in registers.

use super::encode::{Encoder, RECORDS_A_LOOK, kind_code};
use super::expectation::Foretold;
use super::{COROUTINE_HIT, Column, N_HIT, SEEN_HIT, Spot, TID_HIT};
use crate::record::{Event, EventKind, Nanos};
use crate::varint::{put_uint, zigzag};

/// The first of the two columns of times has so many bits of a step.
const LOW_BITS: u32 = 8;

impl Encoder {
    /// Adds events, no more than [may come](Encoder::until_look).
    pub(crate) fn events(&mut self, events: &[Event]) {
        let mut controls = [0; RECORDS_A_LOOK];
        let controls = &mut controls[..events.len()];
        self.foretell(events, controls);
        self.coroutines(events, controls);
        self.column(Column::Control).extend_from_slice(controls);
        self.times(events.iter().map(|event| event.at));
    }

    /// Appends what did not come as foretold, but for who and when, and says what did.
    fn foretell(&mut self, events: &[Event], controls: &mut [u8]) {
        for (index, (event, control)) in events.iter().zip(controls).enumerate() {
            if event.after_filtered {
                self.after_filtered(index);
            }
            // Once for each: other things are asked of a suspend than of a run.
            *control = match event.kind {
                EventKind::Run => self.hits(event, EventKind::Run),
                EventKind::Suspend => self.hits(event, EventKind::Suspend),
                kind => self.hits_of_few(event, kind),
            };
        }
    }

    #[inline(never)]
    fn hits_of_few(&mut self, event: &Event, kind: EventKind) -> u8 {
        self.hits(event, kind)
    }

    #[inline(always)]
    fn hits(&mut self, event: &Event, kind: EventKind) -> u8 {
        let spot = Spot::of(event);
        let tid_before = core::mem::replace(&mut self.oracle.tid, event.tid);
        let expectation = self.oracle.state(event.coroutine.0);
        let foretold = expectation.meet(event, kind, spot, tid_before);
        let numbers = match foretold.is_of(event) {
            true => N_HIT | TID_HIT | SEEN_HIT,
            false => self.surprise(event, foretold.n, foretold.tid, foretold.seen),
        };
        kind_code(kind) | numbers | self.spot(spot, foretold.spot)
    }

    /// So many rows behind those that are there, an event is behind some that were kept out.
    #[cold]
    fn after_filtered(&mut self, index: usize) {
        let row = self.rows() + index;
        put_uint(self.column(Column::AfterFiltered), row as u64);
    }

    /// Appends which numbers did not come as foretold, and returns the bits of those that did.
    #[inline(never)]
    fn surprise(&mut self, event: &Event, n: u64, tid: u64, seen: u16) -> u8 {
        let seen = [event.wake_seen, seen].map(u64::from);
        self.number(Column::N, N_HIT, event.n, n)
            | self.number(Column::Tid, TID_HIT, event.tid, tid)
            | self.number(Column::Seen, SEEN_HIT, seen[0], seen[1])
    }

    /// Appends who it was, where that is not the one before.
    fn coroutines(&mut self, events: &[Event], controls: &mut [u8]) {
        let (mut steps, mut length, mut all) = ([0; RECORDS_A_LOOK], 0, 0);
        let mut before = self.oracle.coroutine;
        for (event, control) in events.iter().zip(controls) {
            let id = event.coroutine.0;
            let step = zigzag(i64::from(id) - i64::from(before));
            steps[length % RECORDS_A_LOOK] = step;
            length += usize::from(id != before);
            *control |= if id == before { COROUTINE_HIT } else { 0 };
            all |= step;
            before = id;
        }
        self.oracle.coroutine = before;
        put_uints(self.column(Column::Coroutine), &steps[..length], all);
    }

    /// Appends times, no more than rows may come.
    pub(super) fn times(&mut self, times: impl Iterator<Item = Nanos>) {
        let (mut low, mut high, mut length, mut all) =
            ([0; RECORDS_A_LOOK], [0; RECORDS_A_LOOK], 0, 0);
        let mut before = self.oracle.at;
        for ((low, high), at) in low.iter_mut().zip(&mut high).zip(times) {
            let step = zigzag(at.0.wrapping_sub(before) as i64);
            (*low, *high) = (step as u8, step >> LOW_BITS);
            all |= *high;
            before = at.0;
            length += 1;
        }
        self.oracle.at = before;
        self.column(Column::Time).extend_from_slice(&low[..length]);
        put_uints(self.column(Column::TimeHigh), &high[..length], all);
    }
}

/// Like `put_uint` of each; `all` has the bits of all of them.
#[inline]
fn put_uints(out: &mut Vec<u8>, values: &[u64], all: u64) {
    match all {
        ..0x80 => out.extend(values.iter().map(|value| *value as u8)),
        _ => values.iter().for_each(|value| put_uint(out, *value)),
    }
}

impl Foretold {
    /// Has all of it come true, but for the spot?
    #[inline]
    fn is_of(&self, event: &Event) -> bool {
        self.n == event.n && self.tid == event.tid && self.seen == event.wake_seen
    }
}
