//! [`Unwinder`]: the call stacks of threads, from the unwind tables in the memory of the process.
//!
//! The kernel gives the stack pointer and the program counter of a blocked thread, and no other register. The unwind
//! tables (`.eh_frame`, which exceptions use too) usually need no more. A few functions are described relative to the
//! frame pointer; the module `search` finds their frames.
//!
//! Every address of a [`Stack`] comes from the tables. Where they have no entry, the stack ends.

mod call;
mod copied;
mod file_frames;
mod module;
mod prologue;
mod registers;
mod rules;
mod search;
mod step;
mod window;

use std::collections::HashMap;
use std::sync::Arc;

pub use copied::{CopiedStack, WithStack};
pub use registers::{Processor, Registers};

use crate::stacks::module::UnwindTable;
use crate::stacks::rules::UnwindRules;
use crate::stacks::step::Step;
use crate::stacks::window::StackWindow;
use crate::target::{Target, mapping};

/// Longer stacks are cut.
const MAX_FRAMES: usize = 256;

/// A call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The frames, innermost first.
    pub frames: Vec<StackFrame>,
    /// The last frame is that of the function with which the thread began.
    pub is_whole: bool,
    /// The frame of the last function's caller lies outside of the stack.
    pub leaves_stack: bool,
    /// The frame of the last function's caller is found by an expression, as in functions that switch stacks.
    pub is_computed: bool,
}

/// A function that has been called and has not returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// Where the function continues.
    pub address: u64,
    /// A call precedes the address. Otherwise the thread stopped in the middle of the function: in its
    /// system call, or when a signal came.
    pub is_return_address: bool,
    /// First address of the function in the unwind table; 0 if the table has no such function.
    pub function: u64,
    /// The stack pointer of the function.
    pub start: u64,
    /// The stack pointer before the function was called; equal to `start` if unknown.
    pub end: u64,
    /// The registers of the function, as far as known.
    pub registers: Option<Box<Registers>>,
}

impl StackFrame {
    /// The known values of the function's callee-saved registers.
    pub fn saved(&self) -> Vec<u64> {
        self.registers
            .as_deref()
            .map_or_else(Vec::new, Registers::saved)
    }

    /// An address in the call, or in the instruction at which the thread stopped.
    pub fn looked_up(&self) -> u64 {
        self.address.wrapping_sub(u64::from(self.is_return_address))
    }

    /// The address for trace records, in which every address except the innermost is a return address.
    pub fn recorded_address(&self, is_innermost: bool) -> u64 {
        if self.is_return_address || is_innermost {
            self.address
        } else {
            // Readers of the record look for the call one byte earlier.
            self.address.wrapping_add(1)
        }
    }
}

/// Unwinds stacks of a process. Remembers unwind tables, and what they say of an address.
#[derive(Debug, Default)]
pub struct Unwinder {
    modules: HashMap<u64, Option<Arc<UnwindTable>>>,
    rules: HashMap<u64, Option<Arc<UnwindRules>>>,
}

impl Unwinder {
    /// Forgets everything, because the process has mapped other files.
    pub fn forget(&mut self) {
        *self = Unwinder::default();
    }

    /// The stack of a thread with these registers. The thread must not run meanwhile.
    pub fn unwind(&mut self, target: &dyn Target, innermost: &Registers) -> Stack {
        let mut stack = Stack::default();
        let Some(mapping) = target.mapping_at(innermost.sp) else {
            return stack;
        };
        let window = StackWindow::new(target, innermost.sp, mapping.end);
        let mut next = Some((Box::new(innermost.clone()), false));
        while let Some((registers, is_return_address)) = next {
            if stack.frames.len() == MAX_FRAMES || !is_code(target, registers.pc) {
                break;
            }
            let mut frame = StackFrame {
                address: registers.pc,
                is_return_address,
                start: registers.sp,
                end: registers.sp,
                registers: Some(registers.clone()),
                ..StackFrame::default()
            };
            next = None;
            let rules = self.rules(target, frame.looked_up());
            if rules.is_none() && self.is_entered_by_return(target, &frame) {
                frame.is_return_address = false;
                stack.is_whole = true;
            }
            if let Some(rules) = rules {
                frame.function = rules.function;
                match step(&window, &rules, &registers, stack.frames.is_empty()) {
                    Step::Caller { end, registers } => {
                        frame.end = end;
                        next = Some((registers, !rules.is_signal));
                    }
                    Step::Outermost => stack.is_whole = true,
                    Step::OtherStack => {
                        stack.leaves_stack = true;
                        stack.is_computed = rules.has_computed_end();
                    }
                    Step::Unknown => {}
                }
            }
            stack.frames.push(frame);
        }
        stack
    }

    /// Whether the address is the first of a function that was not called, because code has put its address on a new
    /// stack, as `makecontext` does.
    fn is_entered_by_return(&mut self, target: &dyn Target, frame: &StackFrame) -> bool {
        let rules = self.rules(target, frame.address);
        frame.is_return_address && rules.is_some_and(|rules| rules.function == frame.address)
    }

    /// What the unwind table says about the code at an address.
    fn rules(&mut self, target: &dyn Target, address: u64) -> Option<Arc<UnwindRules>> {
        if let Some(rules) = self.rules.get(&address) {
            return rules.clone();
        }
        let module = self.module(target, address);
        let rules = module.and_then(|module| {
            UnwindRules::find(&module, address)
                .or_else(|| UnwindRules::find_in_file(target, &module, address))
        });
        let rules = rules.map(Arc::new);
        self.rules.insert(address, rules.clone());
        rules
    }

    /// The loaded file that has the code at an address.
    fn module(&mut self, target: &dyn Target, address: u64) -> Option<Arc<UnwindTable>> {
        let header = module::header_of(target.mappings(), address)?;
        let module = self.modules.entry(header);
        let module = module.or_insert_with(|| UnwindTable::read(target, header).map(Arc::new));
        module.clone()
    }
}

fn is_code(target: &dyn Target, address: u64) -> bool {
    let mapping = mapping::find(target.mappings(), address);
    mapping.is_some_and(|mapping| mapping.is_executable)
}

/// Finds the caller. If the end of the frame depends on an unknown frame pointer, searches for the end.
fn step(
    window: &StackWindow<'_>,
    rules: &UnwindRules,
    registers: &Registers,
    is_innermost: bool,
) -> Step {
    let end = rules
        .frame_end(registers, window)
        .or_else(|| search::frame_end(window, rules, registers));
    match end {
        Some(end) => step::caller(window, rules, registers, end, is_innermost),
        None => rules.without_frame(),
    }
}
