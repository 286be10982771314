//! A trace with inspections.

use ctp_trace::record::*;

use super::written;

/// Two inspections of a process: in the second, a task has ended and a thread has changed.
pub(super) fn inspection() -> Vec<u8> {
    let mut records = vec![Record::Process(Process {
        id: ProcessId(1),
        pid: 700,
        ..Process::default()
    })];
    records.push(begin(1));
    records.push(stack());
    records.extend([waiting_task(), running_task(), thread(ThreadRole::Polling)]);
    records.push(end(1, &[], &[]));
    records.extend([begin(2), thread(ThreadRole::Parked), end(2, &[2], &[702])]);
    let end = End {
        at: Nanos(2_000_000_000),
        how: ExitReason::Stopped,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}

/// An inspection of a process in which a task is a recorded coroutine.
pub(super) fn recorded_task() -> Vec<u8> {
    let task = InspectedTask {
        id: TaskId(1),
        process: ProcessId(1),
        address: 0x7f00_0000_0080,
        size_bytes: 640,
        coroutine: CoroutineId(3),
        ..InspectedTask::default()
    };
    let task = Record::InspectedTask(Box::new(task));
    let birth = Record::Birth(Birth {
        coroutine: CoroutineId(3),
        process: ProcessId(1),
        lived_before: true,
        ..Birth::default()
    });
    let records = [birth, begin(1), task, end(1, &[], &[])];
    written(&Start::default(), &records, &End::default())
}

fn begin(number: u32) -> Record {
    Record::Inspection(Inspection {
        process: ProcessId(1),
        number,
        at: Nanos(u64::from(number) * 1_000_000_000),
        ..Inspection::default()
    })
}

fn end(number: u32, ended: &[u32], ended_threads: &[u32]) -> Record {
    Record::InspectionEnd(InspectionEnd {
        process: ProcessId(1),
        number,
        at: Nanos(u64::from(number) * 1_000_000_000 + 38_000_000),
        ended: ended.iter().copied().map(TaskId).collect(),
        ended_threads: ended_threads.to_vec(),
        runtimes: vec!["tokio 1.54.1".to_owned()],
        gaps: vec!["no debug information in /srv/app".to_owned()],
    })
}

fn stack() -> Record {
    let frame = |depth, name: &str, line, may_wait_forever| AwaitFrame {
        depth,
        name: name.to_owned(),
        file: "src/main.rs".to_owned(),
        line,
        may_wait_forever,
        ..AwaitFrame::default()
    };
    Record::AwaitStack(AwaitStack {
        id: AwaitStackId(1),
        frames: vec![
            frame(0, "serve", 61, false),
            frame(1, "std::future::Pending", 0, true),
            frame(1, "tokio::time::Sleep", 0, false),
        ],
    })
}

fn waiting_task() -> Record {
    let holders = [
        WakerHolder::Unknown,
        WakerHolder::Io(None),
        WakerHolder::Io(Some(0)),
        WakerHolder::Timer,
        WakerHolder::Sync(0x7f00_0000_1000),
        WakerHolder::Task(TaskId(2)),
        WakerHolder::Own,
        WakerHolder::Thread(701),
    ];
    Record::InspectedTask(Box::new(InspectedTask {
        id: TaskId(1),
        process: ProcessId(1),
        kind: TaskKind::Tokio,
        address: 0x7f00_0000_0080,
        runtime_id: 12,
        name: "app::serve".to_owned(),
        spawned_at: Some(("src/main.rs".to_owned(), 40)),
        state: TaskState::Idle,
        wakers: Some(8),
        waker_holders: holders.to_vec(),
        stack: AwaitStackId(1),
        waits: waits(),
        holds: vec![HeldLock {
            resource: Resource::Mutex(0x7f00_0000_3000),
            is_exclusive: true,
            frame: 0,
            variable: "guard".to_owned(),
            line: 60,
        }],
        ..InspectedTask::default()
    }))
}

fn waits() -> Vec<TaskWait> {
    let resources = [
        Resource::Unknown,
        Resource::Readable(7),
        Resource::Writable(8),
        Resource::Timer(Nanos(5_000_000_000)),
        Resource::Mutex(1),
        Resource::RwLock(2),
        Resource::Semaphore(3),
        Resource::Channel(4),
        Resource::Notify(5),
        Resource::Task(TaskId(2)),
    ];
    let registered = [None, Some(false), Some(true)].into_iter().cycle();
    let waits = resources.into_iter().zip(registered);
    waits
        .map(|(resource, has_waker)| TaskWait {
            frame: 1,
            resource,
            has_waker,
            always_registers: has_waker == Some(true),
        })
        .collect()
}

fn running_task() -> Record {
    Record::InspectedTask(Box::new(InspectedTask {
        id: TaskId(2),
        process: ProcessId(1),
        kind: TaskKind::Child,
        state: TaskState::Running,
        polled_by: 701,
        ..InspectedTask::default()
    }))
}

fn thread(role: ThreadRole) -> Record {
    let is_parked = role == ThreadRole::Parked;
    Record::InspectedThread(InspectedThread {
        process: ProcessId(1),
        tid: 701,
        name: "tokio-rt-worker".to_owned(),
        syscall: is_parked.then_some(202),
        call: if is_parked { "futex" } else { "" }.to_owned(),
        switches: 9,
        role,
        polls: (!is_parked).then_some(TaskId(2)),
        addresses: vec![0x5555_5555_4000, 0x5555_5555_3000],
        is_whole: true,
        is_running: false,
    })
}
