//! Checks whether the thread in an event belongs to a process that attached.
//!
//! The thread and its process may have ended when the event is seen, so that a single reading proves nothing. A thread
//! that belonged to no attached process *before* the event began cannot have written it. The event began later if a
//! later reading did not find it yet.

use crate::proc::namespace;
use crate::proc::process;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// How long knowledge about a thread id stays valid: the kernel does not reuse the id sooner.
const HOLDS: Duration = Duration::from_millis(20);
/// The kernel's largest thread id (`PID_MAX_LIMIT`).
pub const LARGEST_TID: u64 = 1 << 22;

/// The threads that wrote and the processes that attached.
#[derive(Debug, Default)]
pub struct WriterThreads {
    /// Inode of the memory file.
    inode: u64,
    /// Processes that connected or were seen to map the memory.
    pub attached: BTreeSet<u32>,
    known: HashMap<u64, Known>,
    /// Some process has its own pid namespace, in which its threads have other ids.
    is_separate: bool,
    /// The processes that wrote to each station, by generation.
    owners: BTreeMap<(usize, u32), BTreeSet<u32>>,
    /// Proof that two processes wrote to the same station.
    pub shared: Option<String>,
    /// Proof that an event has a thread of no attached process.
    pub stranger: Option<String>,
}

/// An event seen in a reading of its station.
#[derive(Clone, Copy, Debug)]
pub struct SeenEvent {
    /// The station.
    pub station: usize,
    /// The event.
    pub n: u64,
    /// The generation of its station; 0 for a v1 probe.
    pub generation: u32,
    /// The thread id in the event.
    pub tid: u64,
    /// When the previous reading began, if that reading did not find the event.
    pub absent_at: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Known {
    owner_state: OwnerState,
    at: Instant,
}

#[derive(Clone, Debug)]
enum OwnerState {
    /// A thread of this attached process.
    Member(u32),
    /// A thread of no attached process, with the reason.
    Stranger(String),
    /// Not known.
    Unknown,
}

impl WriterThreads {
    /// Starts without any thread, for the memory with this inode.
    pub fn of(inode: u64) -> Self {
        WriterThreads {
            inode,
            ..WriterThreads::default()
        }
    }

    /// Adds a process that has attached.
    pub fn attach(&mut self, pid: u32) {
        if self.attached.insert(pid) {
            self.is_separate |= namespace::has_own_ids(pid);
        }
    }

    /// Whether the process of any writing thread is known.
    pub fn are_known(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Adds an event.
    pub fn note(&mut self, seen: &SeenEvent) {
        if !(1..=LARGEST_TID).contains(&seen.tid) {
            return;
        }
        if let OwnerState::Member(process) = self.owner_state(seen) {
            self.note_owner(seen, process);
        }
    }

    fn owner_state(&mut self, seen: &SeenEvent) -> OwnerState {
        let before = self.known.get(&seen.tid).cloned();
        if let Some(known) = &before
            && (seen.absent_at.is_none() || !known.is_doubtful())
        {
            return known.owner_state.clone();
        }
        let now = Known {
            owner_state: self.look_up(seen.tid),
            at: Instant::now(),
        };
        if let (Some(before), OwnerState::Stranger(why)) = (before, &now.owner_state)
            && before.precedes(seen)
        {
            self.accuse(seen, why);
        }
        self.known.insert(seen.tid, now.clone());
        now.owner_state
    }

    fn look_up(&mut self, tid: u64) -> OwnerState {
        let Some(process) = process::process_of_thread(tid) else {
            return OwnerState::Stranger("which no thread has".to_owned());
        };
        if process == std::process::id() {
            return OwnerState::Stranger("a thread of ctp-record".to_owned());
        }
        if self.attached.contains(&process) {
            return OwnerState::Member(process);
        }
        match namespace::has_mapped(process, self.inode) {
            Some(true) => {
                self.attach(process);
                OwnerState::Member(process)
            }
            None if !process::is_older(process) => OwnerState::Unknown,
            Some(false) | None => OwnerState::Stranger(format!(
                "a thread of process {process}, which has not attached"
            )),
        }
    }

    fn accuse(&mut self, seen: &SeenEvent, why: &str) {
        let SeenEvent {
            station, n, tid, ..
        } = seen;
        // A process that did not connect may be in another pid namespace.
        let others = namespace::holders(self.inode);
        self.is_separate |= others.into_iter().any(namespace::has_own_ids);
        if !self.is_separate {
            self.stranger
                .get_or_insert(format!("station {station}: event {n} has tid {tid}, {why}"));
        }
    }

    fn note_owner(&mut self, seen: &SeenEvent, process: u32) {
        let station = seen.station;
        let owners = self.owners.entry((station, seen.generation)).or_default();
        owners.insert(process);
        if owners.len() > 1 {
            self.shared.get_or_insert(format!(
                "station {station} was written by processes {owners:?}"
            ));
        }
    }
}

impl Known {
    /// Whether the thread should be looked up again.
    fn is_doubtful(&self) -> bool {
        match self.owner_state {
            OwnerState::Member(_) => self.at.elapsed() > HOLDS,
            OwnerState::Stranger(_) => true,
            OwnerState::Unknown => false,
        }
    }

    /// Whether this was known before the event began, and recently enough.
    fn precedes(&self, seen: &SeenEvent) -> bool {
        matches!(self.owner_state, OwnerState::Stranger(_))
            && seen.absent_at.is_some_and(|absent| self.at <= absent)
            && self.at.elapsed() <= HOLDS
    }
}
