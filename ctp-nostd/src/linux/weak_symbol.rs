//! Symbols of libc in a program that may have none.

/// Loads the address of a symbol from the global offset table. The symbol is weak: a program without a
/// libc still links, and gets a null address.
#[cfg(target_arch = "x86_64")]
macro_rules! load_weak {
    ($symbol:literal, $address:ident) => {
        core::arch::asm!(
            concat!(".weak ", $symbol),
            concat!("mov {p}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
            p = out(reg) $address,
            options(nostack, readonly, preserves_flags),
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! load_weak {
    ($symbol:literal, $address:ident) => {
        core::arch::asm!(
            concat!(".weak ", $symbol),
            concat!("adrp {p}, :got:", $symbol),
            concat!("ldr {p}, [{p}, :got_lo12:", $symbol, "]"),
            p = out(reg) $address,
            options(nostack, readonly, preserves_flags),
        )
    };
}

pub(super) use load_weak;
