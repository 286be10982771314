//! How much memory the program and its recorder may use, and the defaults that a recording derives from
//! that. A container that runs out of memory kills its processes.

use std::fs;
use std::path::Path;

use ctp_nostd::create::SHORT_RECORDS;
use ctp_nostd::layout::LaneRecord;

use crate::proc::system;

/// The file system of control groups with their limits, see cgroups(7).
const CGROUPS: &str = "/sys/fs/cgroup";
/// The memory is divided by this to get the part that may fill up with data that is not needed for long.
const SPARE_DIVISOR: u64 = 8;
const MAX_BACKLOG_BYTES: u64 = 512 << 20;
const MAX_BUFFER_BYTES: u64 = 16 << 20;
const MIN_BUFFER_BYTES: u64 = 64 << 10;

/// Threads of a process that can have a long lane at a time: at least this many, and more if lanes are small.
const MIN_LANES: u64 = 128;
const MAX_LANES: u64 = 1024;
/// Bytes of all long lanes of a process, if there are more lanes than the minimum.
const MAX_LANES_BYTES: u64 = 1 << 30;
/// The memory is divided by this to get the part for the short lanes of further threads.
const SHORT_DIVISOR: u64 = 16;
const MAX_SHORT_LANES: u64 = 4096;

/// The machine's memory in bytes, or the limit of this process's control groups if that is smaller.
pub fn memory_bytes() -> u64 {
    let machine = rustix::system::sysinfo();
    let machine_bytes = (machine.totalram as u64).saturating_mul(machine.mem_unit.into());
    let groups = system::own_groups();
    let limit = limit_of(Path::new(CGROUPS), &groups);
    limit.map_or(machine_bytes, |limit| limit.min(machine_bytes))
}

/// Bytes that may wait to be written.
pub fn backlog(memory_bytes: u64) -> u64 {
    (memory_bytes / SPARE_DIVISOR).min(MAX_BACKLOG_BYTES)
}

/// Bytes of a thread's history, a power of two, such that the lanes of all threads fit into the part of
/// memory that can be spared.
pub fn buffer(memory_bytes: u64) -> u64 {
    let of_each =
        (memory_bytes / SPARE_DIVISOR / MIN_LANES).clamp(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES);
    1 << of_each.ilog2()
}

/// Threads that can have a long lane. All lanes are laid out at the start, because a memory cannot grow
/// while processes map it.
pub fn lanes(lane_records: u32, memory_bytes: u64) -> u32 {
    let all_bytes = (memory_bytes / SPARE_DIVISOR).min(MAX_LANES_BYTES);
    match all_bytes.checked_div(bytes_of_lane(lane_records)) {
        None => 0,
        Some(lanes) => lanes.clamp(MIN_LANES, MAX_LANES) as u32,
    }
}

/// How many further threads can have a short lane. A short lane is so small that a program with thousands of
/// threads gets enough of them. Together they take no more than the long lanes: a user who asks for small
/// lanes wants to spend little, and locked memory costs everything that is laid out.
pub fn short_lanes(lane_records: u32, memory_bytes: u64) -> u32 {
    let long_bytes = u64::from(lanes(lane_records, memory_bytes)) * bytes_of_lane(lane_records);
    let all_bytes = (memory_bytes / SHORT_DIVISOR).min(long_bytes);
    let each = all_bytes.checked_div(bytes_of_lane(lane_records.min(SHORT_RECORDS)));
    each.unwrap_or(0).min(MAX_SHORT_LANES) as u32
}

fn bytes_of_lane(records: u32) -> u64 {
    u64::from(records) * size_of::<LaneRecord>() as u64
}

/// The buffer size with which the most threads can have a lane, and the number of those threads.
pub fn roomiest(memory_bytes: u64) -> (u64, u32) {
    let sizes = MIN_BUFFER_BYTES.ilog2()..=MAX_BUFFER_BYTES.ilog2();
    let candidates = sizes.map(|bits| {
        let bytes = 1u64 << bits;
        let records = (bytes / size_of::<LaneRecord>() as u64) as u32;
        let threads = lanes(records, memory_bytes) + short_lanes(records, memory_bytes);
        (bytes, threads)
    });
    candidates
        .max_by_key(|(_, threads)| *threads)
        .unwrap_or_default()
}

/// The smallest limit of these groups and their parents. In a container the names may be those of groups of
/// the host, which are not visible: then the group at the top is the container's.
fn limit_of(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| limit_of_group(root, line));
    limits.min()
}

/// The limit of the group in a line `number:controllers:path`. In version 2, the controllers are empty.
fn limit_of_group(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (top, name) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        some if some.split(',').any(|controller| controller == "memory") => {
            (root.join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let group = top.join(path.trim_start_matches('/'));
    let parents = group.ancestors().take_while(|path| path.starts_with(&top));
    parents
        .filter_map(|group| limit_in_file(&group.join(name)))
        .min()
}

fn limit_in_file(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn defaults_fit_into_little_memory() {
        let taken = |memory| (buffer(memory), backlog(memory), lanes(2048, memory));
        assert_eq!(taken(24 * GIB), (16 << 20, 512 << 20, 1024));
        assert_eq!(taken(GIB), (GIB >> 10, GIB >> 3, 1024));
        assert_eq!(taken(300 << 20), (256 << 10, 300 << 17, 600));
        assert_eq!(taken(1 << 20), (64 << 10, 1 << 17, 128));
        assert_eq!((lanes(0, GIB), short_lanes(0, GIB)), (0, 0));
        assert_eq!(
            [24 * GIB, GIB, 1 << 20].map(|memory| short_lanes(1 << 18, memory)),
            [4096, 1024, 1]
        );
        // All long lanes need 64 MiB, then 16 MiB.
        assert_eq!(
            [2048, 512].map(|records| short_lanes(records, GIB)),
            [1024, 1024]
        );
    }

    #[test]
    fn roomiest_buffer_gives_lanes_to_the_most_threads() {
        assert_eq!(roomiest(24 * GIB), (1 << 20, 5120));
        assert_eq!(roomiest(GIB), (128 << 10, 2048));
        assert_eq!(roomiest(300 << 20), (64 << 10, 900));
    }

    #[test]
    fn smallest_limit_of_a_group_and_the_parents_counts() {
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
