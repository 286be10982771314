//! The fields of every record that is not a row of a block, in the order of the file.

use super::fields::{
    Codec, codec_of, codes, default_like, fields, get_flags, numbered_codes, put_flags, variants,
};
use super::list::Ids;
use super::plain::{Added, FlagNumber, Near, Plain, Tagged};
use super::varint::{Input, put_uint};
use crate::error::Malformed;
use crate::record::{
    Aggregate, Bins, Birth, Branches, Chain, Control, CoroutineId, CoroutineKind, CoroutineStack,
    Dialect, Durations, Earlier, End, EndedSums, EventKind, ExitReason, Leaf, LeafKind, Look,
    Module, Nanos, Place, Process, ProcessEnd, ProcessExit, Record, Seen, Site, Sockets, Start,
    Thing, Threads, WaitKind, Window,
};

fields!(Start {
    trace_id, recorder, host, argv, started_unix_ns, started_monotonic_ns, capacity,
} later {
    precise_chains as FlagNumber,
});

fields!(Process { id, pid, attached });

fields!(ProcessEnd { process, at, how });

numbered_codes!(ProcessExit of i32 {
    0 => Exited(status),
    1 => Signalled(signal),
    2 => Exec,
    3 => Disappeared,
} else Ok(ProcessExit::Disappeared));

fields!(Control {
    at, generation, pid, [stopped, without_runs, without_suspends], only_thread, only_process,
});

fields!(Module { process, start, end as Near(start), file_offset, path, build_id });

fields!(Site { id, process, place });

variants!(Place {
    0 => Source { file: file, line: line, column: column },
    1 => Function { address: address, name: name },
    2 => Address { 0: address },
    3 => ReturnAddress { 0: address },
} else Err(Malformed("an unknown kind of place")));

fields!(Chain {
    site,
    is_whole,
    addresses,
});

fields!(Branches {
    site,
    sites as Ids,
});

/// The values that the next birth of a chunk is encoded against. Births come in the order of their
/// numbers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Births {
    coroutine: CoroutineId,
    station: u32,
    probe_id: u64,
    at: Nanos,
}

impl Births {
    pub(crate) fn after(birth: &Birth) -> Self {
        Births {
            coroutine: birth.coroutine,
            station: birth.station,
            probe_id: birth.probe_id,
            at: birth.at,
        }
    }
}

fields!(Birth by Births as before {
    coroutine as Near(before.coroutine),
    process,
    station as Near(before.station),
    generation,
    probe_id as Near(before.probe_id),
    at as Near(before.at),
    dialect,
    kind,
    name,
    spawn_site,
} later { lived_before });

codes!(Dialect {
    0 => Extended,
    1 => V1PerSlot,
    2 => V1PerStation,
} else Err(Malformed("an unknown dialect")));

codes!(CoroutineKind {
    0 => Unknown,
    1 => Future,
    2 => Stackful,
    3 => Thread,
    4 => Bare,
} else Ok(CoroutineKind::Unknown));

fields!(Aggregate {
    coroutine,
    at,
    stands_for_events,
    left_out,
    bins,
    waiting,
    running,
});

fields!(Bins { lo, step });

/// With a count of 0, nothing else is written. Bins after the last used bin are not written.
impl Codec<Durations> for Plain {
    fn put(&self, durations: &Durations, out: &mut Vec<u8>) {
        put_uint(out, durations.count);
        if durations.count == 0 {
            return;
        }
        let figures = [durations.sum, durations.min, durations.max];
        figures.iter().for_each(|figure| self.put(figure, out));
        let last_used = durations.bins.iter().rposition(|count| 0 < *count);
        let used = last_used.map_or(0, |at| at + 1);
        put_uint(out, used as u64);
        let bins = &durations.bins[..used];
        bins.iter().for_each(|count| put_uint(out, *count));
    }

    fn get(&self, input: &mut Input) -> Result<Durations, Malformed> {
        let count = input.uint()?;
        if count == 0 {
            return Ok(Durations::default());
        }
        let mut durations = Durations {
            count,
            sum: self.get(input)?,
            min: self.get(input)?,
            max: self.get(input)?,
            ..Durations::default()
        };
        let used: usize = input.small()?;
        let bins = durations.bins.get_mut(..used);
        for bin in bins.ok_or(Malformed("an aggregate has too many bins"))? {
            *bin = input.uint()?;
        }
        Ok(durations)
    }
}

fields!(Threads {
    process,
    at,
    parked,
    sleeping,
    others,
});

fields!(Sockets {
    process,
    at,
    undrained,
    unsent,
});

fields!(CoroutineStack {
    coroutine,
    since,
    at,
    addresses,
    [is_whole, is_moving],
});

fields!(Leaf { site, kind } later { same_as });

codes!(LeafKind {
    0 => Unknown,
    1 => Io,
    2 => Timer,
    3 => Lock,
    4 => Semaphore,
    5 => Room,
    6 => Message,
    7 => Reply,
    8 => Notification,
    9 => Task,
    10 => Output,
    11 => SharedSite,
    12 => TimeOrMessage,
    13 => SharedFunction,
} else Ok(LeafKind::Unknown));

fields!(Look {
    coroutine,
    since,
    at,
    fd,
    thing,
    seen,
});

codes!(WaitKind {
    0 => Unknown,
    1 => Readable,
    2 => Writable,
    3 => Timer,
    4 => Lock,
    5 => Channel,
    6 => Coroutine,
    7 => User,
    8 => Yield,
} else Ok(WaitKind::Unknown));

codes!(EventKind {
    0 => Birth,
    1 => Run,
    2 => Suspend,
    3 => Death,
} else Err(Malformed("an unknown kind of event")));

codes!(Thing {
    0 => Other,
    1 => Socket,
    2 => Pipe,
    3 => Event,
} else Ok(Thing::Other));

numbered_codes!(Seen of u64 {
    0 => Open,
    1 => Closed,
    2 => Replaced,
    3 => Readable(amount),
    4 => HungUp,
    5 => Hidden,
    6 => NumberClosed,
    7 => Empty,
    8 => Unwatched(amount),
    9 => ClosedAtFirst,
} else Ok(Seen::Open));

/// The types of a flight recorder's records, which share a type of chunk.
pub(crate) const WINDOW: Tagged = Tagged(0);
pub(crate) const EARLIER: Tagged = Tagged(1);
pub(crate) const ENDED_SUMS: Tagged = Tagged(2);

fields!(Window {
    since,
    overwritten,
    unattributed,
    goes_on,
});

fields!(Earlier { coroutine, events });

fields!(EndedSums {
    process,
    name,
    spawn_site,
    coroutines,
    events,
    lost,
    filtered,
    left_out,
    bins,
    waiting,
    running,
});

/// Decodes a record of a flight recorder.
pub(crate) fn flight(input: &mut Input) -> Result<Record, Malformed> {
    let tag = input.byte()?;
    if tag == WINDOW.0 {
        WINDOW.get(input).map(Record::Window)
    } else if tag == EARLIER.0 {
        EARLIER.get(input).map(Record::Earlier)
    } else if tag == ENDED_SUMS.0 {
        ENDED_SUMS.get(input).map(Record::EndedSums)
    } else {
        Err(Malformed("an unknown record of a flight recorder"))
    }
}

fields!(End {
    at, how, events, lost, refused, coroutines, unnamed, quarantined, faulting_tid as Added(Plain),
} later {
    unrecorded, records,
});

numbered_codes!(ExitReason of i32 {
    0 => Exited(status),
    1 => Signalled(signal),
    2 => Stopped,
    3 => Image,
} else Err(Malformed("an unknown way to end")));
