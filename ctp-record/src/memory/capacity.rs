//! How much memory there is for the program and its recorder, and what of it a recording takes unless
//! it is told otherwise: a container that runs out of memory kills who is in it.

use std::fs;
use std::path::Path;

use ctp_nostd::create::SHORT_RECORDS;
use ctp_nostd::layout::LaneRecord;

use crate::proc::system;

/// Where groups of processes have their limits, see cgroups(7).
const GROUPS: &str = "/sys/fs/cgroup";
/// A part of the memory that may fill up with what is not needed for long.
const PART: u64 = 8;
const MOST_BACKLOG: u64 = 512 << 20;
const MOST_BUFFER: u64 = 16 << 20;
const LEAST_BUFFER: u64 = 64 << 10;

/// Threads of a process that can have a lane at a time: so many at least, and more of small lanes.
const LANES: u64 = 128;
const MOST_LANES: u64 = 1024;
/// What all lanes of a process may need, if there are more than the least.
const MOST_LANES_BYTES: u64 = 1 << 30;
/// A part of the memory that those of further threads may fill up.
const SHORT_PART: u64 = 16;
const MOST_SHORT_LANES: u64 = 4096;

/// The machine's memory, or what this process and those around it may have of it.
pub fn memory_bytes() -> u64 {
    let machine = rustix::system::sysinfo();
    let machine_bytes = (machine.totalram as u64).saturating_mul(machine.mem_unit.into());
    let groups = system::own_groups();
    let limit = limit_of(Path::new(GROUPS), &groups);
    limit.map_or(machine_bytes, |limit| limit.min(machine_bytes))
}

/// Bytes that may wait to be written.
pub fn backlog(memory_bytes: u64) -> u64 {
    (memory_bytes / PART).min(MOST_BACKLOG)
}

/// Bytes of a thread's history, a power of two: as many threads as can have one need no more than
/// can be spared.
pub fn buffer(memory_bytes: u64) -> u64 {
    let of_each = (memory_bytes / PART / LANES).clamp(LEAST_BUFFER, MOST_BUFFER);
    1 << of_each.ilog2()
}

/// Threads that can have a long lane. All are laid out at the start, for a memory does not grow under
/// those who map it.
pub fn lanes(lane_records: u32, memory_bytes: u64) -> u32 {
    let lane_bytes = u64::from(lane_records) * size_of::<LaneRecord>() as u64;
    let all_bytes = (memory_bytes / PART).min(MOST_LANES_BYTES);
    match all_bytes.checked_div(lane_bytes) {
        None => 0,
        Some(lanes) => lanes.clamp(LANES, MOST_LANES) as u32,
    }
}

/// Threads beyond those that can have a short lane, which needs so little that there are enough of
/// them for a program with thousands. All together need no more than the long ones: who asks for
/// small ones wants little, and memory that is locked costs all that is laid out.
pub fn short_lanes(lane_records: u32, memory_bytes: u64) -> u32 {
    let bytes = |records: u32| u64::from(records) * size_of::<LaneRecord>() as u64;
    let long_bytes = u64::from(lanes(lane_records, memory_bytes)) * bytes(lane_records);
    let all_bytes = (memory_bytes / SHORT_PART).min(long_bytes);
    let each = all_bytes.checked_div(bytes(lane_records.min(SHORT_RECORDS)));
    each.unwrap_or(0).min(MOST_SHORT_LANES) as u32
}

/// The size of buffer with which the most threads can have a lane, and how many can.
pub fn roomiest(memory_bytes: u64) -> (u64, u32) {
    let threads = |bytes: u64| {
        let records = (bytes / size_of::<LaneRecord>() as u64) as u32;
        lanes(records, memory_bytes) + short_lanes(records, memory_bytes)
    };
    let sizes = LEAST_BUFFER.ilog2()..=MOST_BUFFER.ilog2();
    let of_each = sizes.map(|bits| (1 << bits, threads(1 << bits)));
    of_each.max_by_key(|of| of.1).unwrap_or_default()
}

/// The smallest limit of those groups, and of the ones around them. In a container their names may be
/// those of the host, whose groups are not there: then what is at the top is the container's.
fn limit_of(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| limit_of_group(root, line));
    limits.min()
}

/// Of a line `number:controllers:path`; the second version has no controllers there.
fn limit_of_group(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (top, name) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        some if some.split(',').any(|it| it == "memory") => {
            (root.join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let group = top.join(path.trim_start_matches('/'));
    let around = group.ancestors().take_while(|it| it.starts_with(&top));
    let limit = |it: &Path| fs::read_to_string(it.join(name)).ok()?.trim().parse().ok();
    around.filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_is_taken_fits_into_little_memory() {
        let taken = |memory| (buffer(memory), backlog(memory), lanes(2048, memory));
        assert_eq!(taken(24 * GIB), (16 << 20, 512 << 20, 1024));
        assert_eq!(taken(GIB), (GIB >> 10, GIB >> 3, 1024));
        assert_eq!(taken(300 << 20), (256 << 10, 300 << 17, 600));
        assert_eq!(taken(1 << 20), (64 << 10, 1 << 17, 128));
        assert_eq!((lanes(0, GIB), short_lanes(0, GIB)), (0, 0));
        let short = |memory| short_lanes(1 << 18, memory);
        assert_eq!([24 * GIB, GIB, 1 << 20].map(short), [4096, 1024, 1]);
        // All long ones need 64 MiB, then 16 MiB.
        assert_eq!([2048, 512].map(|it| short_lanes(it, GIB)), [1024, 1024]);
    }

    #[test]
    fn the_roomiest_buffer_is_the_largest_of_those_that_most_threads_can_have() {
        assert_eq!(roomiest(24 * GIB), (1 << 20, 5120));
        assert_eq!(roomiest(GIB), (128 << 10, 2048));
        assert_eq!(roomiest(300 << 20), (64 << 10, 900));
    }

    #[test]
    fn the_smallest_limit_of_all_groups_around_counts() {
        let root = tempfile::tempdir().expect("a directory can be made");
        let put = |group: &str, name, text: &str| {
            let group = root.path().join(group);
            fs::create_dir_all(&group).expect("can be made");
            fs::write(group.join(name), text).expect("can be written");
        };
        put("pod", "memory.max", "5000\n");
        put("pod/app", "memory.max", "max\n");
        put("memory", "memory.limit_in_bytes", "7000\n");
        let limit = |groups| limit_of(root.path(), groups);
        assert_eq!(limit("0::/pod/app\n"), Some(5000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("1:cpu:/x\n4:memory:/host/only\n0::/"), Some(7000));
        assert_eq!(limit("4:cpu,memory:/\n0::/pod"), Some(5000));
        assert_eq!(limit(""), None);
        assert_eq!(limit("nonsense\n::\n4:memory\n"), None);
    }
}
