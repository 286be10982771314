//! [`Registers`]: what is known of a thread's registers, by their DWARF numbers.

use gimli::Register;

/// A processor for which stacks can be unwound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
}

/// The numbers of all general registers are less than this.
const REGISTERS: usize = 33;

const AARCH64_ORDER: &[u16] = &[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    26, 27, 28, 29, 30,
];

impl Processor {
    /// The processor of this program.
    pub const HOST: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Processor::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Processor::Aarch64)
    } else {
        None
    };

    /// The number of the stack pointer.
    pub(super) fn stack_pointer(self) -> Register {
        match self {
            Processor::X86_64 => Register(7),
            Processor::Aarch64 => Register(31),
        }
    }

    /// The number of the frame pointer.
    pub(super) fn frame_pointer(self) -> Register {
        match self {
            Processor::X86_64 => Register(6),
            Processor::Aarch64 => Register(29),
        }
    }

    /// Whether the register is callee-saved: functions return with the value that they were called with.
    fn is_preserved(self, Register(number): Register) -> bool {
        match self {
            Processor::X86_64 => matches!(number, 3 | 6 | 12..=15),
            Processor::Aarch64 => matches!(number, 19..=29),
        }
    }

    /// Removes the authentication code that AArch64 stores in the high bits of a return address.
    pub(super) fn without_signature(self, address: u64) -> u64 {
        match self {
            Processor::X86_64 => address,
            Processor::Aarch64 => address & ((1 << 48) - 1),
        }
    }
}

/// Registers of a function in the middle of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The processor.
    pub processor: Processor,
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The other registers, as far as known.
    others: [Option<u64>; REGISTERS],
}

impl Registers {
    /// Registers of which only program counter and stack pointer are known.
    pub fn new(processor: Processor, pc: u64, sp: u64) -> Self {
        Registers {
            processor,
            pc,
            sp,
            others: [None; REGISTERS],
        }
    }

    /// Registers of which program counter, stack pointer and frame pointer are known.
    pub fn with_frame_pointer(processor: Processor, pc: u64, sp: u64, fp: u64) -> Self {
        let mut registers = Registers::new(processor, pc, sp);
        registers.set(processor.frame_pointer(), Some(fp));
        registers
    }

    /// All registers, from words in the order of the kernel's `struct user_regs_struct`.
    pub fn in_kernel_order(
        processor: Processor,
        word: impl Fn(usize) -> Option<u64>,
    ) -> Option<Self> {
        let (pc, sp, numbers): (_, _, &[u16]) = match processor {
            Processor::X86_64 => (16, 19, &[15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5]),
            Processor::Aarch64 => (32, 31, AARCH64_ORDER),
        };
        let mut registers = Registers::new(processor, word(pc)?, word(sp)?);
        for (index, number) in numbers.iter().enumerate() {
            registers.set(Register(*number), word(index));
        }
        Some(registers)
    }

    /// The value of a register, if known.
    pub fn get(&self, register: Register) -> Option<u64> {
        if register == self.processor.stack_pointer() {
            return Some(self.sp);
        }
        self.others.get(usize::from(register.0)).copied().flatten()
    }

    /// The known values of all general registers.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.others.iter().copied().flatten()
    }

    /// Makes the value of a register known, or unknown. Numbers of other registers are ignored.
    pub fn set(&mut self, register: Register, value: Option<u64>) {
        if let Some(place) = self.others.get_mut(usize::from(register.0)) {
            *place = value;
        }
    }

    /// The registers as they are after a call: callee-saved registers keep their values, others are unknown.
    pub(super) fn preserved(&self) -> Self {
        let mut registers = Registers::new(self.processor, self.pc, self.sp);
        for number in 0..REGISTERS as u16 {
            let register = Register(number);
            if self.processor.is_preserved(register) {
                registers.set(register, self.get(register));
            }
        }
        registers
    }

    /// The known values of callee-saved registers.
    pub(super) fn saved(&self) -> Vec<u64> {
        self.preserved().others.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_preserved_registers_survive_a_call() {
        let mut registers = Registers::new(Processor::X86_64, 0x1000, 0x7000);
        for number in [0, 3, 6, 12, 16, 400] {
            registers.set(Register(number), Some(u64::from(number)));
        }
        assert_eq!(registers.get(Register(7)), Some(0x7000));
        assert_eq!(registers.get(Register(400)), None);
        assert_eq!(registers.saved(), [3, 6, 12]);
        assert_eq!(registers.preserved().get(Register(0)), None);
    }
}
