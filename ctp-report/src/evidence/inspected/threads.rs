//! Threads of inspected processes, with the functions on their call stacks.

use ctp_trace::model::InspectedProcess;
use ctp_trace::record::{InspectedThread, ThreadRole};

use crate::load::Model;
use crate::names::call_stacks::{CallFrame, CallStacks};

/// A thread with its call stack.
pub struct ThreadStack<'m> {
    /// What the last inspection found.
    pub thread: &'m InspectedThread,
    /// The functions, innermost first.
    pub frames: Vec<CallFrame>,
    /// The thread polls a task, and has been blocked in the same call since an earlier inspection.
    pub is_busy: bool,
    /// The thread is known from a core file, which does not show for how long a call lasts.
    pub is_of_core_file: bool,
}

/// The threads of all inspected processes, by process and id.
pub fn threads<'m>(model: &'m Model, stacks: &CallStacks) -> Vec<ThreadStack<'m>> {
    let all = model.trace_model.inspected_threads();
    let stacks = all.flat_map(|(process, threads)| {
        let mut inspected = model.trace_model.inspected();
        let inspected = inspected.find(|(id, _)| *id == process);
        let core_file = inspected
            .map(|(_, inspected)| inspected)
            .filter(|inspected| inspected.is_core_file());
        threads.threads.values().map(move |known| ThreadStack {
            thread: &known.latest,
            frames: stacks.frames(process, &known.latest.addresses),
            is_busy: match core_file {
                Some(inspected) => is_blocked_poll(inspected, known.latest.tid),
                None => threads.is_blocked_poll(known),
            },
            is_of_core_file: core_file.is_some(),
        })
    });
    stacks.collect()
}

fn is_blocked_poll(inspected: &InspectedProcess, tid: u32) -> bool {
    let known = inspected.threads.get(&tid);
    known.is_some_and(|known| inspected.is_blocked_poll(known))
}

impl ThreadStack<'_> {
    /// What the thread does, in a word.
    pub fn state_word(&self) -> &'static str {
        if self.thread.syscall.is_some() {
            "blocked"
        } else {
            "running"
        }
    }

    /// Formats `blocked in clock_nanosleep` or `running`.
    pub fn describe(&self) -> String {
        let call = match (self.thread.syscall, self.thread.call.as_str()) {
            (None, _) => return "running".to_owned(),
            (Some(number), "") => format!("system call {number}"),
            (_, call) => crate::text::escape(call),
        };
        format!("blocked in {call}")
    }

    /// The role of the thread in its runtime.
    pub fn role_word(&self) -> Option<&'static str> {
        match self.thread.role {
            ThreadRole::Parked => Some("a worker that waits for work"),
            ThreadRole::Polling => Some("a worker that polls a task"),
            ThreadRole::Worker => Some("a worker"),
            ThreadRole::Blocking => Some("of the blocking pool"),
            _ => None,
        }
    }
}
