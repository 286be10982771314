//! The call stacks of coroutines that wait on stacks of their own.

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineStack, Nanos};
use ctp_trace::verdict::Judgement;
use serde::Serialize;

use crate::evidence::thread_inspections::StackFrame;
use crate::evidence::{Member, members};
use crate::load::Model;
use crate::names::Names;
use crate::names::call_stacks::{CallFrame, CallStacks};

/// Of longer stacks, evidence has only the innermost functions.
const MAX_FRAMES: usize = 32;

/// A waiting coroutine with its call stack.
pub struct WaitingStack<'m> {
    /// The coroutine.
    pub coroutine: &'m Coroutine,
    /// Its verdict.
    pub judgement: Judgement,
    /// What the recorder read.
    pub stack: &'m CoroutineStack,
    /// The name of the coroutine.
    pub name: String,
    /// The functions, innermost first.
    pub frames: Vec<CallFrame>,
}

/// Where a coroutine waits, by its call stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitCalls {
    /// The coroutine.
    pub id: u32,
    /// When the stack was read.
    pub at_ns: u64,
    /// Whether the outermost function is known. A stack that is longer than `frames` may be whole, too.
    pub whole: bool,
    /// The functions, innermost first.
    pub frames: Vec<StackFrame>,
}

/// The judged coroutines that wait with a known call stack, or whose stack could not be read because they
/// went on.
pub fn waiting<'m>(
    model: &'m Model,
    names: &Names,
    stacks: &CallStacks,
    threshold: Nanos,
) -> Vec<WaitingStack<'m>> {
    let judged = members(&model.trace_model, threshold);
    let waiting = judged.filter_map(|(coroutine, judgement)| {
        let stack = model.trace_model.coroutine_stack(coroutine)?;
        Some(WaitingStack {
            coroutine,
            judgement,
            stack,
            name: names.of_coroutine(model, coroutine),
            frames: frames(names, stacks, coroutine, stack),
        })
    });
    waiting.collect()
}

/// Where a coroutine waits, if its call stack is known.
pub fn calls(
    model: &Model,
    names: &Names,
    stacks: &CallStacks,
    (coroutine, _): Member,
) -> Option<WaitCalls> {
    let stack = model.trace_model.coroutine_stack(coroutine)?;
    let frames = frames(names, stacks, coroutine, stack);
    let frames = frames.into_iter().take(MAX_FRAMES);
    let frames: Vec<StackFrame> = frames
        .map(|(label, inlined)| StackFrame { label, inlined })
        .collect();
    (!frames.is_empty()).then_some(WaitCalls {
        id: coroutine.id.0,
        at_ns: stack.at.0,
        whole: stack.is_whole,
        frames,
    })
}

/// The functions without those of the probe, in which the stack pointer was stored.
fn frames(
    names: &Names,
    stacks: &CallStacks,
    coroutine: &Coroutine,
    stack: &CoroutineStack,
) -> Vec<CallFrame> {
    let frames = stacks.frames(coroutine.process, &stack.addresses);
    let frames = frames.into_iter();
    frames
        .skip_while(|(label, _)| names.is_of_probe(label))
        .collect()
}

impl WaitingStack<'_> {
    /// The state in a word: `waiting`, or `moving` if the stack could not be read.
    pub fn state_word(&self) -> &'static str {
        if self.stack.is_moving {
            "moving"
        } else {
            "waiting"
        }
    }
}
