//! What `/proc/PID/status` says about a process.

use std::fs;

/// The parts of `/proc/PID/status` that decide whether a process can be inspected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessStatus {
    /// The id of the process. Differs from the requested id if that is the id of a thread other than the main thread.
    pub process: u32,
    /// The process has exited, and its parent has not waited for it yet.
    pub is_zombie: bool,
    /// The real, effective and saved user ids.
    pub uids: Vec<u32>,
}

impl ProcessStatus {
    /// Reads the status of the process or thread with this id. `None` if no process or thread has the id.
    pub fn read(pid: u32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/status")).ok()?;
        Some(Self::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Self {
        let mut status = ProcessStatus::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name {
                "Tgid" => status.process = value.parse().unwrap_or_default(),
                "State" => status.is_zombie = value.starts_with(['Z', 'X']),
                "Uid" => status.uids = uids(value),
                _ => {}
            }
        }
        status
    }
}

/// The real, effective and saved id; the fourth, that of the file system, does not matter.
fn uids(value: &str) -> Vec<u32> {
    let words = value.split_ascii_whitespace().take(3);
    words.filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let text = "Name:\ta b\nState:\tZ (zombie)\nTgid:\t12\nPid:\t13\nUid:\t1\t2\t3\t4\n";
        let expected = ProcessStatus {
            process: 12,
            is_zombie: true,
            uids: vec![1, 2, 3],
        };
        assert_eq!(ProcessStatus::parse(text), expected);
    }
}
