//! Where inspections during a recording found the threads of busy coroutines and of the blocking pool.

use ctp_trace::model::{Coroutine, ThreadActivity, ThreadFacts};
use ctp_trace::record::{Nanos, ThreadRole};
use serde::Serialize;

use crate::load::Model;
use crate::names::call_stacks::{CallFrame, CallStacks};
use crate::names::{Label, Names, label};
use crate::text::{self, units};

/// What inspections found out about a thread.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ThreadInspection {
    /// The thread.
    pub tid: u32,
    /// What the thread did.
    pub state: InspectedState,
    /// The system call, if the thread is in any.
    pub call: Option<String>,
    /// When the first inspection with this result began.
    pub first_ns: u64,
    /// When the last inspection began.
    pub last_ns: u64,
    /// The number of these inspections.
    #[serde(rename = "looks")]
    pub inspections: usize,
    /// The functions, innermost first, up to the one that polls the coroutine.
    pub frames: Vec<StackFrame>,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InspectedState {
    /// Blocked in a system call that the thread did not leave between the inspections.
    Blocked,
    /// In a system call, and perhaps elsewhere between two inspections.
    InCall,
    /// Running, or ready to run, at each inspection.
    Running,
    /// Anything else.
    #[default]
    Unknown,
}

/// A function on a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StackFrame {
    /// The function and its place.
    #[serde(flatten)]
    pub label: Label,
    /// The compiler inlined the function into the next function.
    pub inlined: bool,
}

/// Longer stacks are cut.
const MAX_FRAMES: usize = 32;

impl ThreadInspection {
    /// Where inspections since the run began found the thread of a running coroutine.
    pub fn of(
        model: &Model,
        names: &Names,
        stacks: &CallStacks,
        coroutine: &Coroutine,
    ) -> Option<Self> {
        let tid = u32::try_from(coroutine.last?.tid).ok()?;
        let mut all = model.trace_model.inspected_threads();
        let (process, threads) = all.find(|(process, _)| *process == coroutine.process)?;
        let facts = threads.facts(tid, coroutine.state().1)?;
        let frames = stacks.frames(process, &facts.thread.addresses);
        Some(Self::new(
            &facts,
            up_to(frames, |label| {
                names.is_of_probe(label) || is_of_runtime(label) || is_begin_of_thread(label)
            }),
        ))
    }

    /// The threads of the blocking pool that run a closure of the program.
    pub fn of_blocking_pool(model: &Model, stacks: &CallStacks) -> Vec<Self> {
        let all = model.trace_model.inspected_threads();
        all.flat_map(|(process, threads)| {
            let known = threads.threads.values().map(|known| &known.latest);
            let pool = known.filter(|thread| thread.role == ThreadRole::Blocking);
            let inspected = pool.filter_map(|thread| {
                let facts = threads.facts(thread.tid, Nanos(0))?;
                let frames = stacks.frames(process, &thread.addresses);
                let polls = frames.iter().any(|(label, _)| is_poll_of_closure(label));
                polls.then(|| Self::new(&facts, up_to(frames, is_of_runtime)))
            });
            inspected.collect::<Vec<_>>()
        })
        .collect()
    }

    fn new(facts: &ThreadFacts, frames: Vec<CallFrame>) -> Self {
        let thread = facts.thread;
        let call = thread.syscall.map(|number| match thread.call.as_str() {
            "" => format!("system call {number}"),
            call => text::escape(call),
        });
        ThreadInspection {
            tid: thread.tid,
            state: match facts.activity {
                ThreadActivity::Blocked => InspectedState::Blocked,
                ThreadActivity::InCall => InspectedState::InCall,
                ThreadActivity::Running => InspectedState::Running,
                ThreadActivity::Unknown => InspectedState::Unknown,
            },
            call,
            first_ns: facts.first.0,
            last_ns: facts.last.0,
            inspections: facts.inspections,
            frames: frames
                .into_iter()
                .map(|(label, inlined)| StackFrame { label, inlined })
                .collect(),
        }
    }

    /// The innermost function of the program, with the library function that it called.
    pub fn place(&self, names: &Names, coroutine: &str) -> Option<Label> {
        let own = self.frames.iter().position(|frame| {
            let label = &frame.label;
            names.is_leaf_of_user(label, coroutine) && !names.is_of_library(label)
        })?;
        let called = self.frames[..own].last();
        let label = self.frames[own].label.clone();
        Some(Label {
            within: called.and_then(StackFrame::short_function),
            ..label
        })
    }

    /// Formats `blocked in futex` or `computing`.
    pub fn describe(&self) -> String {
        match (self.state, &self.call) {
            (InspectedState::Blocked, Some(call)) => format!("blocked in {call}"),
            (InspectedState::Running, _) if self.inspections == 1 => "running".to_owned(),
            (InspectedState::Running, _) => "computing".to_owned(),
            (_, Some(call)) => format!("in {call}"),
            (_, None) => "neither in a call nor running".to_owned(),
        }
    }

    /// The proof: what the first and the last of the inspections found.
    pub fn proof(&self) -> Vec<(Nanos, String)> {
        let tid = self.tid;
        let found = match (self.state, &self.call) {
            (InspectedState::Running, _) => format!("tid {tid} is in no call, and runs"),
            (_, Some(call)) => format!("tid {tid} is in {call}"),
            (_, None) => return Vec::new(),
        };
        let mut lines = vec![(Nanos(self.first_ns), found)];
        if 1 < self.inspections {
            let inspections = units::grouped(self.inspections as u64);
            let last = match self.state {
                InspectedState::Blocked => {
                    format!(
                        "tid {tid} is still there after {inspections} inspections, without a context switch"
                    )
                }
                InspectedState::Running => {
                    format!("tid {tid} runs in all {inspections} inspections")
                }
                _ => format!("tid {tid} is there in all {inspections} inspections"),
            };
            lines.push((Nanos(self.last_ns), last));
        }
        lines
    }
}

impl StackFrame {
    /// `touch src/main.rs:25 (inlined)`
    pub fn describe(&self) -> String {
        let at = self.label.at().unwrap_or_default();
        let inlined = if self.inlined { " (inlined)" } else { "" };
        match self.short_function() {
            Some(function) => format!("{function} {at}{inlined}").trim_end().to_owned(),
            None => at,
        }
    }

    /// The path of the function, without type arguments.
    fn short_function(&self) -> Option<String> {
        let function = self.label.function.as_ref()?;
        Some(label::plain(function).unwrap_or_else(|| function.clone()))
    }
}

/// The frames before the first frame for which `is_end` holds, at most [`MAX_FRAMES`].
fn up_to(mut frames: Vec<CallFrame>, is_end: impl Fn(&Label) -> bool) -> Vec<CallFrame> {
    let end = frames.iter().position(|(label, _)| is_end(label));
    frames.truncate(end.unwrap_or(frames.len()).min(MAX_FRAMES));
    frames
}

fn is_of_runtime(label: &Label) -> bool {
    function(label).contains("tokio::runtime::")
}

fn is_begin_of_thread(label: &Label) -> bool {
    function(label).contains("__rust_begin_short_backtrace")
}

fn is_poll_of_closure(label: &Label) -> bool {
    let function = function(label);
    function.contains("tokio::runtime::task::raw::poll")
        || function.contains("tokio::runtime::task::harness::Harness")
}

fn function(label: &Label) -> &str {
    label.function.as_deref().unwrap_or_default()
}
