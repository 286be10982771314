//! What the threads of a process wait for: whether anything but another thread can wake them.
//!
//! `/proc/PID/task/TID/syscall` gives the call in which a thread is blocked, and its arguments. Nothing is
//! stopped or traced.

use std::fs;

use crate::proc::process::{status_of, threads_of};
use crate::proc::unix_sockets;

/// Maximum number of threads of an observed process.
const MAX_THREADS: usize = 256;

/// Maximum number of descriptors in an observed epoll.
const MAX_WATCHED: usize = 16;

/// Counts of a process's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// The number of threads that only another thread of the process can wake.
    pub parked: u64,
    /// The number of threads that sleep for a time.
    pub sleeping: u64,
    /// The number of threads that run, or that something outside of the process can wake.
    pub others: u64,
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// A futex of the process, without a timeout.
    Futex,
    /// This epoll, without a timeout.
    Epoll(u64),
    Sleep,
    Other,
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const FUTEX: u64 = 202;
    pub const NANOSLEEP: [u64; 2] = [35, 230];
    pub const EPOLL_WAIT: [u64; 2] = [232, 281];
}

#[cfg(not(target_arch = "x86_64"))]
mod numbers {
    pub const FUTEX: u64 = 98;
    pub const NANOSLEEP: [u64; 2] = [101, 115];
    pub const EPOLL_WAIT: [u64; 2] = [22, 22];
}

const EPOLL_PWAIT2: u64 = 441;

/// `FUTEX_WAIT` and `FUTEX_WAIT_BITSET` of a futex that other processes do not share, the latter also with
/// the wall clock. The last operation, on a futex that may be shared, is that with which glibc waits for the
/// end of a thread.
const INTERNAL_WAITS: [u64; 4] = [0x80, 0x89, 0x189, 0x109];

/// Signals that faults raise, with which programs do not communicate: ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS,
/// and the two that the C library reserves for its own threads.
const FAULTS: u64 =
    1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30 | 1 << 31 | 1 << 32;

/// Counts the threads of a process. `None` if there are too many, or the process does not exist.
pub fn count(pid: u32) -> Option<ThreadCounts> {
    let threads: Vec<u32> = threads_of(pid).map(|(_, tid)| tid).collect();
    if threads.is_empty() || MAX_THREADS < threads.len() {
        return None;
    }
    let mut counts = ThreadCounts {
        others: u64::from(handles_signals(pid)),
        ..ThreadCounts::default()
    };
    for tid in threads {
        let line = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall"));
        match line.map_or(Call::Other, |line| call(&line)) {
            Call::Futex => counts.parked += 1,
            Call::Epoll(epoll) if is_internal(pid, epoll) => counts.parked += 1,
            Call::Sleep => counts.sleeping += 1,
            Call::Epoll(_) | Call::Other => counts.others += 1,
        }
    }
    Some(counts)
}

/// Parses a line of `syscall`: the number in decimal, then the arguments in hexadecimal.
fn call(line: &str) -> Call {
    let mut words = line.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
        return Call::Other;
    };
    let arguments: Vec<u64> = words
        .map_while(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect();
    let &[first, operation, _, timeout, ..] = &arguments[..] else {
        return Call::Other;
    };
    let is_endless = timeout as u32 == u32::MAX;
    match number {
        numbers::FUTEX if INTERNAL_WAITS.contains(&operation) && timeout == 0 => Call::Futex,
        EPOLL_PWAIT2 if timeout == 0 => Call::Epoll(first),
        wait if numbers::EPOLL_WAIT.contains(&wait) && is_endless => Call::Epoll(first),
        sleep if numbers::NANOSLEEP.contains(&sleep) => Call::Sleep,
        _ => Call::Other,
    }
}

/// Whether the program handles signals other than those of faults. Unknown counts as yes.
fn handles_signals(pid: u32) -> bool {
    let caught = status_of(pid.into(), "SigCgt:");
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_none_or(|mask| mask & !FAULTS != 0)
}

/// Whether an epoll watches only event counters, timers that are not set, and the pipe by which tokio
/// learns of signals, so that only the process itself makes it ready.
fn is_internal(pid: u32, epoll: u64) -> bool {
    let Ok(list) = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")) else {
        return false;
    };
    let watched = list.lines().filter_map(|line| line.strip_prefix("tfd:"));
    let watched: Vec<&str> = watched
        .filter_map(|rest| rest.split_whitespace().next())
        .collect();
    let links = links_of(pid);
    // The kernel counts the completions of a ring in an event counter.
    let has_ring = links.iter().any(|link| link == "anon_inode:[io_uring]");
    !has_ring && watched.len() <= MAX_WATCHED && watched.iter().all(|fd| is_inside(pid, fd, &links))
}

/// What the descriptors of a process refer to.
fn links_of(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
    let links = entries
        .flatten()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| link.into_os_string().into_string().ok())
        .collect()
}

fn is_inside(pid: u32, fd: &str, links: &[String]) -> bool {
    let link = fs::read_link(format!("/proc/{pid}/fd/{fd}"));
    let link = link.unwrap_or_default();
    match link.to_str() {
        Some("anon_inode:[eventfd]") => true,
        Some("anon_inode:[timerfd]") => fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}"))
            .is_ok_and(|info| info.contains("it_value: (0, 0)")),
        Some(socket) => is_signal_pipe(pid, socket, links),
        None => false,
    }
}

/// Whether a watched socket is the pipe by which tokio learns of signals: one end of a pair of local sockets.
/// The process has both ends, and the watched end twice. Without a signal handler, the pipe stays silent.
fn is_signal_pipe(pid: u32, link: &str, links: &[String]) -> bool {
    let count = links.iter().filter(|other| *other == link).count();
    let peer = inode_of(link)
        .filter(|_| 1 < count)
        .and_then(|inode| unix_sockets::peer_of(pid, inode));
    peer.is_some_and(|peer| links.contains(&format!("socket:[{peer}]")))
}

/// The number in `socket:[469952]`.
fn inode_of(link: &str) -> Option<u64> {
    let inode = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-15
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn only_waits_without_timeouts_are_parked() {
        let futex = "202 0x7f10 0x80 0x0 0x0 0x0 0x0 0x7ffd 0x7f11";
        assert_eq!(call(futex), Call::Futex);
        assert_eq!(
            call(&futex.replace("0x80 0x0 0x0", "0x189 0x0 0x0")),
            Call::Futex
        );
        assert_eq!(
            call(&futex.replace("0x80 0x0 0x0", "0x80 0x0 0x7ff0")),
            Call::Other
        );
        assert_eq!(call(&futex.replace("0x80", "0x0")), Call::Other, "shared");
        assert_eq!(
            call("232 0x5 0x7f10 0x400 0xffffffff 0x0 0x0 0x7ffd 0x7f11"),
            Call::Epoll(5)
        );
        assert_eq!(
            call("232 0x5 0x7f10 0x400 0x64 0x0 0x0 0x7ffd 0x7f11"),
            Call::Other
        );
        assert_eq!(
            call("230 0x0 0x0 0x7ffd 0x7ffd 0x0 0x0 0x7ffd 0x7f11"),
            Call::Sleep
        );
        assert_eq!(
            call("0 0x0 0x7ffd 0x400 0x0 0x0 0x0 0x7ffd 0x7f11"),
            Call::Other,
            "a read"
        );
        assert_eq!(
            [call("running"), call("-1 0x7ffd 0x7f11"), call("")],
            [Call::Other; 3]
        );
    }

    // CT-15
    #[test]
    fn a_running_process_has_other_threads() {
        let counts = count(std::process::id()).expect("this process");
        assert!(counts.others > 0, "{counts:?}");
        assert_eq!(count(u32::MAX), None);
    }
}
