//! The state of a process or thread according to the kernel: alive, asleep or stopped, its name and its user.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

// Fields of `/proc/PID/stat`, counted from the state: see proc_pid_stat(5).
/// The kernel's flags of the process.
const FLAGS: usize = 6;
/// The start time in clock ticks since boot.
const STARTED: usize = 19;

/// The flag of kernel threads, which have no memory of their own.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The ids of all processes.
pub fn all() -> impl Iterator<Item = u32> {
    numbers_in("/proc")
}

/// The id of the process paired with the id of each of its threads.
pub fn threads_of(pid: u32) -> impl Iterator<Item = (u32, u32)> {
    numbers_in(&format!("/proc/{pid}/task")).map(move |tid| (pid, tid))
}

/// The name of the process, which may contain any bytes; empty if the process does not exist.
pub fn name_of(pid: u32) -> Vec<u8> {
    let mut name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.pop_if(|last| *last == b'\n');
    name
}

/// Opens the memory of the process for reading at its addresses.
///
/// # Errors
/// The process does not exist, or its memory may not be read.
pub fn open_memory(pid: u32) -> io::Result<File> {
    File::open(format!("/proc/{pid}/mem"))
}

/// Whether the process runs the same program file as this process.
pub fn runs_this_program(pid: u32) -> bool {
    let ours = fs::metadata("/proc/self/exe");
    let other = fs::metadata(format!("/proc/{pid}/exe"));
    ours.is_ok_and(|ours| {
        other.is_ok_and(|other| (other.dev(), other.ino()) == (ours.dev(), ours.ino()))
    })
}

/// A path to the file of this descriptor, even if the file has no path of its own.
pub fn own_descriptor(descriptor: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into()
}

/// The value of a line of the `status` of a process or thread, such as `Uid:`.
pub fn status_of(id: u64, name: &str) -> Option<String> {
    value_in(&format!("/proc/{id}/status"), name)
}

/// The value of a line of this process's own `status`.
pub fn own_status(name: &str) -> Option<String> {
    value_in("/proc/self/status", name)
}

/// The process of a thread, while the thread exists.
pub fn process_of_thread(tid: u64) -> Option<u32> {
    status_of(tid, "Tgid:")?.trim().parse().ok()
}

/// Whether the process exists and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    is_in_state(pid, |state| !matches!(state, "Z" | "X"))
}

/// Whether the process has ended and its parent has not waited for it yet.
#[cfg(test)]
pub fn is_zombie(pid: u32) -> bool {
    is_in_state(pid, |state| state == "Z")
}

/// Whether this is a kernel thread.
pub fn is_kernel_thread(pid: u32) -> bool {
    let flags = fields_of(pid).and_then(|fields| fields.get(FLAGS)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & PF_KTHREAD != 0)
}

/// Whether a signal or a debugger has stopped the process.
pub fn is_stopped(pid: u32) -> bool {
    is_in_state(pid, |state| matches!(state, "T" | "t"))
}

/// Whether the thread sleeps in the kernel; `None` if it has ended.
pub fn is_asleep((pid, tid): (u32, u32)) -> Option<bool> {
    let fields = stat_fields(&format!("/proc/{pid}/task/{tid}/stat"))?;
    Some(fields.first()? == "S")
}

/// Whether the process was started before this process.
pub fn is_older(pid: u32) -> bool {
    let both = started(pid).zip(started(std::process::id()));
    both.is_some_and(|(other, this)| other < this)
}

fn started(pid: u32) -> Option<u64> {
    fields_of(pid)?.get(STARTED)?.parse().ok()
}

fn is_in_state(pid: u32, is_match: impl FnOnce(&str) -> bool) -> bool {
    fields_of(pid).is_some_and(|fields| fields.first().is_some_and(|state| is_match(state)))
}

fn fields_of(pid: u32) -> Option<Vec<String>> {
    stat_fields(&format!("/proc/{pid}/stat"))
}

/// The fields after the name. A name may contain anything, hence they begin after the last parenthesis.
fn stat_fields(path: &str) -> Option<Vec<String>> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

/// The rest of the first line in this file that starts with `name`.
pub fn value_in(path: &str, name: &str) -> Option<String> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
}

fn numbers_in(directory: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_owns_the_threads() {
        let pid = std::process::id();
        assert!(is_alive(pid) && !is_zombie(pid) && !is_stopped(pid));
        assert!(all().any(|other| other == pid));
        assert!(
            threads_of(pid).all(|(process, tid)| process_of_thread(tid.into()) == Some(process))
        );
        assert!(is_older(1) && !is_older(pid) && !is_kernel_thread(pid));
    }

    #[test]
    fn a_missing_process_has_no_state() {
        let none = u32::MAX;
        assert!(!is_alive(none) && !is_zombie(none) && !is_stopped(none));
        assert_eq!(
            (is_asleep((none, none)), process_of_thread(none.into())),
            (None, None)
        );
        assert_eq!(name_of(none), b"");
    }
}
