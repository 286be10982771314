//! Threads of a running process, from `/proc/PID/task`.

use std::fs;

use crate::stacks::{Processor, Registers};
use crate::threads::{ThreadSample, ThreadState};

/// The threads of a process by the kernel's ids, in ascending order. Empty if the process has exited.
pub fn thread_ids(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut ids: Vec<u32> = names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    ids.sort_unstable();
    ids
}

/// What the kernel says about a thread; `None` if it has exited.
///
/// The number of switches is read first. If it is the same later, the thread has been blocked all the
/// time.
pub fn sample(pid: u32, tid: u32) -> Option<ThreadSample> {
    let directory = format!("/proc/{pid}/task/{tid}");
    let status = fs::read(format!("{directory}/status")).ok()?;
    let status = parse_status(&status)?;
    let syscall = fs::read_to_string(format!("{directory}/syscall"));
    let mut state = syscall.ok().and_then(|line| parse_syscall(&line));
    if let Some(ThreadState::Blocked { syscall, .. }) = &mut state
        && status.is_stopped
    {
        *syscall = None;
    }
    Some(ThreadSample {
        tid,
        name: status.name,
        switches: status.switches,
        state: state.unwrap_or(ThreadState::Unknown),
    })
}

/// How often a thread has left its processor; `None` if it has exited.
pub fn switches(pid: u32, tid: u32) -> Option<u64> {
    let status = fs::read(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    Some(parse_status(&status)?.switches)
}

/// What the status of a thread says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ThreadStatus {
    name: String,
    switches: u64,
    /// A signal or a debugger has stopped the thread.
    is_stopped: bool,
}

/// The status of a thread; `None` if it has exited.
fn parse_status(status: &[u8]) -> Option<ThreadStatus> {
    let mut found = ThreadStatus::default();
    for line in status.split(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let Some((key, value)) = line.split_once(":\t") else {
            continue;
        };
        match key {
            "Name" => value.clone_into(&mut found.name),
            "State" if value.starts_with(['Z', 'X']) => return None,
            "State" => found.is_stopped = value.starts_with(['T', 't']),
            "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                let number = value.trim().parse().unwrap_or_default();
                found.switches = found.switches.wrapping_add(number);
            }
            _ => {}
        }
    }
    Some(found)
}

/// Parses `running`, or the number of the system call, its arguments, the stack pointer and the program counter. If the
/// thread is not in a system call, the number is -1 and there are no arguments.
fn parse_syscall(line: &str) -> Option<ThreadState> {
    let line = line.trim();
    if line == "running" {
        return Some(ThreadState::Running);
    }
    let mut words = line.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let pc = hex(words.next_back()?)?;
    let sp = hex(words.next_back()?)?;
    Some(ThreadState::Blocked {
        syscall: u32::try_from(number).ok(),
        registers: Box::new(Registers::new(Processor::HOST?, pc, sp)),
    })
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_gives_name_and_switches() {
        let status = b"Name:\ta: b\xff\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t40\n\
            nonvoluntary_ctxt_switches:\t2\n";
        let found = parse_status(status).expect("the thread exists");
        assert_eq!((found.name.as_str(), found.switches), ("a: b\u{fffd}", 42));
        assert!(!found.is_stopped);
        let stopped = parse_status(b"Name:\ta\nState:\tT (stopped)\n");
        assert!(stopped.is_some_and(|status| status.is_stopped));
        assert_eq!(parse_status(b"Name:\ta\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn syscall_lines_are_parsed() {
        assert_eq!(parse_syscall("running\n"), Some(ThreadState::Running));
        let line = "230 0x0 0x0 0x7f10 0x7f50 0x0 0x0 0x7fa8 0x5503\n";
        let Some(ThreadState::Blocked { syscall, registers }) = parse_syscall(line) else {
            return assert_eq!(Processor::HOST, None);
        };
        let found = (syscall, registers.sp, registers.pc);
        assert_eq!(found, (Some(230), 0x7fa8, 0x5503));
        let Some(ThreadState::Blocked { syscall, .. }) = parse_syscall("-1 0x7fa8 0x5503") else {
            panic!("a stopped thread is not in a system call");
        };
        assert_eq!(syscall, None);
        for line in ["", "0x1", "230", "230 0x1", "230 a b"] {
            assert_eq!(parse_syscall(line), None, "{line}");
        }
    }
}
