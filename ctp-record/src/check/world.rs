//! Observations of the program as a whole: claims, processes, descriptors, the doorbell.

use std::collections::HashMap;

use ctp_nostd::Region;

use super::doorbell::Doorbell;
use super::station_reading::StationReading;
use super::threads::{SeenEvent, WriterThreads};
use super::unfinished::{UnfinishedWrites, WriteLocation};
use super::watch::LatestReading;
use crate::proc::{descriptor, unix_sockets};

/// Counts and first proofs.
#[derive(Debug, Default)]
pub struct World {
    /// Stations in the memory.
    pub max: u32,
    /// Stations used.
    pub stations: usize,
    /// Largest `allocated_count`.
    pub most_claimed: u32,
    /// Processes that connected.
    pub connected: usize,
    /// Descriptors of the memory or the socket that were checked.
    pub descriptors: usize,
    /// Proof of a descriptor that exec would pass on.
    pub inheritable: Option<String>,
    /// Proof of two stations with the same id.
    pub twice: Option<String>,
    /// The threads that wrote.
    pub threads: WriterThreads,
    /// Writes that were begun and never completed.
    pub unfinished: UnfinishedWrites,
    /// Some process was seen to map the memory.
    pub has_mapped_memory: bool,
    /// The doorbell.
    pub doorbell: Doorbell,
    /// A signal ended the program, possibly between taking the flag and sending the byte.
    pub was_killed: bool,
    ids: HashMap<u64, (usize, u32)>,
}

impl World {
    /// Starts without observations, for a memory with this number of stations and this inode.
    pub fn of(max: u32, inode: u64) -> Self {
        World {
            max,
            threads: WriterThreads::of(inode),
            unfinished: UnfinishedWrites::of(inode),
            ..World::default()
        }
    }

    /// Notes a reading of a station, with the reading before.
    pub fn note(&mut self, station: usize, before: Option<&LatestReading>, now: &StationReading) {
        if let Some(owner) = &now.identity {
            self.note_id(station, owner.generation, owner.probe_id);
        }
        let reading_before = before.map(|latest| &latest.reading);
        self.unfinished.note(station, reading_before, now);
        for (n, epoch) in &now.events {
            let absent = before.filter(|latest| !latest.reading.has(*n));
            self.threads.note(&SeenEvent {
                station,
                n: *n,
                generation: epoch.generation,
                tid: epoch.tid,
                absent_at: absent.map(|latest| latest.began),
            });
        }
    }

    /// Notes the claimed entries of the station's sites and name.
    pub fn note_entries(&mut self, region: &Region<'_>, now: &StationReading) {
        let sites = now
            .sites()
            .map(|(_, id)| (WriteLocation::Site(id), region.entry_of_site(id)));
        let name = now
            .name()
            .map(|id| (WriteLocation::Name(id), region.names.get(id as usize - 1)));
        for (place, entry) in sites.chain(name) {
            if let Some(entry) = entry.filter(|entry| entry.is_claimed()) {
                self.unfinished.note_entry(place, entry);
            }
        }
    }

    /// Notes the id of a coroutine.
    fn note_id(&mut self, station: usize, generation: u32, id: u64) {
        if id == 0 {
            return;
        }
        let first = *self.ids.entry(id).or_insert((station, generation));
        if first != (station, generation) {
            let first = first.0;
            self.twice.get_or_insert(format!(
                "coroutines of stations {first} and {station} have id {id:#x}"
            ));
        }
    }

    /// Checks the process's descriptors of the memory or the socket. If the process has more sockets that may be
    /// connections to the recorder than it made connections, the right ones cannot be identified, and sockets are not
    /// checked.
    pub fn check_descriptors(&mut self, pid: u32, memory: &str, connections: usize) {
        let all = descriptor::all_of(pid);
        let sockets = all.iter().filter(|(_, target)| may_be_ours(pid, target));
        let mut sockets: Vec<_> = sockets.collect();
        if sockets.len() > connections {
            sockets.clear();
        }
        let memory = all.iter().filter(|(_, target)| target == memory);
        let mut seen = 0;
        for (number, target) in memory.chain(sockets) {
            seen += 1;
            if descriptor::is_inherited(pid, number) == Some(true) {
                self.inheritable.get_or_insert(format!(
                    "process {pid}: descriptor {number} ({target}) lacks FD_CLOEXEC"
                ));
            }
        }
        self.descriptors = self.descriptors.max(seen);
    }
}

/// Whether the descriptor may be a connection to the recorder: the program's end of a connection is a connected stream
/// socket without a name.
fn may_be_ours(pid: u32, target: &str) -> bool {
    let rest = target.strip_prefix("socket:[");
    let inode = rest.and_then(|rest| rest.strip_suffix(']'));
    inode.is_some_and(|inode| unix_sockets::is_nameless_stream(pid, inode))
}
