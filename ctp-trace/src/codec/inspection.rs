//! The records of inspections. They share a type of chunk, since their order matters.

use super::fields::{Codec, codec_of, codes, default_like, fields, get_flags, put_flags};
use super::list::{Entries, Ids};
use super::plain::{Added, Plain, Tagged};
use super::varint::{Input, put_uint};
use crate::error::Malformed;
use crate::record::{
    AwaitFrame, AwaitStack, HeldLock, InspectedTask, InspectedThread, Inspection, InspectionEnd,
    Nanos, Record, Resource, TaskId, TaskKind, TaskOwner, TaskState, TaskWait, ThreadRole,
    WakerHolder,
};

/// The types of records in a chunk of inspections.
pub(crate) const BEGIN: Tagged = Tagged(0);
pub(crate) const STACK: Tagged = Tagged(1);
pub(crate) const TASK: Tagged = Tagged(2);
pub(crate) const THREAD: Tagged = Tagged(3);
pub(crate) const END: Tagged = Tagged(4);

/// Decodes a record of an inspection.
pub(crate) fn record(input: &mut Input) -> Result<Record, Malformed> {
    match input.byte()? {
        0 => BEGIN.get(input).map(Record::Inspection),
        1 => STACK.get(input).map(Record::AwaitStack),
        2 => TASK.get(input).map(Record::InspectedTask),
        3 => THREAD.get(input).map(Record::InspectedThread),
        4 => END.get(input).map(Record::InspectionEnd),
        _ => Err(Malformed("an unknown record of an inspection")),
    }
}

fields!(Inspection {
    process,
    number,
    at
} later { core_file, only_threads });

fields!(InspectionEnd {
    process,
    number,
    at,
    ended as Ids,
    ended_threads as Ids,
    runtimes as Entries,
    gaps as Entries,
});

fields!(AwaitStack { id, frames as Entries });

fields!(AwaitFrame { depth, name, file, line, [may_wait_forever] } later { suspension });

fields!(InspectedTask {
    id,
    process,
    kind,
    address,
    runtime_id,
    name,
    spawned_at,
    state,
    wakers,
    waker_holders as Entries,
    stack,
    waits as Entries,
    holds as Entries,
    polled_by,
} later { size_bytes, coroutine, may_be_freed, owner });

codes!(TaskKind {
    0 => Tokio,
    1 => BlockOn,
    2 => Blocking,
    3 => Child,
    4 => AsyncTask,
    5 => Cpp,
    6 => Boxed,
} else Err(Malformed("an unknown kind of task")));

codes!(TaskState {
    0 => Idle,
    1 => Running,
    2 => Notified,
    3 => Cancelled,
    4 => Finished,
    5 => NotStarted,
} else Err(Malformed("an unknown state of a task")));

fields!(TaskWait {
    frame,
    resource,
    has_waker,
    always_registers
});

fields!(HeldLock { resource, [is_exclusive], frame, variable, line });

fields!(InspectedThread {
    process,
    tid,
    name,
    syscall,
    switches,
    role,
    polls,
    addresses,
    [is_whole, is_running],
    call,
});

codes!(ThreadRole {
    0 => Other,
    1 => Parked,
    2 => Polling,
    3 => Worker,
    4 => Blocking,
} else Ok(ThreadRole::Other));

/// A code, then a number. An unknown code reads as unknown.
impl Codec<WakerHolder> for Plain {
    fn put(&self, holder: &WakerHolder, out: &mut Vec<u8>) {
        let (code, number): (u8, u64) = match *holder {
            WakerHolder::Unknown => (0, 0),
            WakerHolder::Io(fd) => (1, fd.map_or(0, |fd| u64::from(fd) + 1)),
            WakerHolder::Timer => (2, 0),
            WakerHolder::Sync(address) => (3, address),
            WakerHolder::Task(TaskId(id)) => (4, id.into()),
            WakerHolder::Own => (5, 0),
            WakerHolder::Thread(tid) => (6, tid.into()),
            WakerHolder::Memory(address) => (7, address),
        };
        out.push(code);
        put_uint(out, number);
    }

    fn get(&self, input: &mut Input) -> Result<WakerHolder, Malformed> {
        let (code, number) = (input.byte()?, input.uint()?);
        Ok(match code {
            1 => WakerHolder::Io(number.checked_sub(1).map(small).transpose()?),
            2 => WakerHolder::Timer,
            3 => WakerHolder::Sync(number),
            4 => WakerHolder::Task(TaskId(small(number)?)),
            5 => WakerHolder::Own,
            6 => WakerHolder::Thread(small(number)?),
            7 => WakerHolder::Memory(number),
            _ => WakerHolder::Unknown,
        })
    }
}

/// A code, then a number, then a text. An unknown code reads as unknown.
impl Codec<TaskOwner> for Plain {
    fn put(&self, owner: &TaskOwner, out: &mut Vec<u8>) {
        let (code, number, text): (u8, u32, &str) = match owner {
            TaskOwner::Unknown => (0, 0, ""),
            TaskOwner::Task(TaskId(id)) => (1, *id, ""),
            TaskOwner::Static(path) => (2, 0, path),
            TaskOwner::Thread(tid) => (3, *tid, ""),
        };
        out.push(code);
        put_uint(out, number.into());
        Plain.put(&text.to_owned(), out);
    }

    fn get(&self, input: &mut Input) -> Result<TaskOwner, Malformed> {
        let (code, number) = (input.byte()?, input.uint()?);
        let text: String = Plain.get(input)?;
        Ok(match code {
            1 => TaskOwner::Task(TaskId(small(number)?)),
            2 => TaskOwner::Static(text),
            3 => TaskOwner::Thread(small(number)?),
            _ => TaskOwner::Unknown,
        })
    }
}

/// A code, then a number. An unknown code reads as unknown.
impl Codec<Resource> for Plain {
    fn put(&self, resource: &Resource, out: &mut Vec<u8>) {
        let (code, number): (u8, u64) = match *resource {
            Resource::Unknown => (0, 0),
            Resource::Readable(fd) => (1, fd.into()),
            Resource::Writable(fd) => (2, fd.into()),
            Resource::Timer(Nanos(deadline)) => (3, deadline),
            Resource::Mutex(address) => (4, address),
            Resource::RwLock(address) => (5, address),
            Resource::Semaphore(address) => (6, address),
            Resource::Channel(address) => (7, address),
            Resource::Notify(address) => (8, address),
            Resource::Task(TaskId(id)) => (9, id.into()),
            Resource::Room(address) => (10, address),
        };
        out.push(code);
        put_uint(out, number);
    }

    fn get(&self, input: &mut Input) -> Result<Resource, Malformed> {
        let (code, number) = (input.byte()?, input.uint()?);
        Ok(match code {
            1 => Resource::Readable(small(number)?),
            2 => Resource::Writable(small(number)?),
            3 => Resource::Timer(Nanos(number)),
            4 => Resource::Mutex(number),
            5 => Resource::RwLock(number),
            6 => Resource::Semaphore(number),
            7 => Resource::Channel(number),
            8 => Resource::Notify(number),
            9 => Resource::Task(TaskId(small(number)?)),
            10 => Resource::Room(number),
            _ => Resource::Unknown,
        })
    }
}

fn small(number: u64) -> Result<u32, Malformed> {
    u32::try_from(number).map_err(|_| Malformed("a number is too large"))
}
