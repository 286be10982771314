//! Start, processes, modules, sites, births and end, as bytes and back.
//!
//! Each `put_` function has its counterpart without the prefix.

use crate::codec::varint::{Input, put_bytes, put_int, put_uint};
use crate::error::Malformed;
use crate::format::{MAX_ADDRESSES, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
use crate::record::{
    Birth, Chain, Control, CoroutineId, CoroutineKind, Dialect, End, Ending, Module, Nanos, Place,
    Process, ProcessEnd, ProcessEnding, ProcessId, Site, SiteId, Start,
};

pub(crate) fn put_start(out: &mut Vec<u8>, start: &Start) {
    out.extend_from_slice(&start.trace_id);
    put_bytes(out, start.recorder.as_bytes());
    put_bytes(out, start.host.as_bytes());
    put_uint(out, start.argv.len() as u64);
    for argument in &start.argv {
        put_bytes(out, argument);
    }
    put_uint(out, start.started_unix_ns);
    put_uint(out, start.started_monotonic_ns);
    put_uint(out, start.capacity.into());
    // Absent where it says nothing, as from those that did not have it yet.
    if start.precise_chains {
        put_uint(out, PRECISE_CHAINS);
    }
}

/// Of what a start says was asked for.
const PRECISE_CHAINS: u64 = 1;

pub(crate) fn start(mut input: Input) -> Result<Start, Malformed> {
    let input = &mut input;
    let mut trace_id = [0; 16];
    trace_id.copy_from_slice(input.take(16)?);
    Ok(Start {
        trace_id,
        recorder: input.string()?,
        host: input.string()?,
        argv: arguments(input)?,
        started_unix_ns: input.uint()?,
        started_monotonic_ns: input.uint()?,
        capacity: input.small()?,
        precise_chains: added(input)? & PRECISE_CHAINS != 0,
    })
}

/// Each argument needs a byte that must be there, but takes many in memory.
fn arguments(input: &mut Input) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut argv = Vec::new();
    let count = input.uint()?;
    if MAX_ARGUMENTS < count {
        return Err(Malformed("it has too many arguments"));
    }
    let mut left_bytes = MAX_ARGUMENT_BYTES;
    for _ in 0..count {
        let argument = input.bytes()?;
        let left = left_bytes.checked_sub(argument.len());
        left_bytes = left.ok_or(Malformed("its arguments are too long"))?;
        argv.push(argument.to_vec());
    }
    Ok(argv)
}

pub(crate) fn put_process(out: &mut Vec<u8>, process: &Process) {
    put_uint(out, process.id.0.into());
    put_uint(out, process.pid.into());
    put_uint(out, process.attached.0);
}

pub(crate) fn process(mut input: Input) -> Result<Process, Malformed> {
    Ok(Process {
        id: ProcessId(input.small()?),
        pid: input.small()?,
        attached: Nanos(input.uint()?),
    })
}

pub(crate) fn put_process_end(out: &mut Vec<u8>, end: &ProcessEnd) {
    put_uint(out, end.process.0.into());
    put_uint(out, end.at.0);
    let (code, status) = match end.how {
        ProcessEnding::Exited(status) => (0, status),
        ProcessEnding::Signalled(signal) => (1, signal),
        ProcessEnding::Exec => (2, 0),
        ProcessEnding::Gone => (3, 0),
    };
    out.push(code);
    put_int(out, status.into());
}

pub(crate) fn process_end(mut input: Input) -> Result<ProcessEnd, Malformed> {
    Ok(ProcessEnd {
        process: ProcessId(input.small()?),
        at: Nanos(input.uint()?),
        how: match (input.byte()?, status(&mut input)?) {
            (0, status) => ProcessEnding::Exited(status),
            (1, signal) => ProcessEnding::Signalled(signal),
            (2, _) => ProcessEnding::Exec,
            _ => ProcessEnding::Gone,
        },
    })
}

pub(crate) fn put_control(out: &mut Vec<u8>, control: &Control) {
    let flags = [
        control.stopped,
        control.without_runs,
        control.without_suspends,
    ];
    let flags = flags
        .iter()
        .rev()
        .fold(0, |bits, &bit| bits << 1 | u8::from(bit));
    put_uint(out, control.at.0);
    put_uint(out, control.generation.into());
    put_uint(out, control.pid.into());
    out.push(flags);
    put_uint(out, control.only_thread.into());
    put_uint(out, control.only_process.into());
}

pub(crate) fn control(mut input: Input) -> Result<Control, Malformed> {
    let (at, generation, pid) = (input.uint()?, input.small()?, input.small()?);
    let flags = input.byte()?;
    Ok(Control {
        at: Nanos(at),
        generation,
        pid,
        stopped: flags & 1 != 0,
        without_runs: flags & 2 != 0,
        without_suspends: flags & 4 != 0,
        only_thread: input.small()?,
        only_process: input.small()?,
    })
}

pub(crate) fn put_module(out: &mut Vec<u8>, module: &Module) {
    put_uint(out, module.process.0.into());
    put_uint(out, module.start);
    put_int(out, module.end.wrapping_sub(module.start) as i64);
    put_uint(out, module.file_offset);
    put_bytes(out, &module.path);
    put_bytes(out, &module.build_id);
}

pub(crate) fn module(mut input: Input) -> Result<Module, Malformed> {
    let process = ProcessId(input.small()?);
    let start = input.uint()?;
    Ok(Module {
        process,
        start,
        end: start.wrapping_add_signed(input.int()?),
        file_offset: input.uint()?,
        path: input.name()?.to_vec(),
        build_id: input.name()?.to_vec(),
    })
}

pub(crate) fn put_site(out: &mut Vec<u8>, site: &Site) {
    put_uint(out, site.id.0.into());
    put_uint(out, site.process.0.into());
    match &site.place {
        Place::Source { file, line, column } => {
            out.push(0);
            put_bytes(out, file.as_bytes());
            put_uint(out, (*line).into());
            put_uint(out, (*column).into());
        }
        Place::Function { address, name } => {
            out.push(1);
            put_uint(out, *address);
            put_bytes(out, name.as_bytes());
        }
        Place::Address(address) => {
            out.push(2);
            put_uint(out, *address);
        }
        Place::ReturnAddress(address) => {
            out.push(3);
            put_uint(out, *address);
        }
    }
}

pub(crate) fn site(mut input: Input) -> Result<Site, Malformed> {
    Ok(Site {
        id: SiteId(input.small()?),
        process: ProcessId(input.small()?),
        place: place(&mut input)?,
    })
}

fn place(input: &mut Input) -> Result<Place, Malformed> {
    Ok(match input.byte()? {
        0 => Place::Source {
            file: input.string()?,
            line: input.small()?,
            column: input.small()?,
        },
        1 => Place::Function {
            address: input.uint()?,
            name: input.string()?,
        },
        2 => Place::Address(input.uint()?),
        3 => Place::ReturnAddress(input.uint()?),
        _ => return Err(Malformed("an unknown sort of place")),
    })
}

pub(crate) fn put_chain(out: &mut Vec<u8>, chain: &Chain) {
    put_uint(out, chain.site.0.into());
    out.push(chain.is_whole.into());
    put_uint(out, chain.addresses.len() as u64);
    let mut before = 0u64;
    for &address in &chain.addresses {
        put_int(out, address.wrapping_sub(before) as i64);
        before = address;
    }
}

pub(crate) fn chain(mut input: Input) -> Result<Chain, Malformed> {
    Ok(Chain {
        site: SiteId(input.small()?),
        is_whole: input.byte()? & 1 != 0,
        addresses: addresses(&mut input)?,
    })
}

/// Each address needs a byte that must be there, but takes eight in memory.
fn addresses(input: &mut Input) -> Result<Vec<u64>, Malformed> {
    let (mut addresses, mut before) = (Vec::new(), 0u64);
    let count = input.uint()?;
    if MAX_ADDRESSES < count {
        return Err(Malformed("a chain is too long"));
    }
    for _ in 0..count {
        before = before.wrapping_add_signed(input.int()?);
        addresses.push(before);
    }
    Ok(addresses)
}

/// What the next birth of a chunk is written against: births come in the order of their numbers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Births {
    coroutine: u32,
    station: u32,
    probe_id: u64,
    at: u64,
}

impl Births {
    pub(crate) fn after(birth: &Birth) -> Self {
        Births {
            coroutine: birth.coroutine.0,
            station: birth.station,
            probe_id: birth.probe_id,
            at: birth.at.0,
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>, birth: &Birth) {
        put_int(
            out,
            i64::from(birth.coroutine.0) - i64::from(self.coroutine),
        );
        put_uint(out, birth.process.0.into());
        put_int(out, i64::from(birth.station) - i64::from(self.station));
        put_uint(out, birth.generation.into());
        put_int(out, birth.probe_id.wrapping_sub(self.probe_id) as i64);
        put_int(out, birth.at.0.wrapping_sub(self.at) as i64);
        out.push(dialect_code(birth.dialect));
        out.push(kind_code(birth.kind));
        put_bytes(out, birth.name.as_bytes());
        put_uint(out, birth.spawn_site.0.into());
    }

    pub(crate) fn get(&mut self, mut input: Input) -> Result<Birth, Malformed> {
        let birth = Birth {
            coroutine: CoroutineId(near(self.coroutine, input.int()?)?),
            process: ProcessId(input.small()?),
            station: near(self.station, input.int()?)?,
            generation: input.small()?,
            probe_id: self.probe_id.wrapping_add_signed(input.int()?),
            at: Nanos(self.at.wrapping_add_signed(input.int()?)),
            dialect: dialect(input.byte()?)?,
            kind: kind(input.byte()?),
            name: input.string()?,
            spawn_site: SiteId(input.small()?),
        };
        *self = Births::after(&birth);
        Ok(birth)
    }
}

fn near(base: u32, difference: i64) -> Result<u32, Malformed> {
    let sum = i64::from(base).checked_add(difference);
    sum.and_then(|sum| u32::try_from(sum).ok())
        .ok_or(Malformed("a number is too large"))
}

fn dialect_code(dialect: Dialect) -> u8 {
    match dialect {
        Dialect::Extended => 0,
        Dialect::V1PerSlot => 1,
        Dialect::V1PerStation => 2,
    }
}

fn dialect(code: u8) -> Result<Dialect, Malformed> {
    match code {
        0 => Ok(Dialect::Extended),
        1 => Ok(Dialect::V1PerSlot),
        2 => Ok(Dialect::V1PerStation),
        _ => Err(Malformed("an unknown dialect")),
    }
}

fn kind_code(kind: CoroutineKind) -> u8 {
    match kind {
        CoroutineKind::Unknown => 0,
        CoroutineKind::Future => 1,
        CoroutineKind::Stackful => 2,
        CoroutineKind::Thread => 3,
        CoroutineKind::Bare => 4,
    }
}

/// A kind that a later version added reads as not told.
fn kind(code: u8) -> CoroutineKind {
    match code {
        1 => CoroutineKind::Future,
        2 => CoroutineKind::Stackful,
        3 => CoroutineKind::Thread,
        4 => CoroutineKind::Bare,
        _ => CoroutineKind::Unknown,
    }
}

pub(crate) fn put_end(out: &mut Vec<u8>, end: &End) {
    put_uint(out, end.at.0);
    let (code, status) = ending_code(end.how);
    out.push(code);
    put_int(out, status.into());
    for count in [
        end.events,
        end.lost,
        end.refused,
        end.coroutines,
        end.unnamed,
        end.quarantined,
        end.faulting_tid,
    ] {
        put_uint(out, count);
    }
    let added_later = [end.unrecorded, end.records];
    let is_used = added_later.iter().rposition(|count| *count != 0);
    for count in added_later
        .into_iter()
        .take(is_used.map_or(0, |last| last + 1))
    {
        put_uint(out, count);
    }
}

pub(crate) fn end(mut input: Input) -> Result<End, Malformed> {
    Ok(End {
        at: Nanos(input.uint()?),
        how: ending(&mut input)?,
        events: input.uint()?,
        lost: input.uint()?,
        refused: input.uint()?,
        coroutines: input.uint()?,
        unnamed: input.uint()?,
        quarantined: input.uint()?,
        faulting_tid: added(&mut input)?,
        unrecorded: added(&mut input)?,
        records: added(&mut input)?,
    })
}

/// A number that earlier versions did not have yet.
fn added(input: &mut Input) -> Result<u64, Malformed> {
    match input.is_empty() {
        true => Ok(0),
        false => input.uint(),
    }
}

fn ending_code(how: Ending) -> (u8, i32) {
    match how {
        Ending::Exited(status) => (0, status),
        Ending::Signalled(signal) => (1, signal),
        Ending::Stopped => (2, 0),
        Ending::Image => (3, 0),
    }
}

fn status(input: &mut Input) -> Result<i32, Malformed> {
    i32::try_from(input.int()?).map_err(|_| Malformed("a number is too large"))
}

fn ending(input: &mut Input) -> Result<Ending, Malformed> {
    let code = input.byte()?;
    let status = status(input)?;
    match code {
        0 => Ok(Ending::Exited(status)),
        1 => Ok(Ending::Signalled(status)),
        2 => Ok(Ending::Stopped),
        3 => Ok(Ending::Image),
        _ => Err(Malformed("an unknown ending")),
    }
}
