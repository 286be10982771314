//! The cost of an event, measured on this machine with the probe's own code.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ctp_nostd::aggregate::Bins;
use ctp_nostd::clock::{self, Calibration};
use ctp_nostd::layout::Header;
use ctp_nostd::{Linux, Memory, Platform, Wait};

/// The platform of the program, except that it never rings and has a fixed thread id.
struct Here;

/// The program's clock, if calibrated.
static CLOCK: OnceLock<Calibration> = OnceLock::new();

#[expect(unsafe_code, reason = "the trait is unsafe to implement")]
// SAFETY: this platform has no `Local`.
unsafe impl Platform for Here {
    fn now_ns() -> u64 {
        CLOCK
            .get()
            .and_then(|calibration| calibration.ns_at(clock::ticks()))
            .unwrap_or_else(Linux::now_ns)
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}
}

static SLOTS: Memory<1, 4> = Memory::new();
static WITH_AGGREGATES: Memory<1, 4> = Memory::new().with_aggregates(Bins::USUAL);

const ROUNDS: u32 = 2_000;

/// Measures the cost of an event: half of the time that a run and a suspend take, from the fastest of a few rounds.
/// `None` if this recorder was compiled without optimization, and the probe's code in the recorder with it: the
/// program's own probe may be several times faster.
pub fn of_event(header: &Header) -> Option<Duration> {
    if cfg!(unoptimized) {
        return None;
    }
    if let Some(calibration) = clock::read(header) {
        CLOCK.get_or_init(|| calibration);
    }
    let is_ordered = header.declares_barrier();
    let memory = match header.bins() {
        Some(_) => &WITH_AGGREGATES,
        None => &SLOTS,
    };
    let probe = memory.probe::<Here>().ordered_by_recorder(is_ordered);
    let coroutine = probe.born("calibration");
    let rounds = || {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            coroutine.run();
            coroutine.suspend(Wait::unknown());
        }
        begin.elapsed().as_secs_f64() / f64::from(2 * ROUNDS)
    };
    let quickest = (0..5).map(|_| rounds()).fold(f64::MAX, f64::min);
    Some(Duration::from_secs_f64(quickest))
}
