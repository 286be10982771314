//! Prints the records of inspections.

use ctp_trace::record::{
    AwaitStack, InspectedTask, InspectedThread, Inspection, InspectionEnd, Record,
};

pub fn line(record: &Record) -> String {
    match record {
        Record::Inspection(begin) => dump_begin(begin),
        Record::AwaitStack(stack) => dump_stack(stack),
        Record::InspectedTask(task) => dump_task(task),
        Record::InspectedThread(thread) => dump_thread(thread),
        Record::InspectionEnd(end) => dump_end(end),
        _ => panic!("no record of an inspection: {record:?}"),
    }
}

fn dump_begin(begin: &Inspection) -> String {
    let only_threads = if begin.only_threads {
        " only_threads"
    } else {
        ""
    };
    format!(
        "inspection {} process={} at={}{only_threads}",
        begin.number, begin.process.0, begin.at.0
    )
}

fn dump_end(end: &InspectionEnd) -> String {
    let ended: Vec<u32> = end.ended.iter().map(|id| id.0).collect();
    format!(
        "inspection end {} process={} at={} ended={ended:?} ended_threads={:?} runtimes={:?} gaps={:?}",
        end.number, end.process.0, end.at.0, end.ended_threads, end.runtimes, end.gaps
    )
}

fn dump_stack(stack: &AwaitStack) -> String {
    let frames = stack.frames.iter().map(|frame| {
        format!(
            " [{} {} {}:{} may_wait_forever={}]",
            frame.depth, frame.name, frame.file, frame.line, frame.may_wait_forever
        )
    });
    format!("stack {}{}", stack.id.0, frames.collect::<String>())
}

fn dump_task(task: &InspectedTask) -> String {
    let waits = task.waits.iter().map(|wait| {
        format!(
            " wait[{} {:?} has_waker={:?} always_registers={}]",
            wait.frame, wait.resource, wait.has_waker, wait.always_registers
        )
    });
    let recorded = if task.is_recorded() {
        format!(" size={} coroutine={}", task.size_bytes, task.coroutine.0)
    } else {
        String::new()
    };
    let holds = task.holds.iter().map(|hold| {
        format!(
            " hold[{:?} exclusive={} {} {}:{}]",
            hold.resource, hold.is_exclusive, hold.frame, hold.variable, hold.line
        )
    });
    format!(
        "task {} process={} kind={:?} address={:#x} runtime_id={} name={:?} spawned_at={:?} state={:?} \
         wakers={:?} holders={:?} stack={}{}{} polled_by={}{recorded}",
        task.id.0,
        task.process.0,
        task.kind,
        task.address,
        task.runtime_id,
        task.name,
        task.spawned_at,
        task.state,
        task.wakers,
        task.waker_holders,
        task.stack.0,
        waits.collect::<String>(),
        holds.collect::<String>(),
        task.polled_by
    )
}

fn dump_thread(thread: &InspectedThread) -> String {
    let running = if thread.is_running { " running" } else { "" };
    format!(
        "thread {} process={} name={:?} syscall={:?} {:?} switches={} role={:?} polls={:?} {:x?} whole={}{running}",
        thread.tid,
        thread.process.0,
        thread.name,
        thread.syscall,
        thread.call,
        thread.switches,
        thread.role,
        thread.polls,
        thread.addresses,
        thread.is_whole
    )
}
