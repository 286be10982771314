//! Encodes rows to columns.

use super::rows::{Rows, step};
use super::thread_event::Expected;
use super::{
    COLUMNS, COROUTINE_HIT, Column, EVENT_COUNTS, HIDDEN_SHIFT, INEXACT, N_HIT, NOT_HIDDEN,
    RowPredictor, SEEN_HIT, SITE_ARG_HIT, SiteArg, TID_HIT, TORN, WAKE,
};
use crate::codec::payload::{PartKind, Payload};
use crate::codec::varint::{put_bytes, put_int, put_uint};
use crate::format::{FULL_PAYLOAD_BYTES, MAX_ROWS};
use crate::hash::Map;
use crate::record::{CoroutineId, Event, EventCounts, EventKind, Nanos, Wake, Waker};

/// The size is checked once per this many records, which take less than a hundred bytes each.
const RECORDS_PER_CHECK: usize = 64;
const _: () = assert!(MAX_ROWS.is_multiple_of(RECORDS_PER_CHECK));

/// The block being written.
pub(crate) struct BlockEncoder {
    columns: [Vec<u8>; COLUMNS],
    /// The latest rows, which are not in the columns yet.
    pending: Rows,
    /// Records until the next check of the size.
    until_check: usize,
    pub(super) predictor: RowPredictor,
    pub(super) expected: Expected,
    site_args: Map<SiteArg, u64>,
    /// The latest site and argument with their number, because consecutive events often share them.
    latest_site_arg: (SiteArg, u64),
}

impl BlockEncoder {
    pub(crate) fn new() -> Self {
        BlockEncoder {
            columns: Default::default(),
            pending: Rows::default(),
            until_check: RECORDS_PER_CHECK,
            predictor: RowPredictor::new(),
            expected: Expected::default(),
            site_args: Map::default(),
            latest_site_arg: (SiteArg::default(), 0),
        }
    }

    #[inline(always)]
    pub(crate) fn event(&mut self, event: &Event) {
        if event.after_filtered {
            self.after_filtered();
        }
        // `hits` is compiled separately for each of the two common kinds, because the prediction depends on the
        // kind.
        let hits = match event.kind {
            EventKind::Run => self.hits(event, EventKind::Run),
            EventKind::Suspend => self.hits(event, EventKind::Suspend),
            kind => self.hits_of_rare_kind(event, kind),
        };
        let control = event.kind.code() | self.coroutine(event.coroutine) | hits;
        self.row(control, event.at);
    }

    #[inline(never)]
    fn hits_of_rare_kind(&mut self, event: &Event, kind: EventKind) -> u8 {
        self.hits(event, kind)
    }

    /// Appends the fields that were not predicted, except coroutine and time. Returns the control bits of
    /// the predicted fields.
    #[inline(always)]
    fn hits(&mut self, event: &Event, kind: EventKind) -> u8 {
        let site_arg = SiteArg::of(event);
        let tid_before = core::mem::replace(&mut self.predictor.tid, event.tid);
        let expectation = self.predictor.state(event.coroutine.0);
        let predicted = expectation.learn(event, kind, site_arg, tid_before);
        let numbers = if predicted.are_numbers_of(event) {
            N_HIT | TID_HIT | SEEN_HIT
        } else {
            self.unpredicted_numbers(event, predicted.n, predicted.tid, predicted.seen)
        };
        numbers | self.site_arg(site_arg, predicted.site_arg)
    }

    /// Notes that the next row is an event after filtered events.
    #[cold]
    fn after_filtered(&mut self) {
        let row = self.rows() as u64;
        put_uint(self.column(Column::AfterFiltered), row);
    }

    /// Appends the numbers that were not predicted. Returns the control bits of the predicted numbers.
    #[inline(never)]
    fn unpredicted_numbers(&mut self, event: &Event, n: u64, tid: u64, seen: u16) -> u8 {
        let (now, predicted) = (event.wake_seen.into(), seen.into());
        self.number(Column::N, N_HIT, event.n, n)
            | self.number(Column::Tid, TID_HIT, event.tid, tid)
            | self.number(Column::Seen, SEEN_HIT, now, predicted)
    }

    pub(crate) fn wake(&mut self, wake: &Wake) {
        let control = WAKE | self.coroutine(wake.coroutine);
        self.row(control, wake.at);
        let state = self.predictor.state(wake.coroutine.0);
        let before = core::mem::replace(&mut state.wakes, wake.count);
        let step = i64::from(wake.count) - i64::from(before);
        put_int(self.column(Column::Count), step);
        put_uint(self.column(Column::Waker), waker_code(wake.waker));
    }

    pub(crate) fn event_counts(&mut self, event_counts: &EventCounts) {
        if event_counts.filtered > 0 || event_counts.hidden.is_some() {
            self.filtered(event_counts);
        }
        let control = EVENT_COUNTS | self.coroutine(event_counts.coroutine);
        self.pending.settle(&mut self.columns);
        self.column(Column::Control).push(control);
        let column = self.column(Column::EventCounts);
        // Readers before 1.2 would otherwise base a verdict on an event that is not the latest.
        let is_inexact = event_counts.inexact || event_counts.hidden.is_some();
        let torn = u8::from(event_counts.torn.is_some()) * TORN;
        column.push(torn | (u8::from(is_inexact) * INEXACT));
        put_uint(column, event_counts.attempted);
        put_int(
            column,
            event_counts.attempted.wrapping_sub(event_counts.recorded) as i64,
        );
        if let Some(n) = event_counts.torn {
            put_uint(column, n);
        }
        if let Some(wakers) = event_counts.wakers {
            let row = self.rows() as u64 - 1;
            let column = self.column(Column::Wakers);
            put_uint(column, row);
            put_uint(column, wakers.into());
        }
    }

    /// Appends the fields that event counts have since 1.2.
    fn filtered(&mut self, event_counts: &EventCounts) {
        let row = self.rows() as u64;
        let column = self.column(Column::Hidden);
        put_uint(column, row);
        put_uint(column, event_counts.filtered);
        let inexact = if event_counts.inexact { INEXACT } else { 0 };
        column.push(
            inexact | event_counts.hidden.map_or(NOT_HIDDEN, EventKind::code) << HIDDEN_SHIFT,
        );
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows() == 0 && self.columns[Column::Act.index()].is_empty()
    }

    pub(super) fn rows(&self) -> usize {
        self.columns[Column::Control.index()].len() + self.pending.len()
    }

    /// Whether the block is full. Must be called once after each record.
    #[inline]
    pub(crate) fn is_full(&mut self) -> bool {
        self.until_check -= 1;
        self.until_check == 0 && self.is_full_now()
    }

    fn is_full_now(&mut self) -> bool {
        self.until_check = RECORDS_PER_CHECK;
        self.pending.settle(&mut self.columns);
        let records = self.rows() + self.columns[Column::Act.index()].len();
        let bytes = self.columns.iter().map(Vec::len).sum::<usize>();
        records >= MAX_ROWS || FULL_PAYLOAD_BYTES <= bytes
    }

    /// Appends the block to `out` and starts the next block.
    pub(crate) fn finish(&mut self, out: &mut Payload) {
        self.pending.settle(&mut self.columns);
        self.until_check = RECORDS_PER_CHECK;
        for (number, column) in (1..).zip(&mut self.columns) {
            if !column.is_empty() {
                out.cut(PartKind::Text);
                out.bytes.push(number);
                put_bytes(&mut out.bytes, column);
                column.clear();
                if number == Column::Time as u8 {
                    out.cut(PartKind::Noise);
                }
            }
        }
        self.predictor.clear();
        self.expected = Expected::default();
        self.site_args.clear();
        self.latest_site_arg = (SiteArg::default(), 0);
    }

    pub(super) fn column(&mut self, column: Column) -> &mut Vec<u8> {
        &mut self.columns[column.index()]
    }

    #[inline]
    fn coroutine(&mut self, CoroutineId(id): CoroutineId) -> u8 {
        let before = core::mem::replace(&mut self.predictor.coroutine, id);
        self.number(Column::Coroutine, COROUTINE_HIT, id.into(), before.into())
    }

    /// Appends a control byte and a time.
    #[inline]
    fn row(&mut self, control: u8, at: Nanos) {
        let before = core::mem::replace(&mut self.predictor.at, at.0);
        let step = step(Nanos(before), at);
        if !self.pending.push(control, step) {
            self.long_row(control, step);
        }
    }

    #[inline(never)]
    fn long_row(&mut self, control: u8, step: u64) {
        self.pending.settle(&mut self.columns);
        self.column(Column::Control).push(control);
        self.column(Column::Time).push(step as u8);
        put_uint(self.column(Column::TimeHigh), step >> 8);
    }

    /// Appends a number unless it was predicted. Returns `hit` if it was predicted, otherwise 0.
    #[inline]
    fn number(&mut self, column: Column, hit: u8, value: u64, predicted: u64) -> u8 {
        if value == predicted {
            return hit;
        }
        put_int(self.column(column), value.wrapping_sub(predicted) as i64);
        0
    }

    #[inline]
    fn site_arg(&mut self, site_arg: SiteArg, predicted: SiteArg) -> u8 {
        match self.latest_site_arg {
            _ if site_arg == predicted => return SITE_ARG_HIT,
            (latest, number) if site_arg == latest && 0 < number => {
                put_uint(self.column(Column::SiteArg), number);
            }
            _ => self.another_site_arg(site_arg, predicted),
        }
        0
    }

    /// Appends the number of a known site and argument, or 0 and the three parts of a new entry.
    #[inline(never)]
    fn another_site_arg(&mut self, site_arg: SiteArg, predicted: SiteArg) {
        let next = self.site_args.len() as u64 + 1;
        let number = *self.site_args.entry(site_arg).or_insert(next);
        self.latest_site_arg = (site_arg, number);
        if number != next {
            return put_uint(self.column(Column::SiteArg), number);
        }
        put_uint(self.column(Column::SiteArg), 0);
        let site = i64::from(site_arg.site().0) - i64::from(predicted.site().0);
        put_int(self.column(Column::Site), site);
        self.column(Column::Wait).push(site_arg.code());
        put_int(
            self.column(Column::Arg),
            site_arg.arg.wrapping_sub(predicted.arg) as i64,
        );
    }
}

/// The type of waker in the low two bits, its id above.
pub(super) fn waker_code(waker: Waker) -> u64 {
    match waker {
        Waker::Foreign => 0,
        Waker::Thread(id) => 1 | u64::from(id) << 2,
        Waker::Coroutine(id) => 2 | u64::from(id.0) << 2,
    }
}
