//! Prints the instructions of an event, and the memory that the probe takes.
//!
//! QEMU counts: with `-icount shift=0` an instruction takes a nanosecond, and SysTick counts at 25 MHz.
//! The clock of the probe is a counter here, because reading a timer is up to the firmware.
//!
//! ```text
//! cargo build --release --target thumbv7em-none-eabihf --bin figures
//! qemu-system-arm -machine mps2-an386 -icount shift=0 -nographic -semihosting-config enable=on,target=native \
//!     -kernel target/thumbv7em-none-eabihf/release/figures
//! ```
#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::Peripherals;
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use ctp_nostd::aggregate::Bins;
use ctp_nostd::{CompactMemory, Local, Memory, Platform, Probe, ProbeLayout, RingMemory, Wait};

static FULL: Memory<16> = Memory::new();
static SUMS: Memory<1> = Memory::new().with_aggregates(Bins::USUAL);
static COMPACT: CompactMemory<16> = CompactMemory::new();
static RING: RingMemory<16, 64> = RingMemory::new();

/// How often each step is repeated, so that a tick of the timer is a hundredth of an instruction for each.
const ROUNDS: u32 = 4_000;
/// Instructions of a tick of the timer.
const NS_PER_TICK: u32 = 40;
const TIMER_END: u32 = 0x00FF_FFFF;

/// A board of which the clock is a counter, with or without a `Local`.
struct Board<const HAS_LOCAL: bool>;

// SAFETY: the board has one core and no interrupts, and no other platform returns this `Local`.
unsafe impl<const HAS_LOCAL: bool> Platform for Board<HAS_LOCAL> {
    fn now_ns() -> u64 {
        static CLOCK: AtomicU32 = AtomicU32::new(1);
        let now = CLOCK.load(Ordering::Relaxed) + 1;
        CLOCK.store(now, Ordering::Relaxed);
        now.into()
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        static LOCAL: Local = Local::new();
        HAS_LOCAL.then_some(&LOCAL)
    }
}

#[entry]
fn main() -> ! {
    start_timer();
    hprintln!(
        "bytes of 16 tasks: {} full, {} compact, {} with a ring",
        size_of_val(&FULL),
        size_of_val(&COMPACT),
        size_of_val(&RING)
    );
    measure("full", FULL.probe::<Board<true>>());
    measure("full with statistics", SUMS.probe::<Board<true>>());
    measure("compact", COMPACT.probe::<Board<true>>());
    measure("compact with a ring", RING.probe::<Board<true>>());
    measure("compact, without a Local", COMPACT.probe::<Board<false>>());
    debug::exit(debug::EXIT_SUCCESS);
    loop {
        cortex_m::asm::wfi();
    }
}

/// Prints the instructions of an event and of a wake in this memory.
fn measure<P: Platform, L: ProbeLayout>(memory: &str, probe: Probe<P, L>) {
    let task = probe.born("task");
    let waker = task.waker();
    let pair = instructions(|| {
        task.run();
        task.suspend(Wait::user(3));
    });
    let announced = instructions(|| {
        task.run();
        probe.waits_for(Wait::user(3));
        task.suspend_announced();
    });
    let wake = instructions(|| waker.wake());
    hprintln!(
        "{}: {} an event, {} with an announcement, {} a wake",
        memory,
        pair / 2,
        announced / 2,
        wake
    );
}

/// The instructions of a call, without those of the loop around it.
fn instructions(call: impl Fn()) -> u32 {
    for _ in 0..4 {
        call(); // the first calls look up the lines
    }
    let empty = ticks(|| {
        black_box(());
    });
    let ticks = ticks(call).saturating_sub(empty);
    (ticks * NS_PER_TICK + ROUNDS / 2) / ROUNDS
}

#[inline(never)]
fn ticks(call: impl Fn()) -> u32 {
    let before = SYST::get_current();
    for round in 0..ROUNDS {
        black_box(round);
        call();
    }
    before.wrapping_sub(SYST::get_current()) & TIMER_END
}

fn start_timer() {
    let Some(mut peripherals) = Peripherals::take() else {
        return;
    };
    let timer = &mut peripherals.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(TIMER_END);
    timer.clear_current();
    timer.enable_counter();
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {
        cortex_m::asm::bkpt();
    }
}
