//! Event blocks: rows of events, wakes and tallies, and deeds between them, stored column by column.
//!
//! Most of a row can be foretold from the rows before it. A control byte a row says what came as
//! foretold; only the rest stands in the columns.

mod decode;
mod encode;
mod expectation;
mod rows;
mod thread_event;

use std::array;

use crate::hash::Map;
use crate::record::{Event, SiteId, WaitKind, WaitMarks};
use expectation::Expectation;

pub(crate) use decode::decode;
pub(crate) use encode::Encoder;

/// Low bits of a control byte: what sort of row. Those of events are the codes of their kinds.
const KIND: u8 = 0x07;
const WAKE: u8 = 4;
const EVENT_COUNTS: u8 = 5;

/// High bits of a control byte: what came as foretold.
const COROUTINE_HIT: u8 = 0x08;
const N_HIT: u8 = 0x10;
const TID_HIT: u8 = 0x20;
const SITE_ARG_HIT: u8 = 0x40;
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
    SiteArg,
    Site,
    Wait,
    Arg,
    Seen,
    Count,
    Waker,
    EventCounts,
    Act,
    RowsBefore,
    ThreadEventTime,
    ThreadEventProcess,
    ThreadEventTid,
    Woken,
    WokenCount,
    ThreadEventBy,
    ThreadEventSite,
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
struct SiteArg {
    /// {wait and marks as in the file 8 | site 32}
    place: u64,
    arg: u64,
}

const WAIT_SHIFT: u32 = 32;

impl SiteArg {
    #[inline]
    fn of(event: &Event) -> Self {
        let code = event.wait.code() | marks_code(event.marks);
        SiteArg::new(event.site, code, event.arg)
    }

    #[inline]
    fn new(site: SiteId, code: u8, arg: u64) -> Self {
        let place = u64::from(site.0) | u64::from(code) << WAIT_SHIFT;
        SiteArg { place, arg }
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
    states: Vec<Expectation>,
    indices: Map<u32, u32>,
    /// The same of those that came last, by low bits of their numbers: who, and the index.
    recent: Box<[(u32, u32); RECENT]>,
}

/// A power of two.
const RECENT: usize = 1024;

impl Oracle {
    fn new() -> Self {
        let (states, indices) = (vec![Expectation::default()], Map::default());
        Oracle {
            coroutine: 0,
            at: 0,
            tid: 0,
            latest: 0,
            states,
            indices,
            recent: Box::new(array::from_fn(unknown)),
        }
    }

    fn clear(&mut self) {
        self.indices.clear();
        self.states.truncate(1);
        *self.recent = array::from_fn(unknown);
        (self.coroutine, self.at, self.tid, self.latest) = (0, 0, 0, 0);
    }

    /// The state that an event or a wake of `coroutine` is foretold from, and changes.
    ///
    /// A coroutine that is new to the block is expected to be like the one before.
    #[inline]
    fn state(&mut self, coroutine: u32) -> &mut Expectation {
        let (owner, recent) = self.recent[coroutine as usize % RECENT];
        self.latest = match owner == coroutine {
            true => recent as usize,
            false => self.look_up(coroutine) as usize,
        };
        &mut self.states[self.latest]
    }

    #[inline(never)]
    fn look_up(&mut self, coroutine: u32) -> u32 {
        let next = self.states.len() as u32;
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
fn unknown(place: usize) -> (u32, u32) {
    (!(place as u32), 0)
}

/// A kind that a later version added reads as not told.
fn wait(code: u8) -> WaitKind {
    WaitKind::of_code(code & !(IDLE | ONE_OF_SEVERAL)).unwrap_or_default()
}

const IDLE: u8 = 0x20;
const ONE_OF_SEVERAL: u8 = 0x40;

fn marks_code(marks: WaitMarks) -> u8 {
    (u8::from(marks.idle) * IDLE) | (u8::from(marks.one_of_several) * ONE_OF_SEVERAL)
}

/// Those of a kind that a later version added are not known either.
fn marks(code: u8) -> WaitMarks {
    let is_known = WaitKind::of_code(code & !(IDLE | ONE_OF_SEVERAL)).is_some();
    WaitMarks {
        idle: is_known && code & IDLE != 0,
        one_of_several: is_known && code & ONE_OF_SEVERAL != 0,
    }
}
