//! Process ids as seen by a program in its own pid namespace, for example in a container.
//!
//! A program writes its own id into the shared memory. In our namespace this id may be unused or belong to another
//! process.

use std::fs;

use crate::proc::maps;
use crate::proc::process::{self, is_alive, is_kernel_thread, status_of};

/// The id of this process in its own namespace, while the process exists.
pub fn own_number(pid: u32) -> Option<u32> {
    let numbers = status_of(pid.into(), "NSpid:")?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

/// Whether the process's threads have other ids in its own namespace. True also if the kernel does not report
/// the namespace; false if the process has ended.
pub fn has_own_ids(pid: u32) -> bool {
    let namespace = fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    is_alive(pid) && namespace != fs::read_link("/proc/self/ns/pid").ok()
}

/// Our id of the process that has this id in its own namespace and has mapped the file with this inode.
pub fn process_with_number(number: u32, inode: u64) -> Option<u32> {
    let is_match =
        |pid: &u32| own_number(*pid) == Some(number) && has_mapped(*pid, inode) == Some(true);
    if is_match(&number) {
        return Some(number);
    }
    process::all().find(is_match)
}

/// All other processes that have mapped the memory with this inode.
pub fn holders(inode: u64) -> Vec<u32> {
    let others = process::all().filter(|pid| *pid != std::process::id());
    others
        .filter(|pid| has_mapped(*pid, inode) == Some(true))
        .collect()
}

/// Whether this process has mapped the memory with this inode. `None` if the maps cannot be read or the process has
/// ended.
pub fn has_mapped(pid: u32, inode: u64) -> Option<bool> {
    let maps = maps::text_of(pid).ok()?;
    if maps.is_empty() && !is_kernel_thread(pid) {
        return None; // ended or ending
    }
    Some(maps::has_memory(&maps, inode))
}

/// Whether the process has maps but none of these memories. False for a process that has ended, which has no maps, and
/// for a process whose maps cannot be read.
pub fn has_other_maps(pid: u32, mut inodes: impl Iterator<Item = u64>) -> bool {
    let maps = maps::text_of(pid).unwrap_or_default();
    !maps.is_empty() && !inodes.any(|inode| maps::has_memory(&maps, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_in_our_namespace_has_a_single_id() {
        let me = std::process::id();
        assert_eq!(own_number(me), Some(me));
        assert_eq!(own_number(u32::MAX), None);
    }

    #[test]
    fn a_process_without_the_mapping_does_not_match() {
        assert_eq!(process_with_number(std::process::id(), u64::MAX), None);
    }

    // CTP-33
    #[test]
    fn an_ended_process_has_no_other_maps() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let pid = child.id();
        while !process::is_zombie(pid) {
            std::thread::yield_now();
        }
        let none = || [u64::MAX].into_iter();
        assert!(!has_other_maps(pid, none()));
        child.wait().expect("our child");
        assert!(!has_other_maps(pid, none()));
        assert!(has_other_maps(std::process::id(), none()));
    }
}
