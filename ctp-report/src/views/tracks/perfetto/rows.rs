//! The rows of the viewer: a group for each process, in it a group of coroutines, and the threads.

use ctp_trace::hash::Map;
use ctp_trace::record::ProcessId;

use crate::output::protobuf::Message;
use crate::views::tracks::perfetto::packets::Packets;
use crate::views::tracks::sink::{Track, TracksOfProcess};

/// Fields of a `TrackDescriptor`.
const UUID: u64 = 1;
const NAME: u64 = 2;
const PROCESS: u64 = 3;
const THREAD: u64 = 4;
const PARENT_UUID: u64 = 5;
const CHILD_ORDERING: u64 = 11;
const SIBLING_ORDER_RANK: u64 = 12;
const SIBLING_MERGE_BEHAVIOR: u64 = 15;

/// Values of `child_ordering` and `sibling_merge_behavior`.
const EXPLICIT: u64 = 3;
const NEVER_MERGED: u64 = 2;

/// Field of both a `ProcessDescriptor` and a `ThreadDescriptor`.
const PID: u64 = 1;
/// Further field of a `ProcessDescriptor`.
const PROCESS_NAME: u64 = 6;
/// Further fields of a `ThreadDescriptor`.
const TID: u64 = 2;
const THREAD_NAME: u64 = 5;

/// The ranks of stuck coroutines are below this, those of others not.
const RANK_OF_OTHERS: u64 = 1 << 30;

/// Numbers the tracks, and describes each when it is first used.
#[derive(Debug, Default)]
pub struct Rows {
    latest: u64,
    tracks: Map<Track, u64>,
    /// The group of coroutines of each process.
    groups: Map<ProcessId, u64>,
}

impl Rows {
    /// Describes a process and its group of coroutines.
    pub fn process(&mut self, process: &TracksOfProcess, packets: &mut Packets<'_>) {
        let mut descriptor = self.next();
        let parent = self.latest;
        let mut about = Message::default();
        about.number(PID, process.pid.max(1).into());
        about.text(PROCESS_NAME, &process.program);
        descriptor.message(PROCESS, &about);
        packets.track(&descriptor);
        let mut group = self.next();
        group.number(PARENT_UUID, parent);
        group.text(NAME, "coroutines");
        group.number(CHILD_ORDERING, EXPLICIT);
        group.number(SIBLING_MERGE_BEHAVIOR, NEVER_MERGED);
        packets.track(&group);
        self.groups.insert(process.id, self.latest);
    }

    /// Describes a coroutine. Bad coroutines come first, then all others by number.
    pub fn coroutine(&mut self, track: Track, name: &str, is_bad: bool, packets: &mut Packets<'_>) {
        let Track::Coroutine(process, id) = track else {
            return;
        };
        let mut descriptor = self.next();
        if let Some(group) = self.groups.get(&process) {
            descriptor.number(PARENT_UUID, *group);
        }
        descriptor.text(NAME, name);
        let number = u64::from(id.0).min(RANK_OF_OTHERS - 1);
        let rank = if is_bad { 0 } else { RANK_OF_OTHERS };
        descriptor.number(SIBLING_ORDER_RANK, rank + number);
        packets.track(&descriptor);
        self.tracks.insert(track, self.latest);
    }

    /// The number of a track.
    pub fn number(&mut self, track: Track, packets: &mut Packets<'_>) -> u64 {
        if let Some(number) = self.tracks.get(&track) {
            return *number;
        }
        match track {
            Track::Coroutine(_, id) => {
                self.coroutine(track, &format!("id {}", id.0), false, packets);
            }
            Track::Thread { pid, tid, .. } => self.thread(track, (pid, tid), packets),
        }
        self.latest
    }

    fn thread(&mut self, track: Track, (pid, tid): (u32, u64), packets: &mut Packets<'_>) {
        let mut about = Message::default();
        about.number(PID, pid.max(1).into());
        about.number(TID, tid.max(1));
        about.text(THREAD_NAME, "thread");
        let mut descriptor = self.next();
        descriptor.message(THREAD, &about);
        packets.track(&descriptor);
        self.tracks.insert(track, self.latest);
    }

    /// The description of a new track.
    fn next(&mut self) -> Message {
        self.latest += 1;
        let mut descriptor = Message::default();
        descriptor.number(UUID, self.latest);
        descriptor
    }
}
