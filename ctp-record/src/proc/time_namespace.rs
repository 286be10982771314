//! How far the monotonic clock of a process is ahead of the recorder's. The clocks differ if the process is in another
//! time namespace of Linux.
//!
//! For a process, the kernel reports the clock offsets of its *future children*. A process that has created a namespace
//! for its children is not in that namespace itself. The offsets of a process in the namespace are reported for the
//! process or an ancestor that has its future children in the same namespace.

use std::fs;
use std::path::PathBuf;

use crate::proc::process::status_of;

/// The nanoseconds by which the clock of this process is ahead of ours; negative if behind. `None` if unknown, for
/// example on a kernel without time namespaces.
pub fn ahead_ns(pid: u32) -> Option<i64> {
    let (own, ours) = (namespace_of(pid)?, namespace_of(std::process::id())?);
    if own == ours {
        return Some(0);
    }
    let ours_ns = offset_ns(std::process::id())?;
    offset_ns(pid)?.checked_sub(ours_ns)
}

/// The nanoseconds by which the clock of this process's future children is ahead of ours.
pub fn of_children_ahead_ns(pid: u32) -> Option<i64> {
    let ours_ns = offset_ns(std::process::id())?;
    parse_monotonic(&fs::read_to_string(format!("/proc/{pid}/timens_offsets")).ok()?)?
        .checked_sub(ours_ns)
}

/// The nanoseconds by which the clock of this process is ahead of the machine's.
fn offset_ns(pid: u32) -> Option<i64> {
    let namespace = namespace_of(pid)?;
    let mut pid = pid;
    while fs::read_link(format!("/proc/{pid}/ns/time_for_children")).ok()? != namespace {
        pid = parent_of(pid)?;
    }
    parse_monotonic(&fs::read_to_string(format!("/proc/{pid}/timens_offsets")).ok()?)
}

fn namespace_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/time")).ok()
}

fn parent_of(pid: u32) -> Option<u32> {
    let parent = status_of(pid.into(), "PPid:")?.trim().parse().ok();
    parent.filter(|parent| *parent != 0)
}

/// Parses the line `monotonic SECONDS NANOSECONDS`.
fn parse_monotonic(offsets: &str) -> Option<i64> {
    let line = offsets
        .lines()
        .find_map(|line| line.strip_prefix("monotonic "))?;
    let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
    let (seconds, nanoseconds): (i64, i64) = (numbers.next()??, numbers.next()??);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_monotonic_clock_is_read() {
        let offsets = "monotonic         -50         7\nboottime            3         0\n";
        assert_eq!(parse_monotonic(offsets), Some(-49_999_999_993));
        assert_eq!(parse_monotonic("boottime 3 0\n"), None);
        assert_eq!(parse_monotonic("monotonic 9223372036854775807 0\n"), None);
    }

    #[test]
    fn this_process_is_not_ahead_of_itself() {
        let has_namespaces = namespace_of(std::process::id()).is_some();
        assert_eq!(ahead_ns(std::process::id()), has_namespaces.then_some(0));
    }
}
