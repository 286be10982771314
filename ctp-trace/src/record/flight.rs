//! What only the trace of a flight recorder tells: from when on it has events, and what those come
//! to that were before.

use super::aggregate::{Bins, Durations};
use crate::codec::varint::{Input, put_bytes, put_uint};
use crate::error::Malformed;
use crate::record::{CoroutineId, Nanos, ProcessId, Record, SiteId};

/// This is the trace of a flight recorder: of all threads and coroutines it has what came since a
/// moment, and of each coroutine at least its latest events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// All that happened from here on is in the trace, but for what is counted as lost.
    pub since: Nanos,
    /// Records that threads had written over, or that were older than was asked for.
    pub overwritten: u64,
    /// Records of the window that are not in the trace, since nobody knew any more of whom they
    /// were.
    pub unattributed: u64,
    /// The program went on, and so did the recording.
    pub goes_on: bool,
}

/// How many events of a coroutine came before its first one in the trace. They are not lost: its
/// [`Aggregate`](crate::record::Aggregate), if it has one, is of all of its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// The coroutine whose events they are.
    pub coroutine: CoroutineId,
    /// How many, and so the index of the first one that can be in the trace.
    pub events: u64,
}

/// What the coroutines of one name, process and place come to that ended before the window began,
/// and of which nothing else is in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Former {
    /// Their process.
    pub process: ProcessId,
    /// Their name.
    pub name: String,
    /// Where they were spawned.
    pub spawn_site: SiteId,
    /// How many there were.
    pub coroutines: u64,
    /// Events that they had, but for those lost.
    pub events: u64,
    /// Events that they had and of which nothing tells.
    pub lost: u64,
    /// Events that a filter kept out.
    pub filtered: u64,
    /// Durations that are in no figure.
    pub left_out: u64,
    /// How the durations are divided.
    pub bins: Bins,
    /// Waits that ended in a run.
    pub waiting: Durations,
    /// Runs that ended.
    pub running: Durations,
}

impl Window {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(0);
        put_uint(out, self.since.0);
        put_uint(out, self.overwritten);
        put_uint(out, self.unattributed);
        out.push(self.goes_on.into());
    }

    fn get(input: &mut Input) -> Result<Self, Malformed> {
        Ok(Window {
            since: Nanos(input.uint()?),
            overwritten: input.uint()?,
            unattributed: input.uint()?,
            goes_on: input.byte()? & 1 == 1,
        })
    }
}

impl Earlier {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(1);
        put_uint(out, self.coroutine.0.into());
        put_uint(out, self.events);
    }

    fn get(input: &mut Input) -> Result<Self, Malformed> {
        Ok(Earlier {
            coroutine: CoroutineId(input.small()?),
            events: input.uint()?,
        })
    }
}

impl Former {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(2);
        put_uint(out, self.process.0.into());
        put_bytes(out, self.name.as_bytes());
        put_uint(out, self.spawn_site.0.into());
        let events = [self.events, self.lost, self.filtered];
        put_uint(out, self.coroutines);
        events.iter().for_each(|count| put_uint(out, *count));
        put_uint(out, self.left_out);
        self.bins.put(out);
        self.waiting.put(out);
        self.running.put(out);
    }

    fn get(input: &mut Input) -> Result<Self, Malformed> {
        Ok(Former {
            process: ProcessId(input.small()?),
            name: input.string()?,
            spawn_site: SiteId(input.small()?),
            coroutines: input.uint()?,
            events: input.uint()?,
            lost: input.uint()?,
            filtered: input.uint()?,
            left_out: input.uint()?,
            bins: Bins::get(input)?,
            waiting: Durations::get(input)?,
            running: Durations::get(input)?,
        })
    }
}

/// Any of the three.
pub(crate) fn get(mut input: Input) -> Result<Record, Malformed> {
    match input.byte()? {
        0 => Window::get(&mut input).map(Record::Window),
        1 => Earlier::get(&mut input).map(Record::Earlier),
        2 => Former::get(&mut input).map(|it| Record::Former(Box::new(it))),
        _ => Err(Malformed("an unknown record of a flight recorder")),
    }
}
