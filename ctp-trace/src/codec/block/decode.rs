//! Decodes columns to rows.

use super::thread_event::Expected;
use super::{
    COLUMNS, COROUTINE_HIT, Column, EVENT_COUNTS, HIDDEN_SHIFT, INEXACT, KIND, N_HIT, NOT_HIDDEN,
    RowPredictor, SEEN_HIT, SITE_ARG_HIT, SiteArg, TID_HIT, TORN, WAKE, known_code, marks, wait,
};
use crate::codec::varint::{Input, unzigzag};
use crate::error::Malformed;
use crate::format::MAX_ROWS;
use crate::record::{
    CoroutineId, Event, EventCounts, EventKind, Nanos, Record, SiteId, Wake, Waker,
};

/// Decodes the rows of a block, in order, into the memory of `room`.
pub(crate) fn decode(payload: &[u8], mut room: Vec<Record>) -> Result<Vec<Record>, Malformed> {
    let mut decoder = Decoder::new(payload)?;
    let rows = decoder.column(Column::Control).len();
    let thread_events = decoder.column(Column::Act).len();
    if rows.saturating_add(thread_events) > MAX_ROWS {
        return Err(Malformed("it has too many rows"));
    }
    room.clear();
    room.reserve_exact(rows + thread_events);
    while let Some(record) = decoder.record()? {
        room.push(record);
    }
    let next = [decoder.after_filtered, decoder.hidden, decoder.wakers];
    let is_pending = next.iter().any(Option::is_some);
    if is_pending || decoder.columns.iter().any(|column| !column.is_empty()) {
        return Err(Malformed("a column is too long"));
    }
    Ok(room)
}

pub(super) struct Decoder<'a> {
    columns: [Input<'a>; COLUMNS],
    /// The number of the current row.
    pub row: u64,
    /// The row of the next entry in each sparse column.
    after_filtered: Option<u64>,
    hidden: Option<u64>,
    wakers: Option<u64>,
    pub predictor: RowPredictor,
    pub expected: Expected,
    site_args: Vec<SiteArg>,
}

impl<'a> Decoder<'a> {
    /// Splits the payload into columns. Columns that a later version added are skipped.
    fn new(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut columns = [Input::default(); COLUMNS];
        let mut input = Input::new(payload);
        while !input.is_empty() {
            let number = usize::from(input.byte()?);
            let column = Input::new(input.bytes()?);
            let Some(known) = number
                .checked_sub(1)
                .and_then(|index| columns.get_mut(index))
            else {
                continue;
            };
            if !known.is_empty() {
                return Err(Malformed("a column occurs twice"));
            }
            *known = column;
        }
        let mut decoder = Decoder {
            columns,
            row: 0,
            after_filtered: None,
            hidden: None,
            wakers: None,
            predictor: RowPredictor::new(),
            expected: Expected::default(),
            site_args: Vec::new(),
        };
        decoder.after_filtered = decoder.next_row(Column::AfterFiltered)?;
        decoder.hidden = decoder.next_row(Column::Hidden)?;
        decoder.wakers = decoder.next_row(Column::Wakers)?;
        Ok(decoder)
    }

    /// The row to which the next entry of a sparse column belongs.
    fn next_row(&mut self, column: Column) -> Result<Option<u64>, Malformed> {
        let column = self.column(column);
        if column.is_empty() {
            Ok(None)
        } else {
            column.uint().map(Some)
        }
    }

    fn record(&mut self) -> Result<Option<Record>, Malformed> {
        if let Some(thread_event) = self.thread_event()? {
            return Ok(Some(thread_event));
        }
        if self.column(Column::Control).is_empty() {
            return Ok(None);
        }
        self.row().map(Some)
    }

    fn row(&mut self) -> Result<Record, Malformed> {
        let record = self.record_of_row()?;
        self.row += 1;
        Ok(record)
    }

    fn record_of_row(&mut self) -> Result<Record, Malformed> {
        let control = self.column(Column::Control).byte()?;
        match control & KIND {
            WAKE => self.wake(control),
            EVENT_COUNTS => self.event_counts(control),
            code => match EventKind::of_code(code) {
                Some(kind) => self.event(control, kind),
                None => Err(Malformed("an unknown kind of row")),
            },
        }
    }

    fn event(&mut self, control: u8, kind: EventKind) -> Result<Record, Malformed> {
        let coroutine = self.coroutine(control)?;
        let tid_before = self.predictor.tid;
        let predicted = self.predictor.state(coroutine.0).predict(kind, tid_before);
        let n = self.number(Column::N, control & N_HIT, predicted.n)?;
        let tid = self.number(Column::Tid, control & TID_HIT, predicted.tid)?;
        let site_arg = self.site_arg(control & SITE_ARG_HIT, predicted.site_arg)?;
        let seen = self.number(Column::Seen, control & SEEN_HIT, predicted.seen.into())?;
        let event = Event {
            coroutine,
            n,
            at: self.time()?,
            tid,
            kind,
            site: site_arg.site(),
            wait: wait(site_arg.code()),
            marks: marks(site_arg.code()),
            arg: site_arg.arg,
            wake_seen: seen.try_into().map_err(|_| TOO_LARGE)?,
            after_filtered: self.take_after_filtered()?,
        };
        self.predictor.tid = tid;
        let state = self.predictor.state(coroutine.0);
        state.learn(&event, kind, site_arg, tid_before);
        Ok(Record::Event(event))
    }

    fn wake(&mut self, control: u8) -> Result<Record, Malformed> {
        let coroutine = self.coroutine(control)?;
        let at = self.time()?;
        let step = self.column(Column::Count).int()?;
        let waker = waker(self.column(Column::Waker).uint()?)?;
        let state = self.predictor.state(coroutine.0);
        let count = small(u64::from(state.wakes).wrapping_add_signed(step))?;
        state.wakes = count;
        Ok(Record::Wake(Wake {
            coroutine,
            count,
            waker,
            at,
        }))
    }

    fn event_counts(&mut self, control: u8) -> Result<Record, Malformed> {
        let coroutine = self.coroutine(control)?;
        let column = self.column(Column::EventCounts);
        let flags = column.byte()?;
        if flags & !(TORN | INEXACT) != 0 {
            return Err(Malformed("event counts have unknown flags"));
        }
        let attempted = column.uint()?;
        let recorded = attempted.wrapping_sub(column.int()? as u64);
        let torn = if flags & TORN != 0 {
            Some(column.uint()?)
        } else {
            None
        };
        let mut event_counts = EventCounts {
            coroutine,
            attempted,
            recorded,
            torn,
            inexact: flags & INEXACT != 0,
            ..EventCounts::default()
        };
        if self.hidden == Some(self.row) {
            self.filtered(&mut event_counts)?;
        }
        if self.wakers == Some(self.row) {
            event_counts.wakers = Some(self.column(Column::Wakers).small()?);
            self.wakers = self.next_row(Column::Wakers)?;
        }
        Ok(Record::EventCounts(event_counts))
    }

    fn filtered(&mut self, event_counts: &mut EventCounts) -> Result<(), Malformed> {
        let column = self.column(Column::Hidden);
        event_counts.filtered = column.uint()?;
        let flags = column.byte()?;
        event_counts.inexact = flags & INEXACT != 0;
        event_counts.hidden = match flags >> HIDDEN_SHIFT {
            NOT_HIDDEN => None,
            code => Some(EventKind::of_code(code).ok_or(Malformed("an unknown kind of event"))?),
        };
        if flags & TORN != 0 || (event_counts.filtered == 0 && event_counts.hidden.is_none()) {
            return Err(Malformed(
                "filtered event counts without any filtered event",
            ));
        }
        self.hidden = self.next_row(Column::Hidden)?;
        Ok(())
    }

    /// Returns whether the current row is the next entry of the column, and moves to the entry after it.
    fn take_after_filtered(&mut self) -> Result<bool, Malformed> {
        let is_match = self.after_filtered == Some(self.row);
        if is_match {
            self.after_filtered = self.next_row(Column::AfterFiltered)?;
        }
        Ok(is_match)
    }

    pub fn column(&mut self, column: Column) -> &mut Input<'a> {
        &mut self.columns[column.index()]
    }

    fn coroutine(&mut self, control: u8) -> Result<CoroutineId, Malformed> {
        let before = self.predictor.coroutine.into();
        let id = small(self.number(Column::Coroutine, control & COROUTINE_HIT, before)?)?;
        self.predictor.coroutine = id;
        Ok(CoroutineId(id))
    }

    fn time(&mut self) -> Result<Nanos, Malformed> {
        let low = u64::from(self.column(Column::Time).byte()?);
        let high = self.column(Column::TimeHigh).uint()?;
        if high >> 56 != 0 {
            return Err(TOO_LARGE);
        }
        self.predictor.at = self
            .predictor
            .at
            .wrapping_add_signed(unzigzag(high << 8 | low));
        Ok(Nanos(self.predictor.at))
    }

    fn number(&mut self, column: Column, hit: u8, predicted: u64) -> Result<u64, Malformed> {
        if hit != 0 {
            return Ok(predicted);
        }
        Ok(predicted.wrapping_add_signed(self.column(column).int()?))
    }

    fn site_arg(&mut self, hit: u8, predicted: SiteArg) -> Result<SiteArg, Malformed> {
        if hit != 0 {
            return Ok(predicted);
        }
        let number: usize = self.column(Column::SiteArg).small()?;
        if let Some(index) = number.checked_sub(1) {
            return self
                .site_args
                .get(index)
                .copied()
                .ok_or(Malformed("an unknown site and argument"));
        }
        let site = self.column(Column::Site).int()?;
        let code = self.column(Column::Wait).byte()?;
        let arg = self.column(Column::Arg).int()?;
        let site_arg = SiteArg::new(
            SiteId(small(
                u64::from(predicted.site().0).wrapping_add_signed(site),
            )?),
            // An event cannot keep a code that a later version added, so the table has the code that the event
            // keeps.
            known_code(wait(code), marks(code)),
            predicted.arg.wrapping_add_signed(arg),
        );
        self.site_args.push(site_arg);
        Ok(site_arg)
    }
}

const TOO_LARGE: Malformed = Malformed("a number is too large");

pub(super) fn small(value: u64) -> Result<u32, Malformed> {
    value.try_into().map_err(|_| TOO_LARGE)
}

pub(super) fn waker(code: u64) -> Result<Waker, Malformed> {
    let which = small(code >> 2)?;
    match code & 3 {
        0 => Ok(Waker::Foreign),
        1 => Ok(Waker::Thread(which)),
        2 => Ok(Waker::Coroutine(CoroutineId(which))),
        _ => Err(Malformed("an unknown waker")),
    }
}
