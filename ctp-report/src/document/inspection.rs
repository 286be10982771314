//! The fields of JSON documents about inspections: when they were made, and every task and thread.

use ctp_trace::model::InspectionTime;
use ctp_trace::record::{
    AwaitStack, HeldLock, InspectedTask, Nanos, ProcessId, Resource, TaskKind,
};
use serde_json::{Map, Value, json};

use crate::evidence::coroutine_stacks::WaitingStack;
use crate::evidence::inspected::cpp::{self, FunctionFrames};
use crate::evidence::inspected::threads::ThreadStack;
use crate::evidence::inspected::{TaskGroup, kind_word, owners, site, words};
use crate::load::Model;
use crate::names::Label;
use crate::text;

/// The inspections, the groups of tasks and the threads.
pub fn fields(model: &Model, groups: &[TaskGroup], threads: &[ThreadStack]) -> Value {
    let is_core_file = model.is_core_file();
    let cpp = cpp::frames(groups);
    let groups = groups.iter().map(|group| {
        let mut entry = of_group(group, is_core_file);
        if group.first().kind == TaskKind::Boxed {
            let tasks: Vec<_> = group.tasks.iter().map(|member| member.task).collect();
            entry["held_by"] = owners::holders(&tasks, threads).into();
        }
        entry
    });
    let mut fields = json!({
        "looks": inspections(model),
        "tasks": groups.chain(threads.iter().map(of_thread)).collect::<Vec<_>>(),
    });
    if !cpp.is_empty() {
        fields["coroutine_frames"] = cpp.iter().map(of_function).collect();
    }
    fields
}

/// The same, with the coroutines that wait on stacks of their own.
pub fn with_coroutines(
    model: &Model,
    groups: &[TaskGroup],
    coroutines: &[WaitingStack],
    threads: &[ThreadStack],
) -> Value {
    let mut fields = fields(model, groups, threads);
    if let Some(tasks) = fields["tasks"].as_array_mut() {
        tasks.extend(coroutines.iter().map(of_coroutine));
    }
    fields
}

fn of_function(frames: &FunctionFrames) -> Value {
    json!({
        "function": frames.function,
        "file": frames.label.file,
        "line": frames.label.line,
        "live": frames.live,
        "not_destroyed": frames.finished,
        "may_be_freed": frames.may_be_freed,
    })
}

fn inspections(model: &Model) -> Vec<Value> {
    let all = model.trace_model.inspected_threads();
    all.flat_map(|(process, inspected)| {
        let times = inspected.times.iter();
        times.map(move |time| inspection(model, process, time))
    })
    .collect()
}

fn inspection(model: &Model, process: ProcessId, time: &InspectionTime) -> Value {
    let mut all = model.trace_model.inspected();
    let inspected = all.find(|(id, _)| *id == process);
    if let Some((_, inspected)) = inspected.filter(|(_, inspected)| inspected.is_core_file()) {
        let file = text::escape_bytes(&inspected.core_file);
        return json!({ "process": process.0, "core_file": file });
    }
    json!({ "process": process.0, "began_ns": time.began.0, "ended_ns": time.ended.0 })
}

fn of_group(group: &TaskGroup, is_core_file: bool) -> Value {
    let (task, judgement) = (group.first(), group.judgement());
    let mut entry = json!({
        "id": task.id.0,
        "kind": kind_word(task.kind),
        "name": site::name_of(task),
        "count": group.tasks.len(),
        "ids": group.ids(),
        "state": task.state.word(),
        "wakers": task.wakers,
        "waker_holders": task.waker_holders.iter().map(words::holder_word).collect::<Vec<_>>(),
        "frames": group.tasks[0].stack.map(frames).unwrap_or_default(),
        "waits_for": waits_for(task, is_core_file),
        "holds": task.holds.iter().map(held).collect::<Vec<_>>(),
        "blocked_by": group.tasks[0].blockers.iter().map(|id| id.0).collect::<Vec<_>>(),
        "verdict": judgement.verdict.word(),
        "confidence": judgement.confidence.word(),
        "reason": judgement.reason.word(),
    });
    if let Some((file, line)) = &task.spawned_at {
        entry["spawned_at"] = json!({ "file": text::escape(file), "line": line });
    }
    entry
}

/// The frames of a stack, innermost first. If the stack has branches, `depth` says which frame
/// contains which.
fn frames(stack: &AwaitStack) -> Vec<Value> {
    let frames = stack.frames.iter().rev();
    frames
        .map(|frame| {
            let mut value = self::frame(&site::label_of(frame), false);
            value.insert("depth".to_owned(), frame.depth.into());
            if frame.suspension != 0 {
                value.insert("suspension".to_owned(), frame.suspension.into());
            }
            value.into()
        })
        .collect()
}

fn frame(label: &Label, inlined: bool) -> Map<String, Value> {
    let fields: [(&str, Value); 4] = [
        ("function", label.function.clone().into()),
        ("file", label.file.clone().into()),
        ("line", label.line.into()),
        ("inlined", inlined.into()),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// A core file does not say when it was written, so its deadlines mean nothing.
fn waits_for(task: &InspectedTask, is_core_file: bool) -> Vec<Value> {
    let waits = task.waits.iter().map(|wait| {
        let deadline = match wait.resource {
            Resource::Timer(Nanos(deadline)) if !is_core_file => Some(deadline),
            _ => None,
        };
        json!({
            "kind": words::resource_kind(wait.resource),
            "resource": words::resource_number(wait.resource),
            "deadline_ns": deadline,
            "has_waker": wait.has_waker,
        })
    });
    waits.collect()
}

fn held(hold: &HeldLock) -> Value {
    json!({
        "kind": words::resource_kind(hold.resource),
        "resource": words::resource_number(hold.resource),
        "exclusive": hold.is_exclusive,
        "variable": text::escape(&hold.variable),
        "line": hold.line,
    })
}

fn of_coroutine(waiting: &WaitingStack) -> Value {
    let frames = waiting
        .frames
        .iter()
        .map(|(label, inlined)| frame(label, *inlined));
    let (coroutine, judgement) = (waiting.coroutine, &waiting.judgement);
    json!({
        "id": coroutine.id.0,
        "kind": "coroutine",
        "name": waiting.name,
        "count": 1,
        "ids": [coroutine.id.0],
        "state": waiting.state_word(),
        "age_ns": judgement.age.0,
        "wakers": null,
        "frames": frames.map(Value::from).collect::<Vec<_>>(),
        "whole": waiting.stack.is_whole,
        "waits_for": [],
        "holds": [],
        "verdict": judgement.verdict.word(),
        "confidence": judgement.confidence.word(),
        "reason": judgement.reason.word(),
    })
}

fn of_thread(stack: &ThreadStack) -> Value {
    let thread = stack.thread;
    let frames = stack
        .frames
        .iter()
        .map(|(label, inlined)| frame(label, *inlined));
    let (verdict, confidence, reason) = match (stack.is_busy, stack.is_of_core_file) {
        (true, true) => ("BUSY", "LIKELY", "in-call"),
        (true, false) => ("BUSY", "CERTAIN", "in-call"),
        (false, _) => ("WAITING", "OPEN", "waits"),
    };
    json!({
        "id": thread.tid,
        "kind": "thread",
        "name": text::escape(&thread.name),
        "count": 1,
        "ids": [thread.tid],
        "state": stack.state_word(),
        "wakers": null,
        "call": thread.call,
        "polls": thread.polls.map(|task| task.0),
        "frames": frames.map(Value::from).collect::<Vec<_>>(),
        "whole": thread.is_whole,
        "waits_for": [],
        "holds": [],
        "verdict": verdict,
        "confidence": confidence,
        "reason": reason,
    })
}
