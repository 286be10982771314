//! [`caller`]: from the registers of a function to those of its caller.

use gimli::{Register, RegisterRule};

use crate::stacks::registers::{Processor, Registers};
use crate::stacks::rules::UnwindRules;
use crate::stacks::window::StackWindow;

/// What lies beyond a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The caller.
    Caller {
        /// The address at which the called function's frame ends (its canonical frame address).
        end: u64,
        /// Registers of the caller.
        registers: Box<Registers>,
    },
    /// Nothing: the thread began here.
    Outermost,
    /// The caller's frame lies outside of this stack, as for the function with which a coroutine began.
    OtherStack,
    /// The caller is unknown.
    Unknown,
}

/// Finds the caller of a function. `registers` are those in the function, `rules` say where the function has saved the
/// registers of its caller, and `end` is the address at which its frame ends (the canonical frame address of DWARF).
pub fn caller(
    window: &StackWindow<'_>,
    rules: &UnwindRules,
    registers: &Registers,
    end: u64,
    is_innermost: bool,
) -> Step {
    let has_no_frame = end == registers.sp && is_innermost && can_lack_frame(registers);
    if rules.rule(rules.return_register) == Some(&RegisterRule::Undefined) {
        return Step::Outermost;
    }
    if !window.contains(end) {
        return Step::OtherStack;
    }
    if end <= registers.sp && !has_no_frame {
        return Step::Unknown;
    }
    let mut caller = registers.preserved();
    caller.sp = end;
    for (register, rule) in &rules.registers {
        let value = value(window, rules, registers, end, *register, rule);
        if *register == registers.processor.stack_pointer() {
            match value {
                Some(value) if end <= value && window.contains(value) => caller.sp = value,
                _ => return Step::Unknown,
            }
        }
        caller.set(*register, value);
    }
    let returns_to = match rules.rule(rules.return_register) {
        Some(_) => caller.get(rules.return_register),
        None => registers.get(rules.return_register),
    };
    match returns_to {
        None => Step::Unknown,
        Some(0) => Step::Outermost,
        Some(pc) => {
            caller.pc = registers.processor.without_signature(pc);
            Step::Caller {
                end,
                registers: Box::new(caller),
            }
        }
    }
}

/// Whether a function may use no stack at all. On AArch64, the return address is in a register, so a function
/// that calls no other need not save anything.
fn can_lack_frame(registers: &Registers) -> bool {
    registers.processor == Processor::Aarch64
}

/// The value that a register has in the caller. `None` if unknown.
fn value(
    window: &StackWindow<'_>,
    rules: &UnwindRules,
    registers: &Registers,
    end: u64,
    register: Register,
    rule: &RegisterRule<usize>,
) -> Option<u64> {
    match rule {
        RegisterRule::SameValue => registers.get(register),
        RegisterRule::Offset(offset) => window.word(end.checked_add_signed(*offset)?),
        RegisterRule::ValOffset(offset) => end.checked_add_signed(*offset),
        RegisterRule::Register(other) => registers.get(*other),
        RegisterRule::Expression(expression) => {
            window.word(rules.evaluate(expression, registers, Some(end), window)?)
        }
        RegisterRule::ValExpression(expression) => {
            rules.evaluate(expression, registers, Some(end), window)
        }
        RegisterRule::Constant(value) => Some(*value),
        _ => None,
    }
}
