//! Event blocks: rows of events, wakes and event counts, with thread events between them, stored column
//! by column.
//!
//! Most fields of a row can be predicted from earlier rows. A control byte per row says which fields
//! were predicted; only the others are in the columns.

mod decode;
mod encode;
mod expectation;
mod rows;
mod thread_event;

use std::array;

use crate::hash::Map;
use crate::record::{Event, PollWakers, SiteId, WaitKind, WaitMarks};
use expectation::Expectation;

pub(crate) use decode::decode;
pub(crate) use encode::BlockEncoder;

/// Low bits of a control byte: the kind of row. Rows of events have the code of the event's kind.
const KIND: u8 = 0x07;
const WAKE: u8 = 4;
const EVENT_COUNTS: u8 = 5;

/// High bits of a control byte: the fields that were predicted.
const COROUTINE_HIT: u8 = 0x08;
const N_HIT: u8 = 0x10;
const TID_HIT: u8 = 0x20;
const SITE_ARG_HIT: u8 = 0x40;
const SEEN_HIT: u8 = 0x80;

/// Flags of event counts.
const TORN: u8 = 1;
const INEXACT: u8 = 2;
/// Above the flags in column 27: the kind of the filtered latest event, or `NOT_HIDDEN`.
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
    /// Index in an array of all columns.
    fn index(self) -> usize {
        self as usize - 1
    }
}

/// The part of an event that repeats most: its site and what it waits for. Two words, because it is
/// compared and copied for each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct SiteArg {
    /// The site in bits 0 to 31; the code of the wait and its marks, as in the file, in bits 32 to 39.
    place: u64,
    arg: u64,
}

const WAIT_SHIFT: u32 = 32;

impl SiteArg {
    #[inline]
    fn of(event: &Event) -> Self {
        SiteArg::new(event.site, known_code(event.wait, event.marks), event.arg)
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

/// Predicts the coming rows. The encoder and the decoder keep the same state, for one block.
struct RowPredictor {
    /// The coroutine of the previous row.
    coroutine: u32,
    /// The time of the previous row that has a time.
    at: u64,
    /// The thread of the previous event.
    tid: u64,
    /// Index of the state that the previous row changed.
    latest: usize,
    /// One state per coroutine. The state with index 0 belongs to no coroutine: the first coroutine of a
    /// block is predicted from it.
    states: Vec<Expectation>,
    indices: Map<u32, u32>,
    /// A cache of `indices`: the number of a coroutine and the index of its state. The low bits of the
    /// number select the entry.
    recent: Box<[(u32, u32); RECENT]>,
}

/// How many entries `recent` has. A power of two, so that the low bits of a number select the entry.
const RECENT: usize = 1024;

impl RowPredictor {
    fn new() -> Self {
        let (states, indices) = (vec![Expectation::default()], Map::default());
        RowPredictor {
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

    /// The state that predicts events and wakes of `coroutine`.
    ///
    /// A coroutine that is new to the block starts with predictions from the coroutine of the previous row.
    #[inline]
    fn state(&mut self, coroutine: u32) -> &mut Expectation {
        let (owner, recent) = self.recent[coroutine as usize % RECENT];
        self.latest = if owner == coroutine {
            recent as usize
        } else {
            self.find_or_add(coroutine) as usize
        };
        &mut self.states[self.latest]
    }

    #[inline(never)]
    fn find_or_add(&mut self, coroutine: u32) -> u32 {
        let next = self.states.len() as u32;
        let index = *self.indices.entry(coroutine).or_insert(next);
        if index == next {
            let state = self.states[self.latest].for_new_coroutine();
            self.states.push(state);
        }
        self.recent[coroutine as usize % RECENT] = (coroutine, index);
        index
    }
}

/// An unused entry of `recent` at index `place`: the number in it belongs to another entry, so no
/// coroutine matches.
fn unknown(place: usize) -> (u32, u32) {
    (!(place as u32), 0)
}

/// The kind of wait of a code. A kind that a later version added is read as `Unknown`.
fn wait(code: u8) -> WaitKind {
    WaitKind::of_code(code & !(IDLE | ONE_OF_SEVERAL)).unwrap_or_default()
}

const IDLE: u8 = 0x20;
const ONE_OF_SEVERAL: u8 = 0x40;
/// Flag in the code of an acquire: others may hold the resource at the same time. Readers before 1.6 ignore
/// this bit.
const SHARED: u8 = 0x40;

/// The code of a wait with its marks.
#[inline]
fn known_code(kind: WaitKind, marks: WaitMarks) -> u8 {
    wait_code(kind, marks.wakers) | marks_code(marks)
}

fn marks_code(marks: WaitMarks) -> u8 {
    (u8::from(marks.idle) * IDLE) | (u8::from(marks.has_others) * ONE_OF_SEVERAL)
}

/// Codes that replace the code of an unknown kind of wait if the poll took no waker: no waker is left, or
/// only a waker of an earlier poll. Files have these codes since version 1.6.
const UNREGISTERED: u8 = 0x10;
const EARLIER_WAKER: u8 = 0x11;

fn wait_code(kind: WaitKind, wakers: PollWakers) -> u8 {
    match (kind, wakers) {
        (WaitKind::Unknown, PollWakers::Unregistered) => UNREGISTERED,
        (WaitKind::Unknown, PollWakers::Earlier) => EARLIER_WAKER,
        _ => kind.code(),
    }
}

fn poll_wakers(kind: u8) -> PollWakers {
    match kind {
        UNREGISTERED => PollWakers::Unregistered,
        EARLIER_WAKER => PollWakers::Earlier,
        _ => PollWakers::Taken,
    }
}

/// The marks of a code. If the kind of wait is not known to this version, its marks are ignored.
fn marks(code: u8) -> WaitMarks {
    let kind = code & !(IDLE | ONE_OF_SEVERAL);
    let wakers = poll_wakers(kind);
    let is_known = wakers != PollWakers::Taken || WaitKind::of_code(kind).is_some();
    WaitMarks {
        wakers,
        idle: is_known && code & IDLE != 0,
        has_others: is_known && code & ONE_OF_SEVERAL != 0,
    }
}
