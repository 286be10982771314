//! The fields of the records of inspections.

use ctp_trace::record::{
    AwaitFrame, AwaitStack, HeldLock, InspectedTask, InspectedThread, Inspection, InspectionEnd,
    Record, Resource, TaskKind, TaskOwner, TaskWait, ThreadRole, WakerHolder,
};
use serde_json::{Value, json};

use super::{Field, Fields, address, fields};
use crate::text::{escape, escape_bytes};

/// Returns the fields of a record of an inspection.
pub(super) fn fields_of(record: &Record) -> Fields {
    match record {
        Record::Inspection(begin) => fields("inspects", Some(begin.at), begin_fields(begin)),
        Record::AwaitStack(stack) => fields("stack", None, stack_fields(stack)),
        Record::InspectedTask(task) => fields("task", None, task_fields(task)),
        Record::InspectedThread(thread) => fields("thread", None, thread_fields(thread)),
        Record::InspectionEnd(end) => fields("inspected", Some(end.at), end_fields(end)),
        _ => fields("unknown", None, vec![]),
    }
}

fn begin_fields(begin: &Inspection) -> Vec<Field> {
    let mut fields = vec![
        ("process", begin.process.0.into()),
        ("number", begin.number.into()),
        ("only_threads", begin.only_threads.into()),
    ];
    if !begin.core_file.is_empty() {
        fields.push(("core_file", escape_bytes(&begin.core_file).into()));
    }
    fields
}

fn end_fields(end: &InspectionEnd) -> Vec<Field> {
    let ended: Vec<u32> = end.ended.iter().map(|id| id.0).collect();
    vec![
        ("process", end.process.0.into()),
        ("number", end.number.into()),
        ("ended", ended.into()),
        ("ended_threads", end.ended_threads.clone().into()),
        ("runtimes", texts(&end.runtimes)),
        ("gaps", texts(&end.gaps)),
    ]
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|text| escape(text)).collect()
}

fn stack_fields(stack: &AwaitStack) -> Vec<Field> {
    vec![
        ("id", stack.id.0.into()),
        ("frames", stack.frames.iter().map(frame).collect()),
    ]
}

fn frame(frame: &AwaitFrame) -> Value {
    let mut value = json!({
        "depth": frame.depth,
        "name": escape(&frame.name),
        "file": escape(&frame.file),
        "line": frame.line,
        "may_wait_forever": frame.may_wait_forever,
    });
    if frame.suspension != 0 {
        value["suspension"] = frame.suspension.into();
    }
    value
}

fn task_fields(task: &InspectedTask) -> Vec<Field> {
    let spawned_at = task.spawned_at.as_ref();
    let spawned_at = spawned_at.map(|(file, line)| format!("{}:{line}", escape(file)));
    let mut fields = vec![
        ("id", task.id.0.into()),
        ("process", task.process.0.into()),
        ("kind", task.kind.word().into()),
        ("address", address(task.address)),
        ("runtime_id", task.runtime_id.into()),
        ("name", escape(&task.name).into()),
        ("spawned_at", spawned_at.into()),
        ("state", task.state.word().into()),
        ("wakers", task.wakers.into()),
        (
            "waker_holders",
            task.waker_holders.iter().map(waker_holder).collect(),
        ),
        ("stack", task.stack.0.into()),
        ("waits", task.waits.iter().map(wait).collect()),
        ("holds", task.holds.iter().map(hold).collect()),
        ("polled_by", task.polled_by.into()),
        ("size_bytes", task.size_bytes.into()),
        ("coroutine", task.coroutine.0.into()),
    ];
    if task.may_be_freed {
        fields.push(("may_be_freed", true.into()));
    }
    if task.kind == TaskKind::Boxed {
        fields.push(("owner", owner(&task.owner).into()));
    }
    fields
}

fn owner(owner: &TaskOwner) -> String {
    match owner {
        TaskOwner::Task(task) => format!("task {}", task.0),
        TaskOwner::Static(path) => format!("static {}", escape(path)),
        TaskOwner::Thread(tid) => format!("tid {tid}"),
        _ => "unknown".to_owned(),
    }
}

fn waker_holder(holder: &WakerHolder) -> Value {
    match *holder {
        WakerHolder::Io(Some(fd)) => format!("fd {fd}"),
        WakerHolder::Io(None) => "fd".to_owned(),
        WakerHolder::Timer => "timer".to_owned(),
        WakerHolder::Sync(at) => format!("waiters {at:#x}"),
        WakerHolder::Task(task) => format!("task {}", task.0),
        WakerHolder::Own => "own".to_owned(),
        WakerHolder::Thread(tid) => format!("tid {tid}"),
        WakerHolder::Memory(at) => format!("memory {at:#x}"),
        _ => "unknown".to_owned(),
    }
    .into()
}

fn wait(wait: &TaskWait) -> Value {
    json!({
        "frame": wait.frame,
        "resource": resource(wait.resource),
        "has_waker": wait.has_waker,
        "always_registers": wait.always_registers,
    })
}

fn hold(hold: &HeldLock) -> Value {
    json!({
        "resource": resource(hold.resource),
        "is_exclusive": hold.is_exclusive,
        "frame": hold.frame,
        "variable": escape(&hold.variable),
        "line": hold.line,
    })
}

fn resource(resource: Resource) -> String {
    match resource {
        Resource::Readable(fd) => format!("readable {fd}"),
        Resource::Writable(fd) => format!("writable {fd}"),
        Resource::Timer(deadline) => format!("timer {}", deadline.0),
        Resource::Mutex(at) => format!("mutex {at:#x}"),
        Resource::RwLock(at) => format!("rwlock {at:#x}"),
        Resource::Semaphore(at) => format!("semaphore {at:#x}"),
        Resource::Channel(at) => format!("channel {at:#x}"),
        Resource::Room(at) => format!("room {at:#x}"),
        Resource::Notify(at) => format!("notify {at:#x}"),
        Resource::Task(task) => format!("task {}", task.0),
        _ => "unknown".to_owned(),
    }
}

fn thread_fields(thread: &InspectedThread) -> Vec<Field> {
    let addresses = thread.addresses.iter().map(|number| address(*number));
    vec![
        ("process", thread.process.0.into()),
        ("tid", thread.tid.into()),
        ("name", escape(&thread.name).into()),
        ("syscall", thread.syscall.into()),
        ("call", escape(&thread.call).into()),
        ("switches", thread.switches.into()),
        ("role", thread_role(thread.role).into()),
        ("polls", thread.polls.map(|task| task.0).into()),
        ("addresses", addresses.collect()),
        ("whole", thread.is_whole.into()),
        ("running", thread.is_running.into()),
    ]
}

fn thread_role(role: ThreadRole) -> &'static str {
    match role {
        ThreadRole::Parked => "parked",
        ThreadRole::Polling => "polling",
        ThreadRole::Worker => "worker",
        ThreadRole::Blocking => "blocking",
        _ => "other",
    }
}
