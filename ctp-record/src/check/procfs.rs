//! What the kernel tells of processes and threads: whose they are, what they map, if they sleep.

use std::fs;
use std::path::PathBuf;

/// The process of a thread that is still there.
pub fn process_of(tid: u64) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// Does the process map the file with this number? Nothing if that cannot be told: it is gone,
/// has no memory any more, or is none of ours to look at.
pub fn maps(pid: u32, inode: u64) -> Option<bool> {
    let list = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let is_it = |line: &str| {
        let mut words = line.split_whitespace().skip(4);
        let number = words.next().and_then(|word| word.parse().ok());
        number == Some(inode) && words.next().is_some_and(|name| name.starts_with("/memfd:"))
    };
    (!list.is_empty()).then(|| list.lines().any(is_it))
}

/// All processes but this one that map it.
pub fn holders(inode: u64) -> Vec<u32> {
    let others = numbers_in("/proc").filter(|pid| *pid != std::process::id());
    others
        .filter(|pid| maps(*pid, inode) == Some(true))
        .collect()
}

/// Process and id of each of its threads.
pub fn threads_of(pid: u32) -> impl Iterator<Item = (u32, u32)> {
    numbers_in(&format!("/proc/{pid}/task")).map(move |tid| (pid, tid))
}

/// Does the thread sleep in the kernel, so that it is in the middle of nothing of its own?
/// Nothing if it is gone.
pub fn is_asleep(thread: (u32, u32)) -> Option<bool> {
    let (pid, tid) = thread;
    let fields = fields_of(&format!("/proc/{pid}/task/{tid}/stat"))?;
    Some(fields.first()? == "S")
}

/// Is the process there, and not a zombie?
pub fn is_alive(pid: u32) -> bool {
    let fields = fields_of(&format!("/proc/{pid}/stat"));
    fields.is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

/// Was the process there before this one?
pub fn is_older(pid: u32) -> bool {
    let started = |pid: u32| -> Option<u64> {
        let fields = fields_of(&format!("/proc/{pid}/stat"))?;
        fields.get(STARTED)?.parse().ok()
    };
    let both = started(pid).zip(started(std::process::id()));
    both.is_some_and(|(it, this)| it < this)
}

/// Do its threads have other ids for themselves than for us? Unless the kernel says no, yes.
pub fn has_ids_of_its_own(pid: u32) -> bool {
    let namespace =
        |pid: &str| -> Option<PathBuf> { fs::read_link(format!("/proc/{pid}/ns/pid")).ok() };
    is_alive(pid) && namespace(&pid.to_string()) != namespace("self")
}

/// In the fields of `stat` that follow the name: when it was started.
const STARTED: usize = 19;

/// A name may contain anything, so the fields begin behind its last parenthesis: never none.
fn fields_of(stat: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(stat).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

fn numbers_in(directory: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
