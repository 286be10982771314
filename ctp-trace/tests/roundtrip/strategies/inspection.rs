//! Strategies for the records of inspections.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use ctp_trace::record::*;

use super::{any_u32, any_u64, text};

pub fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        begin().boxed(),
        stack().boxed(),
        task().boxed(),
        thread().boxed(),
        end().boxed()
    ]
    .boxed()
}

fn begin() -> impl Strategy<Value = Record> {
    let which = (any_u32(), any_u32(), any_u64(), any::<bool>());
    (which, vec(any::<u8>(), 0..9)).prop_map(|((process, number, at, only_threads), core_file)| {
        Record::Inspection(Inspection {
            process: ProcessId(process),
            number,
            at: Nanos(at),
            core_file,
            only_threads,
        })
    })
}

fn end() -> impl Strategy<Value = Record> {
    let lists = (
        vec(any_u32(), 0..5),
        vec(any_u32(), 0..5),
        vec(text(), 0..3),
        vec(text(), 0..3),
    );
    (any_u32(), any_u32(), any_u64(), lists).prop_map(
        |(process, number, at, (ended, ended_threads, runtimes, gaps))| {
            Record::InspectionEnd(InspectionEnd {
                process: ProcessId(process),
                number,
                at: Nanos(at),
                ended: ended.into_iter().map(TaskId).collect(),
                ended_threads,
                runtimes,
                gaps,
            })
        },
    )
}

fn stack() -> impl Strategy<Value = Record> {
    let frame = (any_u32(), text(), text(), any_u32(), any::<bool>()).prop_map(
        |(depth, name, file, line, may_wait_forever)| AwaitFrame {
            depth,
            name,
            file,
            line,
            may_wait_forever,
            suspension: line % 3,
        },
    );
    (any_u32(), vec(frame, 0..5)).prop_map(|(id, frames)| {
        Record::AwaitStack(AwaitStack {
            id: AwaitStackId(id),
            frames,
        })
    })
}

fn resource() -> impl Strategy<Value = Resource> {
    prop_oneof![
        Just(Resource::Unknown),
        any_u32().prop_map(Resource::Readable),
        any_u32().prop_map(Resource::Writable),
        any_u64().prop_map(|deadline| Resource::Timer(Nanos(deadline))),
        any_u64().prop_map(Resource::Mutex),
        any_u64().prop_map(Resource::RwLock),
        any_u64().prop_map(Resource::Semaphore),
        any_u64().prop_map(Resource::Channel),
        any_u64().prop_map(Resource::Room),
        any_u64().prop_map(Resource::Notify),
        any_u32().prop_map(|id| Resource::Task(TaskId(id))),
    ]
    .boxed()
}

fn waker_holder() -> impl Strategy<Value = WakerHolder> {
    prop_oneof![
        select(vec![
            WakerHolder::Unknown,
            WakerHolder::Timer,
            WakerHolder::Own
        ]),
        option::of(any_u32()).prop_map(WakerHolder::Io),
        any_u64().prop_map(WakerHolder::Sync),
        any_u32().prop_map(|id| WakerHolder::Task(TaskId(id))),
        any_u32().prop_map(WakerHolder::Thread),
        any::<u64>().prop_map(WakerHolder::Memory),
    ]
    .boxed()
}

fn wait() -> impl Strategy<Value = TaskWait> {
    let known = (option::of(any::<bool>()), any::<bool>());
    (any_u32(), resource(), known).prop_map(|(frame, resource, (has_waker, always_registers))| {
        TaskWait {
            frame,
            resource,
            has_waker,
            always_registers,
        }
    })
}

fn hold() -> impl Strategy<Value = HeldLock> {
    (resource(), any::<bool>(), any_u32(), text(), any_u32()).prop_map(
        |(resource, is_exclusive, frame, variable, line)| HeldLock {
            resource,
            is_exclusive,
            frame,
            variable,
            line,
        },
    )
}

fn task() -> impl Strategy<Value = Record> {
    let kind = select(vec![
        TaskKind::Tokio,
        TaskKind::BlockOn,
        TaskKind::Blocking,
        TaskKind::Child,
        TaskKind::Cpp,
        TaskKind::Boxed,
    ]);
    let state = select(vec![
        TaskState::Idle,
        TaskState::Running,
        TaskState::Notified,
        TaskState::Cancelled,
        TaskState::Finished,
        TaskState::NotStarted,
    ]);
    let ids = (any_u32(), any_u32(), any_u64(), any_u64());
    let named = (text(), option::of((text(), any_u32())));
    let wakers = (option::of(any_u32()), vec(waker_holder(), 0..4));
    let waits = (any_u32(), vec(wait(), 0..3), vec(hold(), 0..3), any_u32());
    (ids, kind, state, named, wakers, waits).prop_map(
        |(ids, kind, state, (name, spawned_at), (wakers, waker_holders), waits)| {
            Record::InspectedTask(Box::new(InspectedTask {
                id: TaskId(ids.0),
                process: ProcessId(ids.1),
                kind,
                address: ids.2,
                runtime_id: ids.3,
                name,
                spawned_at,
                state,
                wakers,
                waker_holders,
                stack: AwaitStackId(waits.0),
                waits: waits.1,
                holds: waits.2,
                polled_by: waits.3,
                size_bytes: ids.2 % 5,
                coroutine: CoroutineId(waits.3 % 3),
                may_be_freed: ids.0 % 2 == 1,
                owner: owner(ids.1),
            }))
        },
    )
}

fn owner(number: u32) -> TaskOwner {
    match number % 4 {
        0 => TaskOwner::Unknown,
        1 => TaskOwner::Task(TaskId(number)),
        2 => TaskOwner::Static(format!("app::QUEUE_{number}")),
        _ => TaskOwner::Thread(number),
    }
}

fn thread() -> impl Strategy<Value = Record> {
    let role = select(vec![
        ThreadRole::Other,
        ThreadRole::Parked,
        ThreadRole::Polling,
        ThreadRole::Worker,
        ThreadRole::Blocking,
    ]);
    let ids = (any_u32(), any_u32(), text());
    let call = (
        option::of(any_u32()),
        text(),
        any_u64(),
        option::of(any_u32()),
    );
    (ids, call, role, vec(any_u64(), 0..9), any::<[bool; 2]>()).prop_map(
        |(
            (process, tid, name),
            (syscall, call, switches, polls),
            role,
            addresses,
            [is_whole, is_running],
        )| {
            Record::InspectedThread(InspectedThread {
                process: ProcessId(process),
                tid,
                name,
                syscall,
                call,
                switches,
                role,
                polls: polls.map(TaskId),
                addresses,
                is_whole,
                is_running,
            })
        },
    )
}
