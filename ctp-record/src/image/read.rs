//! Converts a dump to a trace. The whole memory is available at once, and no program waits for the recorder.

use ctp_nostd::{Region, half_written};
use ctp_trace::record::ExitReason;

use super::{Firmware, first_birth_ns, load};
use crate::cli::config::{Config, DumpFile, Verbosity};
use crate::cli::words::shown;
use crate::closing::{Capacity, ClosingLines, finish};
use crate::error::{Error, ImageError};
use crate::harvest::{Harvest, Totals};
use crate::memory::clock::Clock;
use crate::output::Output;
use crate::output::start_and_end::{end_record, start_record};

/// Reads a dump into a trace and prints what is in it.
///
/// # Errors
/// The dump cannot be read or holds no usable memory, or the trace cannot be written.
pub fn read(config: &Config, image: &DumpFile) -> Result<u8, Error> {
    let found = load(image)?;
    let mut firmware = Firmware::of_elf(image.elf.as_ref())?;
    let region = found
        .copy
        .region()
        .map_err(|refused| ImageError::BadImage(image.dump.clone(), refused))?;
    half_written::repair(&region);
    let zero = Clock {
        monotonic_ns: first_birth_ns(&region),
        ..Clock::start()
    };
    let start = start_record(zero, &[], region.stations.len() as u32);
    let mut output = Output::create(&config.output, &start, config.backlog(), None)?;
    output.allow_waiting();
    output.take_place();
    let mut harvest = harvest_of(&region, zero.monotonic_ns);
    harvest.finish(&region, &mut firmware, &mut output);
    let counters = region.header.counters();
    let totals = harvest.totals();
    let end = end_record(totals, harvest.latest(), ExitReason::Image, counters);
    let subject = shown(&image.dump);
    let closing = ClosingLines {
        capacity: Capacity {
            stations: region.stations.len() as u32,
            is_static: true,
            ..Capacity::default()
        },
        totals: Totals {
            doubtful: totals.doubtful,
            summed_up: totals.summed_up,
            ..Totals::default()
        },
        chosen_memory: found.which,
        ..ClosingLines::new(subject, &config.output, end, counters)
    };
    let closing = (config.verbosity > Verbosity::Quiet).then_some(closing);
    finish::finish_trace(output, &end, closing, config.verbosity)?;
    Ok(0)
}

/// Creates the reader. A dump of a summary has totals, like a live memory.
fn harvest_of(region: &Region<'_>, zero_ns: u64) -> Harvest {
    let harvest = Harvest::new(zero_ns);
    match region.header.bins() {
        Some(bins) => harvest.summing_up(bins),
        None => harvest,
    }
}
