//! [`UnwindRules`]: how to get from a function at some address to its caller, by the unwind table.

use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EhFrameOffset, Encoding, EvaluationResult,
    FrameDescriptionEntry, Location, Register, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection, Value,
};

use crate::stacks::module::{Bytes, UnwindTable};
use crate::stacks::registers::Registers;
use crate::stacks::step::Step;
use crate::stacks::window::StackWindow;
use crate::target::Target;

/// Expressions that take more operations are not evaluated.
const MAX_OPERATIONS: u32 = 256;

/// What the unwind table says about an address.
#[derive(Debug)]
pub struct UnwindRules {
    /// First address of the function.
    pub function: u64,
    /// The kernel has put this frame on the stack, to call a signal handler.
    pub is_signal: bool,
    /// The column of the rules that gives the return address (DWARF's return address register).
    pub return_register: Register,
    /// How the caller's registers are found. A register without a rule is unchanged if it is callee-saved, and
    /// unknown otherwise.
    pub registers: Vec<(Register, RegisterRule<usize>)>,
    frame_end: CfaRule<usize>,
    encoding: Encoding,
    /// The module whose table in memory has the rules; `None` if the table in the file has them.
    module: Option<Arc<UnwindTable>>,
}

impl UnwindRules {
    /// What the table in memory says about an address; `None` if it says nothing.
    pub fn find(module: &Arc<UnwindTable>, address: u64) -> Option<Self> {
        let frames = module.frames();
        let index = module.index();
        let index = index.parse(&module.bases, 8).ok()?;
        let entry = index.table()?.lookup(address, &module.bases).ok()?;
        // The index may be damaged, and lead to before the table.
        let table = index.eh_frame_ptr().direct().ok()?;
        let offset = entry.direct().ok()?.checked_sub(table)?;
        let offset = EhFrameOffset(usize::try_from(offset).ok()?);
        let function = frames
            .fde_from_offset(&module.bases, offset, EhFrame::cie_from_offset)
            .ok()
            .filter(|function| function.contains(address))?;
        let rules = Self::of(&frames, &function, &module.bases, address)?;
        Some(UnwindRules {
            module: Some(Arc::clone(module)),
            ..rules
        })
    }

    /// What the table in the debug info of the module's file says about the address.
    pub fn find_in_file(target: &dyn Target, module: &UnwindTable, address: u64) -> Option<Self> {
        let table = module.file_frames(target)?.table();
        let bases = BaseAddresses::default();
        let address = address.wrapping_sub(module.bias);
        let function = table
            .fde_for_address(&bases, address, DebugFrame::cie_from_offset)
            .ok()?;
        let rules = Self::of(&table, &function, &bases, address)?;
        Some(UnwindRules {
            function: rules.function.wrapping_add(module.bias),
            ..rules
        })
    }

    fn of<'m, S: UnwindSection<Bytes<'m>>>(
        table: &S,
        function: &FrameDescriptionEntry<Bytes<'m>>,
        bases: &BaseAddresses,
        address: u64,
    ) -> Option<Self> {
        let mut context = UnwindContext::new();
        let row = function
            .unwind_info_for_address(table, bases, &mut context, address)
            .ok()?;
        Some(UnwindRules {
            function: function.initial_address(),
            is_signal: function.is_signal_trampoline(),
            return_register: function.cie().return_address_register(),
            registers: row.registers().cloned().collect(),
            frame_end: row.cfa().clone(),
            encoding: function.cie().encoding(),
            module: None,
        })
    }

    /// The stack pointer before the call, which DWARF calls the canonical frame address. `None` if this
    /// needs registers that are not known.
    pub fn frame_end(&self, registers: &Registers, window: &StackWindow<'_>) -> Option<u64> {
        match &self.frame_end {
            CfaRule::RegisterAndOffset { register, offset } => {
                registers.get(*register)?.checked_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.evaluate(expression, registers, None, window),
        }
    }

    /// Whether the end of the frame is found by an expression.
    pub fn has_computed_end(&self) -> bool {
        matches!(self.frame_end, CfaRule::Expression(_))
    }

    /// Where the return address lies relative to the end of the frame, if the end is relative to the
    /// frame pointer.
    pub fn return_slot_by_frame_pointer(&self, registers: &Registers) -> Option<i64> {
        let frame_pointer = registers.processor.frame_pointer();
        let needs_register = matches!(
            &self.frame_end,
            CfaRule::RegisterAndOffset { register, .. } if *register == frame_pointer
        );
        match self.rule(self.return_register)? {
            RegisterRule::Offset(offset) if needs_register => Some(*offset),
            _ => None,
        }
    }

    /// The rule for a register, if it has one.
    pub fn rule(&self, register: Register) -> Option<&RegisterRule<usize>> {
        let mut rules = self.registers.iter();
        rules
            .find(|(other, _)| *other == register)
            .map(|(_, rule)| rule)
    }

    /// What is known about the caller if the end of the frame is unknown.
    pub fn without_frame(&self) -> Step {
        match self.rule(self.return_register) {
            Some(RegisterRule::Undefined) => Step::Outermost,
            _ => Step::Unknown,
        }
    }

    /// The value of an expression, which begins with `initial` on its stack. `None` if the value is unknown.
    /// Expressions of tables in files are not evaluated.
    pub fn evaluate(
        &self,
        expression: &UnwindExpression<usize>,
        registers: &Registers,
        initial: Option<u64>,
        window: &StackWindow<'_>,
    ) -> Option<u64> {
        let frames = self.module.as_ref()?.frames();
        let mut evaluation = expression.get(&frames).ok()?.evaluation(self.encoding);
        evaluation.set_max_iterations(MAX_OPERATIONS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = Value::Generic(registers.get(register)?);
                    evaluation.resume_with_register(value).ok()?
                }
                EvaluationResult::RequiresMemory {
                    address, size: 8, ..
                } => {
                    let value = Value::Generic(window.target.word(address)?);
                    evaluation.resume_with_memory(value).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.as_result().first()?.location {
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}
