//! [`Denial`]: what prevents reading a process, and what would permit it.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::target::status::ProcessStatus;

/// What prevents reading the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denial {
    /// The process belongs to the user with this id.
    OtherUser(u32),
    /// The process cannot be dumped: its executable is not readable, or was started with more rights
    /// than its user has, or the program has forbidden dumps.
    NotDumpable,
    /// The system restricts reading to parents, or to root: the value of
    /// `/proc/sys/kernel/yama/ptrace_scope`.
    PtraceScope(u32),
    /// None of the above: perhaps the process has more capabilities, or a container or security module
    /// denies access.
    Unknown,
}

impl Denial {
    /// Finds what prevents this process from reading that one.
    pub(super) fn find(pid: u32, status: &ProcessStatus) -> Self {
        let own = rustix::process::geteuid().as_raw();
        if let Some(other) = status.uids.iter().find(|uid| **uid != own && own != 0) {
            return Denial::OtherUser(*other);
        }
        // The kernel gives the files of a process that cannot be dumped to root.
        let owner = fs::metadata(format!("/proc/{pid}")).map(|directory| directory.uid());
        if owner.is_ok_and(|owner| own != 0 && owner != own) {
            return Denial::NotDumpable;
        }
        match ptrace_scope() {
            Some(scope) if 0 < scope => Denial::PtraceScope(scope),
            _ => Denial::Unknown,
        }
    }
}

fn ptrace_scope() -> Option<u32> {
    let text = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    text.trim().parse().ok()
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::OtherUser(uid) => {
                write!(f, "the process belongs to user {uid}; become that user or root")
            }
            Denial::NotDumpable => f.write_str(
                "the process may not be dumped: its executable is not readable, or has more rights \
                 than its user, or the program forbids dumps; become root",
            ),
            Denial::PtraceScope(scope) => write!(
                f,
                "/proc/sys/kernel/yama/ptrace_scope is {scope}, which lets only {} read this process",
                if *scope == 1 { "its parents and root" } else { "root" }
            ),
            Denial::Unknown => f.write_str(
                "the system denies reading the process: perhaps the process has more capabilities, or a \
                 container or security module denies access",
            ),
        }
    }
}
