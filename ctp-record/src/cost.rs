//! What one event costs: measured here, on this machine, with the probe's own code.

use std::time::{Duration, Instant};

use ctp_nostd::{Linux, Memory, Platform, Wait};

/// As on Linux, but with nobody to ring.
struct Calibration;

impl Platform for Calibration {
    fn now_ns() -> u64 {
        Linux::now_ns()
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}
}

static MEMORY: Memory<1, 4> = Memory::new();

const ROUNDS: u32 = 2_000;

/// Half of a run and a suspend, the quickest of a few tries.
pub fn of_one_event() -> Duration {
    let coroutine = MEMORY.probe::<Calibration>().born("calibration");
    let rounds = || {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            coroutine.run();
            coroutine.suspend(Wait::unknown());
        }
        begin.elapsed() / (2 * ROUNDS)
    };
    (0..5).map(|_| rounds()).min().unwrap_or_default()
}
