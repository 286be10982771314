//! Whose threads write: is the one in an event a thread of a process that attached?
//!
//! A thread may be over when its event is seen, and so may its process. So nobody is accused for
//! one look: only who was no thread of such a process *before* an event began, as is known when
//! the event was not there yet at a later look, cannot have written it.

use crate::proc::namespace;
use crate::proc::process;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// For so long what is known of an id holds: the kernel does not come round to it sooner.
const HOLDS: Duration = Duration::from_millis(20);
/// No kernel gives out larger ids (`PID_MAX_LIMIT`).
pub const LARGEST_TID: u64 = 1 << 22;

/// The threads that wrote, and the processes that attached.
#[derive(Debug, Default)]
pub struct Threads {
    /// Number of the file that is the memory.
    inode: u64,
    /// Processes that connected or were seen to map the memory.
    pub attached: BTreeSet<u32>,
    known: HashMap<u64, Known>,
    /// Some process has thread ids that are others for us.
    is_separate: bool,
    /// The processes whose threads wrote to each station, in each use of it.
    owners: BTreeMap<(usize, u32), BTreeSet<u32>>,
    /// A station of two processes.
    pub shared: Option<String>,
    /// An event of a thread that is none of those.
    pub stranger: Option<String>,
}

/// An event, as seen in a look at its station.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The station.
    pub station: usize,
    /// The event.
    pub n: u64,
    /// The use of the station that it belongs to; 0 of a v1 peer.
    pub generation: u32,
    /// Its thread.
    pub tid: u64,
    /// When the look before began, at which it was not there. Nothing if it was.
    pub absent_at: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Known {
    owner_state: OwnerState,
    at: Instant,
}

#[derive(Clone, Debug)]
enum OwnerState {
    /// Of this process, which attached.
    Member(u32),
    /// Of none of them, and why.
    Stranger(String),
    /// It cannot be told.
    Unknown,
}

impl Threads {
    /// Nobody has written yet to the memory with this number.
    pub fn of(inode: u64) -> Self {
        Threads {
            inode,
            ..Threads::default()
        }
    }

    /// This process has attached.
    pub fn attach(&mut self, pid: u32) {
        if self.attached.insert(pid) {
            self.is_separate |= namespace::has_own_ids(pid);
        }
    }

    /// Did any thread write of which it is known whose it is?
    pub fn are_known(&self) -> bool {
        !self.owners.is_empty()
    }

    /// This thread wrote this event.
    pub fn note(&mut self, seen: &Seen) {
        if !(1..=LARGEST_TID).contains(&seen.tid) {
            return;
        }
        if let OwnerState::Member(process) = self.owner_state(seen) {
            self.note_owner(seen, process);
        }
    }

    fn owner_state(&mut self, seen: &Seen) -> OwnerState {
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

    fn accuse(&mut self, seen: &Seen, why: &str) {
        let Seen {
            station, n, tid, ..
        } = seen;
        // One that did not connect may be in a namespace of its own.
        let others = namespace::holders(self.inode);
        self.is_separate |= others.into_iter().any(namespace::has_own_ids);
        if !self.is_separate {
            self.stranger
                .get_or_insert(format!("station {station}: event {n} has tid {tid}, {why}"));
        }
    }

    fn note_owner(&mut self, seen: &Seen, process: u32) {
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
    /// Is it worth another look?
    fn is_doubtful(&self) -> bool {
        match self.owner_state {
            OwnerState::Member(_) => self.at.elapsed() > HOLDS,
            OwnerState::Stranger(_) => true,
            OwnerState::Unknown => false,
        }
    }

    /// Was this known of its thread before the event began, and not too long before?
    fn precedes(&self, seen: &Seen) -> bool {
        matches!(self.owner_state, OwnerState::Stranger(_))
            && seen.absent_at.is_some_and(|absent| self.at <= absent)
            && self.at.elapsed() <= HOLDS
    }
}
