//! [`frame_end`]: finds the end of a frame that is relative to an unknown frame pointer.
//!
//! The kernel does not give the frame pointer of a blocked thread. But the return address of the function is on the
//! stack, and the code before that address is a call of the function. Old stack contents could have such a word too, so
//! the code at the beginning of the function must agree: it shows how much stack the function reserves. Without such
//! code, the word must be the only return address in the searched part of the stack that follows a direct call of the
//! function.

use crate::stacks::call::{self, CallKind};
use crate::stacks::prologue;
use crate::stacks::registers::Registers;
use crate::stacks::rules::UnwindRules;
use crate::stacks::window::StackWindow;
use crate::target::mapping;

/// The maximum distance from the stack pointer at which return addresses are searched for.
const MAX_BYTES: u64 = 64 << 10;

/// The end of the frame; `None` if unknown.
pub fn frame_end(
    window: &StackWindow<'_>,
    rules: &UnwindRules,
    registers: &Registers,
) -> Option<u64> {
    let slot_offset = rules.return_slot_by_frame_pointer(registers)?;
    let target = window.target;
    let bytes = prologue::frame_bytes(target, registers.processor, rules.function);
    if let Some(predicted) = bytes.and_then(|bytes| registers.sp.checked_add(bytes)) {
        let slot = predicted.checked_add_signed(slot_offset)?;
        if call_at(window, rules, registers, slot) != CallKind::Other {
            return Some(predicted);
        }
    }
    let slots = (registers.sp..registers.sp.saturating_add(MAX_BYTES)).step_by(8);
    let slots = slots.take_while(|slot| window.contains(*slot));
    let mut direct =
        slots.filter(|slot| call_at(window, rules, registers, *slot) == CallKind::Direct);
    let slot = direct.next()?;
    if direct.next().is_some() {
        return None;
    }
    slot.checked_add_signed(slot_offset.checked_neg()?)
}

/// The call before the return address in a slot of the stack.
fn call_at(
    window: &StackWindow<'_>,
    rules: &UnwindRules,
    registers: &Registers,
    slot: u64,
) -> CallKind {
    let Some(word) = window.word(slot) else {
        return CallKind::Other;
    };
    let word = registers.processor.without_signature(word);
    let mappings = window.target.mappings();
    let is_code = mapping::find(mappings, word).is_some_and(|mapping| mapping.is_executable);
    if !is_code {
        return CallKind::Other;
    }
    call::call_before(window.target, registers.processor, word, rules.function)
}
