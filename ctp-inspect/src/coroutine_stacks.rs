//! [`CoroutineStacks`]: the call stacks of coroutines that wait on stacks of their own.
//!
//! The caller knows where each coroutine waits, copies its stack, and then checks that the coroutine has not gone on
//! meanwhile. Only then the copy is unwound.

use crate::stacks::{CopiedStack, Processor, Registers, Stack, Unwinder, WithStack};
use crate::target::Target;
use crate::target::error::TargetError;
use crate::target::mapping::Mapping;

/// Longer call stacks are cut.
const MAX_FRAMES: usize = 128;
/// Usually, a coroutine's first function has its frame in this many bytes at the end of the mapping. The kernel may have
/// merged the mapping with the next.
const BASE_BYTES: u64 = 4096;

/// Where a coroutine waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// An address in the code of the innermost function.
    pub pc: u64,
    /// The stack pointer of that function.
    pub sp: u64,
    /// Its frame pointer.
    pub fp: u64,
}

/// The call stack of a coroutine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadStack {
    /// Innermost first: an instruction, then return addresses.
    pub addresses: Vec<u64>,
    /// The last address is in the function with which the coroutine began.
    pub is_whole: bool,
}

/// Reads call stacks of a process.
pub struct CoroutineStacks {
    target: Box<dyn Target>,
    unwinder: Unwinder,
    /// The code for which unwind tables are remembered.
    code: Vec<Mapping>,
}

impl CoroutineStacks {
    /// Prepares to read stacks of `target`.
    pub fn new(target: Box<dyn Target>) -> Self {
        CoroutineStacks {
            target,
            unwinder: Unwinder::default(),
            code: Vec::new(),
        }
    }

    /// Reads the mappings of the process again.
    ///
    /// # Errors
    /// The process has exited, or runs another program by now.
    pub fn refresh(&mut self) -> Result<(), TargetError> {
        self.target.refresh()?;
        let mappings = self.target.mappings().iter();
        let code = || mappings.clone().filter(|mapping| mapping.is_executable);
        if !self.code.iter().eq(code()) {
            self.code = code().cloned().collect();
            self.unwinder.forget();
        }
        Ok(())
    }

    /// Copies the used part of the stack. The copy is empty if the stack pointer cannot be that of a stack.
    pub fn copy(&self, position: &Position) -> CopiedStack {
        let mapping = self.target.mapping_at(position.sp);
        let is_stack = mapping.is_some_and(|mapping| mapping.is_writable && mapping.is_readable);
        if is_stack && position.sp.is_multiple_of(8) {
            CopiedStack::copy(&*self.target, position.sp)
        } else {
            CopiedStack::default()
        }
    }

    /// The call stack in a copy that was made at this position.
    pub fn unwind(&mut self, position: &Position, copy: &CopiedStack) -> ReadStack {
        let Some(processor) = Processor::HOST.filter(|_| !copy.is_empty()) else {
            return ReadStack::default();
        };
        let target = WithStack {
            target: &*self.target,
            stack: copy,
        };
        let registers =
            Registers::with_frame_pointer(processor, position.pc, position.sp, position.fp);
        let stack = self.unwinder.unwind(&target, &registers);
        let end = self
            .target
            .mapping_at(position.sp)
            .map(|mapping| mapping.end);
        read_stack(&stack, end.unwrap_or(position.sp))
    }
}

/// The addresses of a stack whose mapping ends at `end`.
fn read_stack(stack: &Stack, end: u64) -> ReadStack {
    let frames = stack.frames.iter().take(MAX_FRAMES).enumerate();
    let addresses = frames.map(|(at, frame)| frame.recorded_address(at == 0));
    let is_at_base = stack
        .frames
        .last()
        .is_some_and(|frame| end.saturating_sub(frame.start) <= BASE_BYTES);
    let switches = stack.leaves_stack && (is_at_base || stack.is_computed);
    let has_begin = stack.is_whole || switches;
    ReadStack {
        addresses: addresses.collect(),
        is_whole: has_begin && stack.frames.len() <= MAX_FRAMES,
    }
}
