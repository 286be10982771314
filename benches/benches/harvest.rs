//! The time of a pass over idle stations, compared with a bare read of one word per station, which any
//! scan needs at least.

use std::hint::black_box;

use ctp_benches::median_ns;
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::{Linux, Platform, Probe, Region, Wait};
use ctp_record::harvest::{Harvest, Outside, Sink, StationProcess, TraceNumbers};
use ctp_trace::record::{ProcessId, Record};
use memmap2::MmapMut;

/// Like [`Linux`], but without a recorder to notify.
struct Quiet;

#[expect(unsafe_code, reason = "the trait is unsafe to implement")]
// SAFETY: this platform has no `Local`.
unsafe impl Platform for Quiet {
    fn now_ns() -> u64 {
        Linux::now_ns()
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}
}

struct Away;

#[derive(Default)]
struct NullSink(TraceNumbers);

impl Sink for Away {
    fn take(&mut self, record: Record) {
        black_box(record);
    }
}

impl Outside for NullSink {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.0
    }

    fn process(&mut self, _: StationProcess, _: &mut dyn Sink) -> ProcessId {
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

fn main() {
    for stations in [64, 1_024, 16_384, 131_072] {
        measure(stations);
    }
}

fn measure(stations: u32) {
    let region = fresh(stations);
    let probe: Probe<Quiet> = Probe::new(region, 1);
    for _ in 0..stations {
        let task = probe.born("idle");
        task.run();
        task.suspend(Wait::user(1));
        std::mem::forget(task);
    }
    let mut harvest = Harvest::new(0);
    let mut null = NullSink::default();
    while harvest.pass(&region, &mut null, &mut Away).events > 0 {}
    let pass = median_ns(31, 8, || {
        black_box(harvest.pass(&region, &mut null, &mut Away));
    });
    let bare = median_ns(31, 8, || {
        let heads = region.stations.iter().map(|station| station.event_head());
        black_box(heads.fold(0, u64::wrapping_add));
    });
    let slots = f64::from(stations) * 8.0;
    println!(
        "{stations:>7} idle stations: a pass {:>9.1} us, {:>6.0} M slots/s; bare read {:>9.1} us, {:.2} x",
        pass / 1e3,
        slots / pass * 1e3,
        bare / 1e3,
        pass / bare
    );
}

#[expect(unsafe_code, reason = "vouches for the mapping that it makes")]
fn fresh(stations: u32) -> Region<'static> {
    let plan = Plan::without_lanes(stations);
    let bytes = plan.bytes() as usize;
    let map = Box::leak(Box::new(MmapMut::map_anon(bytes).expect("memory")));
    // SAFETY: zeroed memory of this size that is never unmapped, and used by nothing else.
    unsafe { Region::create(map.as_mut_ptr(), bytes, plan, &Recording::default()) }
        .expect("fresh memory is right")
}
