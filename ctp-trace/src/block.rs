//! Event blocks: rows of events, wakes and tallies, and deeds between them, stored column by column.
//!
//! Most of a row can be foretold from the rows before it. A control byte a row says what came as
//! foretold; only the rest stands in the columns.

mod decode;
mod deed;
mod encode;
mod rows;

use std::array;

use crate::hash::Map;
use crate::record::{Event, EventKind, SiteId, WaitKind, WaitMarks};

pub(crate) use decode::decode;
pub(crate) use encode::Encoder;

/// Low bits of a control byte: what sort of row.
const KIND: u8 = 0x07;
const BIRTH: u8 = 0;
const RUN: u8 = 1;
const SUSPEND: u8 = 2;
const DEATH: u8 = 3;
const WAKE: u8 = 4;
const TALLY: u8 = 5;

/// High bits of a control byte: what came as foretold.
const COROUTINE_HIT: u8 = 0x08;
const N_HIT: u8 = 0x10;
const TID_HIT: u8 = 0x20;
const SPOT_HIT: u8 = 0x40;
const SEEN_HIT: u8 = 0x80;

/// Flags of a tally.
const TORN: u8 = 1;
const INEXACT: u8 = 2;
/// Above the flags in column 27: the kind of the latest event, or this one.
const HIDDEN_SHIFT: u32 = 2;
const NOT_HIDDEN: u8 = 4;

const COLUMNS: usize = 28;

/// A column, by its number in the file.
#[derive(Clone, Copy)]
enum Column {
    Control = 1,
    Coroutine,
    N,
    Time,
    TimeHigh,
    Tid,
    Spot,
    Site,
    Wait,
    Arg,
    Seen,
    Count,
    Waker,
    Tally,
    Act,
    RowsBefore,
    DeedTime,
    DeedProcess,
    DeedTid,
    Woken,
    WokenCount,
    DeedBy,
    DeedSite,
    Resource,
    Lost,
    AfterFiltered,
    Hidden,
    Wakers,
}

impl Column {
    /// Its place in an array of all columns.
    fn index(self) -> usize {
        self as usize - 1
    }
}

/// Where, and on what: the part of events that repeats itself. It is compared and copied at each
/// event, which is why it is two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Spot {
    /// {wait and marks as in the file 8 | site 32}
    place: u64,
    arg: u64,
}

const WAIT_SHIFT: u32 = 32;

impl Spot {
    #[inline]
    fn of(event: &Event) -> Self {
        let code = wait_code(event.wait) | marks_code(event.marks);
        Spot::new(event.site, code, event.arg)
    }

    #[inline]
    fn new(site: SiteId, code: u8, arg: u64) -> Self {
        let place = u64::from(site.0) | u64::from(code) << WAIT_SHIFT;
        Spot { place, arg }
    }

    fn site(self) -> SiteId {
        SiteId(self.place as u32)
    }

    fn code(self) -> u8 {
        (self.place >> WAIT_SHIFT) as u8
    }
}

/// What the coming rows are foretold from. Both directions keep the same one, for one block.
struct Oracle {
    /// Of the row before.
    coroutine: u32,
    /// Of the row before that has a time.
    at: u64,
    /// Of the event before.
    tid: u64,
    /// Index of the state that the row before changed.
    latest: usize,
    /// The first one is nobody's: the first coroutine of a block is like it.
    states: Vec<State>,
    indices: Map<u32, usize>,
    /// The same of those that came last, by low bits of their numbers: who, and the index.
    recent: Box<[(u32, usize); RECENT]>,
}

/// A power of two.
const RECENT: usize = 1024;

impl Oracle {
    fn new() -> Self {
        let (states, indices) = (vec![State::default()], Map::default());
        Oracle {
            coroutine: 0,
            at: 0,
            tid: 0,
            latest: 0,
            states,
            indices,
            recent: Box::new(array::from_fn(nobody)),
        }
    }

    fn clear(&mut self) {
        self.indices.clear();
        self.states.truncate(1);
        *self.recent = array::from_fn(nobody);
        (self.coroutine, self.at, self.tid, self.latest) = (0, 0, 0, 0);
    }

    /// The state that an event or a wake of `coroutine` is foretold from, and changes.
    ///
    /// A coroutine that is new to the block is expected to be like the one before.
    #[inline]
    fn state(&mut self, coroutine: u32) -> &mut State {
        let (whose, recent) = self.recent[coroutine as usize % RECENT];
        self.latest = match whose == coroutine {
            true => recent,
            false => self.look_up(coroutine),
        };
        &mut self.states[self.latest]
    }

    #[inline(never)]
    fn look_up(&mut self, coroutine: u32) -> usize {
        let next = self.states.len();
        let index = *self.indices.entry(coroutine).or_insert(next);
        if index == next {
            let state = self.states[self.latest].of_a_stranger();
            self.states.push(state);
        }
        self.recent[coroutine as usize % RECENT] = (coroutine, index);
        index
    }
}

/// What stands in this place of the recent ones while nobody does: a number that belongs elsewhere.
fn nobody(place: usize) -> (u32, usize) {
    (!(place as u32), 0)
}

/// What is expected of the next row of a coroutine.
#[derive(Clone, Copy, Default)]
struct State {
    n: u64,
    tid: u64,
    wakes: u32,
    suspended: Habit,
    other: Habit,
}

impl State {
    fn of_a_stranger(&self) -> Self {
        let mut state = *self;
        state.suspended.met = false;
        state.other.met = false;
        state
    }

    fn habit(&mut self, kind: EventKind) -> &mut Habit {
        if kind == EventKind::Suspend {
            &mut self.suspended
        } else {
            &mut self.other
        }
    }

    /// What the next event of this kind will say.
    #[inline]
    fn foretell(&mut self, kind: EventKind, tid_before: u64) -> Foretold {
        let (n, tid) = (self.n, self.tid_of(kind, tid_before));
        let habit = self.habit(kind);
        Foretold {
            n,
            tid,
            spot: habit.next_spot(),
            seen: habit.next_seen(),
        }
    }

    /// It has come. Gives what was foretold.
    #[inline]
    fn meet(&mut self, event: &Event, spot: Spot, tid_before: u64) -> Foretold {
        let tid = self.tid_of(event.kind, tid_before);
        self.tid = event.tid;
        let n = core::mem::replace(&mut self.n, event.n.wrapping_add(1));
        let habit = self.habit(event.kind);
        Foretold {
            n,
            tid,
            spot: habit.meet_spot(spot),
            seen: habit.meet_seen(event.wake_seen),
        }
    }

    /// A run may be on any thread; what follows it is on the same one.
    #[inline]
    fn tid_of(&self, kind: EventKind, tid_before: u64) -> u64 {
        match kind {
            EventKind::Birth | EventKind::Run => tid_before,
            EventKind::Suspend | EventKind::Death => self.tid,
        }
    }
}

/// What an event is expected to say.
struct Foretold {
    n: u64,
    tid: u64,
    spot: Spot,
    seen: u16,
}

impl Foretold {
    /// Has all of it come true?
    #[inline]
    fn is_met_by(&self, event: &Event, spot: Spot) -> bool {
        let is_met = self.n == event.n && self.tid == event.tid && self.seen == event.wake_seen;
        is_met && self.spot == spot
    }
}

/// What a coroutine's suspends have in common, or its other events.
#[derive(Clone, Copy, Default)]
struct Habit {
    /// The latest first.
    spots: [Spot; 4],
    /// All of them are the same.
    is_steady: bool,
    seen: u16,
    step: u16,
    /// The block has such an event of this coroutine.
    met: bool,
}

impl Habit {
    /// Coroutines go round in loops: what came after the latest spot the last time comes again.
    #[inline]
    fn next_spot(&self) -> Spot {
        let [latest, rest @ ..] = &self.spots;
        if self.is_steady {
            return *latest;
        }
        match rest.iter().position(|spot| spot == latest) {
            Some(before) => self.spots[before],
            None => *latest,
        }
    }

    /// Wakes between two runs are most often as many as the last time.
    #[inline]
    fn next_seen(&self) -> u16 {
        self.seen.wrapping_add(self.step)
    }

    /// It was here. Gives where it was expected.
    #[inline]
    fn meet_spot(&mut self, spot: Spot) -> Spot {
        match self.is_steady && self.spots[0] == spot {
            true => spot,
            false => self.meet_another(spot),
        }
    }

    #[inline(never)]
    fn meet_another(&mut self, spot: Spot) -> Spot {
        let foretold = self.next_spot();
        self.spots.rotate_right(1);
        self.spots[0] = spot;
        self.is_steady = self.spots.iter().all(|one| *one == spot);
        foretold
    }

    /// So many were known. Gives how many were expected.
    #[inline]
    fn meet_seen(&mut self, seen: u16) -> u16 {
        let foretold = self.next_seen();
        if self.met {
            self.step = seen.wrapping_sub(self.seen);
        }
        self.seen = seen;
        self.met = true;
        foretold
    }
}

fn wait_code(wait: WaitKind) -> u8 {
    match wait {
        WaitKind::Unknown => 0,
        WaitKind::Readable => 1,
        WaitKind::Writable => 2,
        WaitKind::Timer => 3,
        WaitKind::Lock => 4,
        WaitKind::Channel => 5,
        WaitKind::Coroutine => 6,
        WaitKind::User => 7,
        WaitKind::Yield => 8,
    }
}

const IDLE: u8 = 0x20;
const ONE_OF_SEVERAL: u8 = 0x40;

fn marks_code(marks: WaitMarks) -> u8 {
    (u8::from(marks.idle) * IDLE) | (u8::from(marks.one_of_several) * ONE_OF_SEVERAL)
}

/// Those of a kind that a later version added are not known either.
fn marks(code: u8) -> WaitMarks {
    let is_known = code & !(IDLE | ONE_OF_SEVERAL) <= wait_code(WaitKind::Yield);
    WaitMarks {
        idle: is_known && code & IDLE != 0,
        one_of_several: is_known && code & ONE_OF_SEVERAL != 0,
    }
}

/// A kind that a later version added reads as not told.
fn wait(code: u8) -> WaitKind {
    match code & !(IDLE | ONE_OF_SEVERAL) {
        1 => WaitKind::Readable,
        2 => WaitKind::Writable,
        3 => WaitKind::Timer,
        4 => WaitKind::Lock,
        5 => WaitKind::Channel,
        6 => WaitKind::Coroutine,
        7 => WaitKind::User,
        8 => WaitKind::Yield,
        _ => WaitKind::Unknown,
    }
}
