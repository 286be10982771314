//! [`call_before`]: whether the instruction before a return address calls a given function.

use crate::stacks::registers::Processor;
use crate::target::Target;

/// How the instruction before a return address relates to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Calls exactly this function.
    Direct,
    /// Calls a function whose address is not in the instruction, so that it may be any function.
    Indirect,
    /// Calls another function, or is no call.
    Other,
}

/// The size of the longest supported call instruction, in bytes.
const MAX_CALL_BYTES: usize = 8;
/// The number of bytes, from the start of a function, that are searched for jumps to other functions.
const JUMP_BYTES: usize = 256;

/// Decodes the instruction before a return address, to check whether it calls `function`.
///
/// The kernel calls signal handlers without a call instruction, and lets them return to code that calls
/// `rt_sigreturn`. The result for such a return address is [`CallKind::Indirect`].
pub fn call_before(
    target: &dyn Target,
    processor: Processor,
    return_address: u64,
    function: u64,
) -> CallKind {
    let mut code = [0; MAX_CALL_BYTES];
    let start = return_address.wrapping_sub(MAX_CALL_BYTES as u64);
    if target.read(start, &mut code) != code.len() {
        return CallKind::Other;
    }
    if returns_from_signal(target, processor, return_address) {
        return CallKind::Indirect;
    }
    match processor {
        Processor::X86_64 => x86_call(target, &code, return_address, function),
        Processor::Aarch64 => aarch64_call(&code, return_address, function),
    }
}

/// Whether the code here does nothing but call the kernel's `rt_sigreturn`.
fn returns_from_signal(target: &dyn Target, processor: Processor, address: u64) -> bool {
    let codes: [&[u8]; 2] = match processor {
        Processor::X86_64 => [
            b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", // mov rax, 15; syscall
            b"\xb8\x0f\x00\x00\x00\x0f\x05",
        ],
        Processor::Aarch64 => [b"\x68\x11\x80\xd2\x01\x00\x00\xd4"; 2], // mov x8, 139; svc 0
    };
    let mut code = [0; 9];
    let read = target.read(address, &mut code);
    codes
        .iter()
        .any(|expected| code[..read].starts_with(expected))
}

fn x86_call(target: &dyn Target, code: &[u8; 8], return_address: u64, function: u64) -> CallKind {
    let distance = i32::from_le_bytes([code[4], code[5], code[6], code[7]]);
    let there = return_address.wrapping_add_signed(i64::from(distance));
    if code[3] == 0xe8 && (there == function || jumps_to(target, there, function)) {
        return CallKind::Direct;
    }
    if code[2..4] == [0xff, 0x15] {
        // Through a pointer with its address in the instruction.
        let called = target.word(there);
        let is_called =
            called.is_some_and(|called| called == function || jumps_to(target, called, function));
        return if is_called {
            CallKind::Direct
        } else {
            CallKind::Other
        };
    }
    if has_indirect_call(code) {
        CallKind::Indirect
    } else {
        CallKind::Other
    }
}

/// Whether the code ends with a call through a register or memory.
fn has_indirect_call(code: &[u8; 8]) -> bool {
    (2..=7).any(|length| {
        let [opcode, operands @ ..] = &code[8 - length..] else {
            return false;
        };
        *opcode == 0xff && indirect_length(operands) == Some(length)
    })
}

/// Length in bytes of the call with opcode `ff` and these operands. `None` if the instruction is no call.
fn indirect_length(operands: &[u8]) -> Option<usize> {
    let modes = *operands.first()?;
    if (modes >> 3) & 7 != 2 {
        return None;
    }
    let (mode, register) = (modes >> 6, modes & 7);
    let has_index = mode != 3 && register == 4;
    let base = if has_index {
        operands.get(1)? & 7
    } else {
        register
    };
    let distance = match mode {
        0 if base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(2 + usize::from(has_index) + distance)
}

/// Whether the function at `from` may jump to `function`: an entry of a procedure linkage table, or a
/// tail call.
fn jumps_to(target: &dyn Target, from: u64, function: u64) -> bool {
    let mut code = [0; JUMP_BYTES];
    let read = target.read(from, &mut code);
    (0..read).any(|at| {
        let length = match code[at..read] {
            [0xe9, _, _, _, _, ..] => 5,
            [0xff, 0x25, _, _, _, _, ..] => 6,
            _ => return false,
        };
        let end = at + length;
        let distance = [code[end - 4], code[end - 3], code[end - 2], code[end - 1]];
        let there = from
            .wrapping_add(end as u64)
            .wrapping_add_signed(i64::from(i32::from_le_bytes(distance)));
        let is_pointer = length == 6;
        if is_pointer {
            target.word(there) == Some(function)
        } else {
            there == function
        }
    })
}

fn aarch64_call(code: &[u8; 8], return_address: u64, function: u64) -> CallKind {
    let instruction = u32::from_le_bytes([code[4], code[5], code[6], code[7]]);
    if instruction >> 26 == 0b10_0101 {
        let words = i64::from(i32::from_le_bytes((instruction << 6).to_le_bytes()) >> 6);
        let there = return_address
            .wrapping_sub(4)
            .wrapping_add_signed(words * 4);
        return if there == function {
            CallKind::Direct
        } else {
            CallKind::Other
        };
    }
    // blr, and forms of it which check a signature.
    let is_indirect = matches!(
        instruction >> 10,
        0x35_8fc0 | 0x35_8fc2 | 0x35_8fc3 | 0x35_cfc2 | 0x35_cfc3
    );
    if is_indirect {
        CallKind::Indirect
    } else {
        CallKind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::Mapping;

    const CODE: u64 = 0x1000;
    const FUNCTION: u64 = 0x1800;

    /// A page of code with these bytes before `CODE + 0x100`, and a pointer to the function at `CODE`.
    fn code(before: &[u8]) -> MemoryImage {
        let mut bytes = vec![0x90; 4096];
        bytes[..8].copy_from_slice(&FUNCTION.to_le_bytes());
        bytes[0x100 - before.len()..0x100].copy_from_slice(before);
        bytes[0x200..0x206].copy_from_slice(&[0xff, 0x25, 0xfa, 0xfd, 0xff, 0xff]);
        let mapping = Mapping {
            start: CODE,
            end: CODE + 4096,
            is_executable: true,
            ..Mapping::default()
        };
        let mut image = MemoryImage::default();
        image.add(mapping, bytes);
        image
    }

    fn x86(before: &[u8]) -> CallKind {
        call_before(&code(before), Processor::X86_64, CODE + 0x100, FUNCTION)
    }

    #[test]
    fn x86_calls_with_known_target_are_direct() {
        assert_eq!(x86(&[0xe8, 0x00, 0x07, 0x00, 0x00]), CallKind::Direct);
        assert_eq!(x86(&[0xe8, 0x01, 0x07, 0x00, 0x00]), CallKind::Other);
        // Through a pointer, and by a jump through a pointer.
        assert_eq!(x86(&[0xff, 0x15, 0x00, 0xff, 0xff, 0xff]), CallKind::Direct);
        assert_eq!(x86(&[0xff, 0x15, 0x08, 0xff, 0xff, 0xff]), CallKind::Other);
        assert_eq!(x86(&[0xe8, 0x00, 0x01, 0x00, 0x00]), CallKind::Direct);
    }

    #[test]
    fn x86_calls_through_registers_are_indirect() {
        let calls: [&[u8]; 6] = [
            &[0xff, 0xd3],                               // call rbx
            &[0x41, 0xff, 0xd5],                         // call r13
            &[0xff, 0x50, 0x18],                         // call [rax + 24]
            &[0xff, 0x54, 0x24, 0x08],                   // call [rsp + 8]
            &[0xff, 0x92, 0x00, 0x01, 0x00, 0x00],       // call [rdx + 256]
            &[0xff, 0x94, 0x24, 0x00, 0x01, 0x00, 0x00], // call [rsp + 256]
        ];
        for call in calls {
            assert_eq!(x86(call), CallKind::Indirect, "{call:x?}");
        }
        let others: [&[u8]; 3] = [&[0xff, 0xe3], &[0xff, 0x30], &[0x90]];
        for other in others {
            assert_eq!(x86(other), CallKind::Other, "{other:x?}");
        }
    }

    #[test]
    fn aarch64_calls_are_decoded() {
        let call = |instruction: u32| {
            let image = code(&instruction.to_le_bytes());
            call_before(&image, Processor::Aarch64, CODE + 0x100, FUNCTION)
        };
        assert_eq!(call(0x9400_01c1), CallKind::Direct); // bl
        assert_eq!(call(0x9400_01c2), CallKind::Other);
        assert_eq!(call(0xd63f_0100), CallKind::Indirect); // blr x8
        assert_eq!(call(0xd63f_0900), CallKind::Indirect); // blraaz x8
        assert_eq!(call(0xd73f_0908), CallKind::Indirect); // blraa x8, x8
        assert_eq!(call(0xd61f_0100), CallKind::Other); // br x8
        assert_eq!(call(0xd65f_03c0), CallKind::Other); // ret
    }
}
