//! Where a variable is, by an expression of the debug info and the registers of the function.

use gimli::{EvaluationResult, Location};
use symbolize::DebugReader;

use super::module::Unit;
use crate::stacks::{Registers, StackFrame};
use crate::target;

/// An expression of the debug info that gives the place of a variable.
pub(super) type Expression<'u> = gimli::Expression<DebugReader<'u>>;

/// The maximum number of operations of an expression that are evaluated.
const MAX_OPERATIONS: u32 = 256;

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariablePlace {
    /// The variable is in memory, at this address.
    Memory(u64),
    /// The variable is not in memory, and has this value.
    Value(u64),
}

/// A function on a stack.
pub(super) struct Frame<'f> {
    pub(super) target: &'f dyn target::Target,
    /// Where the function is, in the file's own addresses.
    pub(super) address: u64,
    pub(super) registers: &'f Registers,
    /// The stack pointer before the call.
    pub(super) end: u64,
}

impl<'f> Frame<'f> {
    pub(super) fn of(
        target: &'f dyn target::Target,
        frame: &'f StackFrame,
        address: u64,
    ) -> Option<Self> {
        Some(Frame {
            target,
            address,
            registers: frame.registers.as_deref()?,
            end: frame.end,
        })
    }
}

impl Frame<'_> {
    /// Where an expression says that a variable is; `None` if that needs a register that is not known.
    pub(super) fn evaluate<'u>(
        &self,
        unit: Unit<'u>,
        expression: &Expression<'u>,
        base: Option<&Expression<'u>>,
        registers: &Registers,
    ) -> Option<VariablePlace> {
        let mut evaluation = expression.evaluation(unit.encoding());
        evaluation.set_max_iterations(MAX_OPERATIONS);
        let mut state = evaluation.evaluate().ok()?;
        while state != EvaluationResult::Complete {
            state = match state {
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = gimli::Value::Generic(registers.get(register)?);
                    evaluation.resume_with_register(value)
                }
                EvaluationResult::RequiresMemory {
                    address, size: 8, ..
                } => {
                    let value = gimli::Value::Generic(self.target.word(address)?);
                    evaluation.resume_with_memory(value)
                }
                EvaluationResult::RequiresFrameBase => {
                    let base = self.evaluate(unit, base?, None, registers)?;
                    evaluation.resume_with_frame_base(base.number())
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.end)
                }
                _ => return None,
            }
            .ok()?;
        }
        match evaluation.as_result() {
            [piece] => place(&piece.location, registers),
            _ => None,
        }
    }
}

impl VariablePlace {
    fn number(self) -> u64 {
        match self {
            VariablePlace::Memory(number) | VariablePlace::Value(number) => number,
        }
    }
}

fn place(location: &Location<DebugReader<'_>>, registers: &Registers) -> Option<VariablePlace> {
    match location {
        Location::Address { address } => Some(VariablePlace::Memory(*address)),
        Location::Register { register } => registers.get(*register).map(VariablePlace::Value),
        Location::Value { value } => value.to_u64(u64::MAX).ok().map(VariablePlace::Value),
        _ => None,
    }
}
