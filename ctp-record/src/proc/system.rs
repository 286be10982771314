//! What the kernel reports about the machine and this process's control groups.

use std::fs::{self, File};
use std::io::Read as _;

/// The control groups of this process, as lines of cgroups(7); empty if there are none.
pub fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

/// The beginning of the processor description, which covers the first processor. Describing all processors takes the
/// kernel milliseconds on a large machine.
pub fn first_processor() -> String {
    /// The flags of a processor alone take about 2 000 bytes.
    const MAX_BYTES: u64 = 8_192;
    let mut text = Vec::new();
    let file = File::open("/proc/cpuinfo");
    // Text read before an error counts.
    let _ = file.and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}
