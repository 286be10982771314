//! Process ids as a program in a process namespace of its own sees them: in a container, say.
//!
//! A program writes its own id into the memory. Here that may be nobody's, or another's.

use std::fs;

use crate::proc::maps;
use crate::proc::process::{self, is_alive, is_kernel_thread, status_of};

/// What this process calls itself, while it is there.
pub fn own_number(pid: u32) -> Option<u32> {
    let numbers = status_of(pid.into(), "NSpid:")?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

/// Do its threads have other ids for themselves than for this process? Yes, unless the kernel says no.
pub fn has_own_ids(pid: u32) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    is_alive(pid) && namespace(&pid.to_string()) != namespace("self")
}

/// The process that calls itself so and has mapped the file with this inode: our id of it.
pub fn process_with_number(number: u32, inode: u64) -> Option<u32> {
    let is_match =
        |pid: &u32| own_number(*pid) == Some(number) && has_mapped(*pid, inode) == Some(true);
    if is_match(&number) {
        return Some(number);
    }
    process::all().find(is_match)
}

/// All processes but this one that have mapped the memory with this inode.
pub fn holders(inode: u64) -> Vec<u32> {
    let others = process::all().filter(|pid| *pid != std::process::id());
    others
        .filter(|pid| has_mapped(*pid, inode) == Some(true))
        .collect()
}

/// Has this process mapped the memory with this inode? Nothing if that may not be looked at, or
/// not any more.
pub fn has_mapped(pid: u32, inode: u64) -> Option<bool> {
    let maps = maps::text_of(pid).ok()?;
    if maps.is_empty() && !is_kernel_thread(pid) {
        return None; // it has ended, or is about to
    }
    Some(maps::has_memory(&maps, inode))
}

/// Does it have maps, but none of the memories with these inodes? Who ends has no maps any more, and of
/// those that may not be looked at nothing is known.
pub fn has_other_maps(pid: u32, mut inodes: impl Iterator<Item = u64>) -> bool {
    let maps = maps::text_of(pid).unwrap_or_default();
    !maps.is_empty() && !inodes.any(|inode| maps::has_memory(&maps, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_a_namespace_a_process_has_one_number() {
        let me = std::process::id();
        assert_eq!(own_number(me), Some(me));
        assert_eq!(own_number(u32::MAX), None);
    }

    #[test]
    fn a_process_that_has_not_mapped_the_file_is_not_it() {
        assert_eq!(process_with_number(std::process::id(), u64::MAX), None);
    }

    // CTP-33
    #[test]
    fn who_has_ended_has_no_other_maps() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let pid = child.id();
        let is_over = || process::is_zombie(pid);
        while !is_over() {
            std::thread::yield_now();
        }
        let none = || [u64::MAX].into_iter();
        assert!(!has_other_maps(pid, none()));
        child.wait().expect("it is ours");
        assert!(!has_other_maps(pid, none()));
        assert!(has_other_maps(std::process::id(), none()));
    }
}
