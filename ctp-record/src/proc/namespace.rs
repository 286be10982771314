//! Process ids as a program in a process namespace of its own sees them: in a container, say.
//!
//! A program writes its own id into the memory. Here that may be nobody's, or another's.

use std::fs;

/// What this process calls itself, while it is there.
pub fn own_number(pid: u32) -> Option<u32> {
    let numbers = status(pid, "NSpid:")?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

/// Has a signal or a debugger stopped it?
pub fn is_stopped(pid: u32) -> bool {
    is_in_state(pid, &['T', 't'])
}

fn is_zombie(pid: u32) -> bool {
    is_in_state(pid, &['Z'])
}

fn is_in_state(pid: u32, letters: &[char]) -> bool {
    status(pid, "State:").is_some_and(|state| state.trim_start().starts_with(letters))
}

/// One line of what the kernel tells of a process.
fn status(pid: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
}

/// The process that calls itself so and has mapped the file with this inode: our id of it.
pub fn process(number: u32, inode: u64) -> Option<u32> {
    let is_it =
        |pid: &u32| own_number(*pid) == Some(number) && has_mapped(*pid, inode) == Some(true);
    if is_it(&number) {
        return Some(number);
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(is_it)
}

/// Has this process mapped the memory with this inode? Nothing if that may not be looked at, or
/// not any more.
pub fn has_mapped(pid: u32, inode: u64) -> Option<bool> {
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    if maps.is_empty() && is_zombie(pid) {
        return None;
    }
    Some(is_in(&maps, inode))
}

/// Does it have maps, but none of the memories with these inodes? Who ends has no maps any more, and of
/// those that may not be looked at nothing is known.
pub fn has_other_maps(pid: u32, mut inodes: impl Iterator<Item = u64>) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    !maps.is_empty() && !inodes.any(|inode| is_in(&maps, inode))
}

fn is_in(maps: &[u8], inode: u64) -> bool {
    let inode = inode.to_string();
    let mut lines = maps.split(|&byte| byte == b'\n');
    // start-end perms offset dev inode path
    lines.any(|line| {
        let mut words = line.split(|&byte| byte == b' ');
        words.nth(4) == Some(inode.as_bytes()) && line.windows(7).any(|word| word == b"/memfd:")
    })
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
        assert_eq!(process(std::process::id(), u64::MAX), None);
    }

    // CTP-33
    #[test]
    fn who_has_ended_has_no_other_maps() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let pid = child.id();
        let is_over = || is_zombie(pid);
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
