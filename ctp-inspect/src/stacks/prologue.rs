//! [`frame_bytes`]: the size of a function's stack frame, from its first instructions.

use crate::stacks::registers::Processor;
use crate::target::Target;

/// How many bytes of code are read at the beginning of a function.
const PROLOGUE_BYTES: usize = 48;

/// The size of the frame of a function: the bytes between the stack pointer and the end of the frame, which is
/// just above the return address. `None` if the function does not begin by setting up a frame pointer, or its
/// first instructions are not understood.
///
/// The size stays the same throughout the function, except during a call that passes arguments on the stack.
pub fn frame_bytes(target: &dyn Target, processor: Processor, function: u64) -> Option<u64> {
    if processor != Processor::X86_64 {
        return None;
    }
    let mut code = [0; PROLOGUE_BYTES];
    let read = target.read(function, &mut code);
    x86_frame_bytes(&code[..read])
}

fn x86_frame_bytes(code: &[u8]) -> Option<u64> {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code); // endbr64
    let code = code.strip_prefix(&[0x55])?; // push rbp
    let mov = [[0x48, 0x89, 0xe5], [0x48, 0x8b, 0xec]]; // mov rbp, rsp
    let mut code = mov.iter().find_map(|mov| code.strip_prefix(mov))?;
    let mut bytes = 16_u64; // the return address and the saved rbp
    loop {
        code = match code {
            // push
            [0x50..=0x57, rest @ ..] | [0x41, 0x50..=0x57, rest @ ..] => {
                bytes += 8;
                rest
            }
            // sub rsp
            [0x48, 0x83, 0xec, size, ..] => {
                return plus(bytes, i32::from(i8::from_le_bytes([*size])));
            }
            [0x48, 0x81, 0xec, a, b, c, d, ..] => {
                let size = i32::from_le_bytes([*a, *b, *c, *d]);
                return plus(bytes, size);
            }
            _ => return (!makes_more_room(code)).then_some(bytes),
        };
    }
}

/// Adds the operand of a `sub`. `None` if the operand is negative: then the instruction makes the frame smaller.
fn plus(bytes: u64, size: i32) -> Option<u64> {
    bytes.checked_add(u64::try_from(size).ok()?)
}

/// Whether the code after the known instructions may change the stack pointer: it is empty, or has bytes that could
/// be `sub`, `and` or `lea` with the stack pointer.
fn makes_more_room(code: &[u8]) -> bool {
    code.is_empty()
        || code.windows(4).any(|code| {
            matches!(
                code,
                [0x48, 0x83 | 0x81, 0xec | 0xe4, ..] | [0x4c, 0x8d, 0x9c, 0x24]
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prologues_give_the_size_of_the_frame() {
        let prologue = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x53];
        let with = |more: &[u8]| x86_frame_bytes(&[&prologue, more, &[0x90; 16]].concat());
        assert_eq!(with(&[]), Some(32));
        assert_eq!(with(&[0x50]), Some(40));
        assert_eq!(with(&[0x48, 0x83, 0xec, 0x28]), Some(72));
        assert_eq!(with(&[0x48, 0x83, 0xec, 0x80]), None); // makes less room
        assert_eq!(with(&[0x48, 0x81, 0xec, 0, 1, 0, 0]), Some(288));
        assert_eq!(with(&[0x48, 0x83, 0xe4, 0xe0]), None); // and rsp, -32
        assert_eq!(with(&[0x89, 0xf8, 0x48, 0x83, 0xec, 0x28]), None);
        assert_eq!(x86_frame_bytes(&[0x53, 0x90]), None);
        assert_eq!(x86_frame_bytes(&prologue[..4]), None);
    }
}
