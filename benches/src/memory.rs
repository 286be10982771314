//! Memory laid out as by a recorder, for a program without a recorder. An event then costs only the
//! program's own work, without a reader that takes cache lines away.

use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ctp_nostd::Region;
use ctp_nostd::aggregate::MODE_HISTORY;
use ctp_nostd::clock::{self, Calibration};
use ctp_nostd::control::Control;
use ctp_nostd::create::{Plan, Recording};
use memmap2::{Advice, MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::time::{ClockId, clock_gettime};

const STATIONS: u32 = 8_192;
/// Records of a lane. They fit into the second-level cache; the lanes of a recorder do not.
pub const LANE_RECORDS: u32 = 1 << 14;

/// Memory to lend to a program.
#[derive(Debug)]
pub struct Memory {
    file: OwnedFd,
    map: MmapRaw,
}

impl Memory {
    /// Memory with this number of lanes, in a mode of [`ctp_nostd::aggregate`]. As under `ctp-record`,
    /// events need no fence and may use the processor's counter as the clock.
    pub fn new(lanes: u32, mode: u32) -> Self {
        Memory::calibrated(lanes, mode, false)
    }

    /// Memory in history mode with precise chains.
    pub fn of_precise_chains(lanes: u32) -> Self {
        Memory::calibrated(lanes, MODE_HISTORY, true)
    }

    /// Memory in history mode with lanes for thousands of threads, most of them short.
    pub fn of_many_lanes() -> Self {
        let plan = Plan {
            stations: STATIONS,
            lanes: 128,
            lane_records: LANE_RECORDS,
            short_lanes: 4096,
        };
        Memory::planned(plan, MODE_HISTORY, false)
    }

    fn calibrated(lanes: u32, mode: u32, precise_chains: bool) -> Self {
        let lane_records = if lanes == 0 { 0 } else { LANE_RECORDS };
        let plan = Plan {
            stations: STATIONS,
            lanes,
            lane_records,
            short_lanes: 0,
        };
        Memory::planned(plan, mode, precise_chains)
    }

    fn planned(plan: Plan, mode: u32, precise_chains: bool) -> Self {
        let recording = Recording {
            mode,
            precise_chains,
            barrier: true,
            ..Recording::default()
        };
        let memory = Memory::of(plan, &recording);
        memory.lay_first_pages();
        clock::publish(memory.region().header, &calibration());
        memory
    }

    /// Memory with slots only, where events need a full fence and the kernel's clock.
    pub fn of_the_fallback() -> Self {
        Memory::of(Plan::without_lanes(STATIONS), &Recording::default())
    }

    #[expect(unsafe_code, reason = "vouches for the mapping that it makes")]
    fn of(plan: Plan, recording: &Recording) -> Self {
        let file = memfd_create("bench", MemfdFlags::empty()).expect("a memfd");
        ftruncate(&file, plan.bytes()).expect("room");
        let map = MmapOptions::new().map_raw(&file).expect("a mapping");
        // SAFETY: zeroed memory, mapped for as long as `map` lives.
        unsafe { Region::create(map.as_mut_ptr(), map.len(), plan, recording) }
            .expect("fresh memory is right");
        Memory { file, map }
    }

    /// Maps the first page of each lane, as a recorder does for the next few lanes.
    fn lay_first_pages(&self) {
        let rings = (0..).map_while(|index| self.region().ring(index));
        for ring in rings {
            let first = ring.places(0..1);
            let offset = first.as_ptr().addr() - self.map.as_mut_ptr().addr();
            let advice = Advice::PopulateRead;
            // On failure threads wait for their pages.
            let _ = self.map.advise_range(advice, offset, size_of_val(first));
        }
    }

    fn region(&self) -> Region<'_> {
        region(&self.map)
    }

    /// Makes the command's program attach to this memory.
    pub fn lend<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        command
            .env("CTP_SHM_PATH", path)
            .env("CTP_MAX_STATIONS", STATIONS.to_string())
    }
}

/// The memory that was lent to this program, which also acts as the recorder.
#[derive(Debug)]
pub struct Borrowed(MmapRaw);

impl Borrowed {
    /// Attaches to the memory.
    pub fn attach() -> Self {
        let path = std::env::var_os("CTP_SHM_PATH").expect("the parent lends memory");
        let mut options = File::options();
        let file = options.read(true).write(true).open(path);
        let map = MmapOptions::new().map_raw(&file.expect("an open file"));
        assert!(ctp_nostd::attach(), "the memory is right");
        Borrowed(map.expect("a mapping"))
    }

    /// Releases all records of all lanes.
    pub fn empty_lanes(&self) {
        let region = region(&self.0);
        for index in 0..region.lanes.len() {
            let ring = region.ring(index as u32).expect("a lane with records");
            ring.release(ring.head());
        }
    }

    /// Sets what is recorded from now on.
    pub fn command(&self, control: Control) {
        region(&self.0).header.command(control);
    }
}

#[expect(unsafe_code, reason = "vouches for the given mapping")]
fn region(map: &MmapRaw) -> Region<'_> {
    // SAFETY: mapped for as long as `map` lives; accessed through atomics only.
    unsafe { Region::new(map.as_mut_ptr(), map.len(), u32::MAX) }.expect("valid memory")
}

/// Nanoseconds of CLOCK_MONOTONIC, by way of the vDSO.
pub fn kernel_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Calibrates the processor's counter, precisely enough for a measurement.
fn calibration() -> Calibration {
    let (ticks, ns) = (clock::ticks(), kernel_ns());
    thread::sleep(Duration::from_millis(20));
    let (ticks_since, ns_since) = (clock::ticks() - ticks, kernel_ns() - ns);
    let mult = (u128::from(ns_since) << 64).checked_div(ticks_since.into());
    Calibration {
        ticks,
        ns,
        mult: mult.unwrap_or(0) as u64,
    }
}
