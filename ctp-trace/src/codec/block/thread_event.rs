//! Events of threads between the rows of a block. Older readers skip their columns.

use super::decode::{Decoder, small, waker};
use super::encode::{BlockEncoder, waker_code};
use super::{Column, SHARED, wait};
use crate::codec::varint::{put_int, put_uint};
use crate::error::Malformed;
use crate::hash::Map;
use crate::record::{
    Act, Close, CoroutineId, Hold, Nanos, ProcessId, Record, SiteId, ThreadEvent, WakeCall,
};

const BEGIN: u8 = 0;
const END: u8 = 1;
const WAKE: u8 = 2;
const CLOSE: u8 = 3;
const LOSS: u8 = 4;
const ACQUIRE: u8 = 5;
const RELEASE: u8 = 6;

/// Predicts the coming thread event. The encoder and the decoder keep the same state, for one block.
#[derive(Default)]
pub(super) struct Expected {
    /// Number of rows before the previous thread event.
    rows: u64,
    /// The time of the previous row with a time, or of the previous thread event if no row followed it.
    at: u64,
    tid: u64,
    process: u32,
    woken: u32,
    wakes: Map<u32, u32>,
    wake_site: u32,
    close: LastResource,
    acquire: LastResource,
    release: LastResource,
}

/// The last resource that was closed, acquired or released, and where.
#[derive(Clone, Copy, Default)]
struct LastResource {
    site: u32,
    arg: u64,
}

impl Expected {
    /// Rows since the previous thread event.
    pub fn since(&self, rows: u64) -> u64 {
        rows - self.rows
    }

    /// Takes the number of rows before a thread event. `at` and `tid` are those of the latest row.
    pub fn comes_behind(&mut self, rows: u64, at: u64, tid: u64) {
        if 0 < self.since(rows) {
            (self.rows, self.at, self.tid) = (rows, at, tid);
        }
    }

    /// The predicted count of the coroutine's next wake.
    fn count(&self, coroutine: u32) -> u32 {
        let before = self.wakes.get(&coroutine);
        before.map_or(0, |before| before.wrapping_add(1))
    }

    fn learn(&mut self, thread_event: &ThreadEvent) {
        (self.at, self.tid, self.process) =
            (thread_event.at.0, thread_event.tid, thread_event.process.0);
        match thread_event.act {
            Act::Wake(call) => {
                self.woken = call.coroutine.0;
                self.wakes.insert(self.woken, call.count);
                self.wake_site = call.site.0;
            }
            Act::Close(close) => self.close = LastResource::of(close.site, close.arg),
            Act::Acquire(hold) => self.acquire = LastResource::of(hold.site, hold.arg),
            Act::Release(hold) => self.release = LastResource::of(hold.site, hold.arg),
            Act::Begin | Act::End | Act::Loss(_) => {}
        }
    }
}

impl LastResource {
    fn of(site: SiteId, arg: u64) -> Self {
        LastResource { site: site.0, arg }
    }
}

impl BlockEncoder {
    pub(crate) fn thread_event(&mut self, thread_event: &ThreadEvent) {
        let code = match thread_event.act {
            Act::Begin => BEGIN,
            Act::End => END,
            Act::Wake(_) => WAKE,
            Act::Close(_) => CLOSE,
            Act::Loss(_) => LOSS,
            Act::Acquire(_) => ACQUIRE,
            Act::Release(_) => RELEASE,
        };
        self.column(Column::Act).push(code);
        let rows = self.rows() as u64;
        let since = self.expected.since(rows);
        put_uint(self.column(Column::RowsBefore), since);
        self.expected
            .comes_behind(rows, self.predictor.at, self.predictor.tid);
        let at = thread_event.at.0.wrapping_sub(self.expected.at);
        put_int(self.column(Column::ThreadEventTime), at as i64);
        self.put_step(
            Column::ThreadEventProcess,
            thread_event.process.0,
            self.expected.process,
        );
        let tid = thread_event.tid.wrapping_sub(self.expected.tid);
        put_int(self.column(Column::ThreadEventTid), tid as i64);
        match thread_event.act {
            Act::Wake(call) => self.wake_call(&call),
            Act::Close(Close { wait, arg, site }) => {
                self.resource(wait.code(), arg, site, self.expected.close);
            }
            Act::Acquire(hold) => self.hold(&hold, self.expected.acquire),
            Act::Release(hold) => self.hold(&hold, self.expected.release),
            Act::Loss(records) => put_uint(self.column(Column::Lost), records),
            Act::Begin | Act::End => {}
        }
        self.expected.learn(thread_event);
    }

    fn wake_call(&mut self, call: &WakeCall) {
        self.put_step(Column::Woken, call.coroutine.0, self.expected.woken);
        let count = self.expected.count(call.coroutine.0);
        self.put_step(Column::WokenCount, call.count, count);
        put_uint(self.column(Column::ThreadEventBy), waker_code(call.by));
        self.put_step(
            Column::ThreadEventSite,
            call.site.0,
            self.expected.wake_site,
        );
    }

    fn hold(&mut self, hold: &Hold, predicted: LastResource) {
        put_uint(self.column(Column::ThreadEventBy), waker_code(hold.by));
        let code = hold.wait.code() | (u8::from(hold.shared) * SHARED);
        self.resource(code, hold.arg, hold.site, predicted);
    }

    fn resource(&mut self, code: u8, arg: u64, site: SiteId, predicted: LastResource) {
        self.put_step(Column::ThreadEventSite, site.0, predicted.site);
        let column = self.column(Column::Resource);
        column.push(code);
        put_int(column, arg.wrapping_sub(predicted.arg) as i64);
    }

    fn put_step(&mut self, column: Column, value: u32, predicted: u32) {
        put_int(self.column(column), i64::from(value) - i64::from(predicted));
    }
}

impl Decoder<'_> {
    /// The next thread event, if it comes before the next row.
    pub fn thread_event(&mut self) -> Result<Option<Record>, Malformed> {
        if self.column(Column::Act).is_empty() {
            return Ok(None);
        }
        let mut ahead = *self.column(Column::RowsBefore);
        if ahead.uint()? != self.expected.since(self.row) {
            return Ok(None);
        }
        self.expected
            .comes_behind(self.row, self.predictor.at, self.predictor.tid);
        *self.column(Column::RowsBefore) = ahead;
        let thread_event = self.decode_thread_event()?;
        self.expected.learn(&thread_event);
        Ok(Some(Record::ThreadEvent(thread_event)))
    }

    fn decode_thread_event(&mut self) -> Result<ThreadEvent, Malformed> {
        let code = self.column(Column::Act).byte()?;
        let at = self.column(Column::ThreadEventTime).int()?;
        let process = self.step(Column::ThreadEventProcess, self.expected.process)?;
        let tid = self.column(Column::ThreadEventTid).int()?;
        Ok(ThreadEvent {
            process: ProcessId(process),
            tid: self.expected.tid.wrapping_add_signed(tid),
            at: Nanos(self.expected.at.wrapping_add_signed(at)),
            act: match code {
                BEGIN => Act::Begin,
                END => Act::End,
                WAKE => Act::Wake(self.wake_call()?),
                CLOSE => Act::Close(self.close()?),
                ACQUIRE => Act::Acquire(self.hold(self.expected.acquire)?),
                RELEASE => Act::Release(self.hold(self.expected.release)?),
                LOSS => Act::Loss(self.column(Column::Lost).uint()?),
                _ => return Err(Malformed("an unknown kind of thread event")),
            },
        })
    }

    fn wake_call(&mut self) -> Result<WakeCall, Malformed> {
        let coroutine = self.step(Column::Woken, self.expected.woken)?;
        let count = self.expected.count(coroutine);
        Ok(WakeCall {
            coroutine: CoroutineId(coroutine),
            count: self.step(Column::WokenCount, count)?,
            by: waker(self.column(Column::ThreadEventBy).uint()?)?,
            site: SiteId(self.step(Column::ThreadEventSite, self.expected.wake_site)?),
        })
    }

    fn close(&mut self) -> Result<Close, Malformed> {
        let (code, arg, site) = self.resource(self.expected.close)?;
        Ok(Close {
            wait: wait(code),
            arg,
            site,
        })
    }

    fn hold(&mut self, predicted: LastResource) -> Result<Hold, Malformed> {
        let by = waker(self.column(Column::ThreadEventBy).uint()?)?;
        let (code, arg, site) = self.resource(predicted)?;
        Ok(Hold {
            wait: wait(code),
            arg,
            by,
            site,
            shared: code & SHARED != 0,
        })
    }

    fn resource(&mut self, predicted: LastResource) -> Result<(u8, u64, SiteId), Malformed> {
        let site = self.step(Column::ThreadEventSite, predicted.site)?;
        let column = self.column(Column::Resource);
        let code = column.byte()?;
        let arg = predicted.arg.wrapping_add_signed(column.int()?);
        Ok((code, arg, SiteId(site)))
    }

    fn step(&mut self, column: Column, predicted: u32) -> Result<u32, Malformed> {
        small(u64::from(predicted).wrapping_add_signed(self.column(column).int()?))
    }
}
