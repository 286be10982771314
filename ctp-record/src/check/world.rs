//! What is seen of a program as a whole: claims, processes, descriptors, the bell.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

/// Counts and first proofs.
#[derive(Debug, Default)]
pub struct World {
    /// Stations there are.
    pub max: u32,
    /// Stations that were used.
    pub stations: usize,
    /// Largest `allocated_count`.
    pub most_claimed: u32,
    /// Processes that connected.
    pub connected: usize,
    /// Their descriptors of memory or socket that were looked at.
    pub descriptors: usize,
    /// One that an exec would pass on.
    pub inheritable: Option<String>,
    /// Two stations with one id.
    pub twice: Option<String>,
    /// The processes whose threads wrote to each station.
    pub owners: BTreeMap<usize, BTreeSet<u32>>,
    /// A station of two processes.
    pub shared: Option<String>,
    /// Times that the flag was found taken.
    pub taken: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Events that left the flag as it was.
    pub unrung: Option<String>,
    /// A signal ended the program, maybe between flag and byte.
    pub killed: bool,
    ids: HashMap<u64, usize>,
    threads: HashMap<u64, Option<u32>>,
}

impl World {
    /// Nothing was seen yet, of so many stations.
    pub fn of(max: u32) -> Self {
        World {
            max,
            ..World::default()
        }
    }

    /// This station has had this id.
    pub fn note_id(&mut self, station: usize, id: u64) {
        if id == 0 {
            return;
        }
        let first = *self.ids.entry(id).or_insert(station);
        if first != station {
            self.twice
                .get_or_insert(format!("stations {first} and {station} have id {id:#x}"));
        }
    }

    /// This thread wrote to this station.
    pub fn note_thread(&mut self, station: usize, tid: u64) {
        let process = *self.threads.entry(tid).or_insert_with(|| process_of(tid));
        let Some(process) = process else { return };
        let owners = self.owners.entry(station).or_default();
        owners.insert(process);
        if owners.len() > 1 {
            self.shared.get_or_insert(format!(
                "station {station} was written by processes {owners:?}"
            ));
        }
    }

    /// Looks at the descriptors of a process that lead to the memory or the socket. With more
    /// sockets that may be ours than it made connections, nobody can tell which are.
    pub fn look_at_descriptors(&mut self, pid: u32, memory: &str, connections: usize) {
        let all = descriptors_of(pid);
        let sockets = all.iter().filter(|(_, target)| may_be_ours(pid, target));
        let sockets: Vec<_> = sockets.collect();
        let sockets = if sockets.len() > connections {
            Vec::new()
        } else {
            sockets
        };
        let memory = all.iter().filter(|(_, target)| target == memory);
        let mut seen = 0;
        for (number, target) in memory.chain(sockets) {
            seen += 1;
            if is_inherited(pid, number) == Some(true) {
                self.inheritable.get_or_insert(format!(
                    "process {pid}: descriptor {number} ({target}) lacks FD_CLOEXEC"
                ));
            }
        }
        self.descriptors = self.descriptors.max(seen);
    }
}

/// The process of a thread that is still there.
fn process_of(tid: u64) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// Number and target of each descriptor but the standard streams.
fn descriptors_of(pid: u32) -> Vec<(String, String)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let descriptor = |entry: fs::DirEntry| {
        let number = entry.file_name().to_string_lossy().into_owned();
        let target = fs::read_link(entry.path()).unwrap_or_default();
        (number, target.to_string_lossy().into_owned())
    };
    let all = entries.flatten().map(descriptor);
    all.filter(|(number, _)| !matches!(number.as_str(), "0" | "1" | "2"))
        .collect()
}

/// The program's end of a connection has no name, so that any connected stream socket without
/// one may be it.
fn may_be_ours(pid: u32, target: &str) -> bool {
    if !target.starts_with("socket:") {
        return false;
    }
    let inode = target.trim_start_matches("socket:[").trim_end_matches(']');
    let list = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    list.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == 7 && words[4] == "0001" && words[5] == "03" && words[6] == inode
    })
}

/// Bit 0o2000000 of a descriptor's flags is O_CLOEXEC.
fn is_inherited(pid: u32, number: &str) -> Option<bool> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    Some(flags & 0o2_000_000 == 0)
}
