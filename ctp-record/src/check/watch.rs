//! Observes the memory, the rings and the descriptors in short rounds until the program ends.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ctp_nostd::Region;
use ctp_nostd::request::REQUEST;
use ctp_trace::record::ExitReason;
use rustix::io::read;

use super::rules::{RULES, ReadingPair, RuleFunction, RuleVerdict};
use super::station_reading::StationReading;
use super::world::World;
use crate::connect::rendezvous::{self, Rendezvous};
use crate::launch::Running;
use crate::launch::signals::Signals;
use crate::memory::clock::monotonic_ns;
use crate::proc::namespace;
use crate::proc::time_namespace;

/// Pause between two rounds.
const PAUSE: Duration = Duration::from_micros(200);
/// Rounds between two checks of the descriptors.
const DESCRIPTORS_EVERY: u32 = 16;

/// The memory file.
#[derive(Clone, Debug)]
pub struct File {
    /// The link target of its descriptors.
    pub path: String,
    /// Its inode.
    pub inode: u64,
}

/// The latest reading of a station.
#[derive(Debug)]
pub struct LatestReading {
    /// The content of the reading.
    pub reading: StationReading,
    /// When the reading began.
    pub began: Instant,
    /// The numbers of the station decreased once, so they are no longer reliable.
    is_jumbled: bool,
}

/// All observations, and a verdict with its station for each rule.
#[derive(Debug)]
pub struct ProtocolWatch<'w> {
    region: Region<'w>,
    rendezvous: &'w Rendezvous,
    memory: File,
    readings: u32,
    started_ns: u64,
    /// The nanoseconds by which the program's clock is ahead, if known.
    ahead_ns: Option<i64>,
    latest: Vec<LatestReading>,
    /// For each station that was handed back: its generation at that time.
    handed_back: HashMap<usize, u32>,
    world: World,
    judged: Vec<(RuleVerdict, Option<usize>)>,
    sockets: Vec<OwnedFd>,
    /// Connections of each process.
    calls: HashMap<u32, usize>,
}

impl<'w> ProtocolWatch<'w> {
    /// Creates a watch of this memory and this socket.
    pub fn new(
        region: Region<'w>,
        rendezvous: &'w Rendezvous,
        memory: File,
        started_ns: u64,
    ) -> Self {
        let world = World::of(region.stations.len() as u32, memory.inode);
        ProtocolWatch {
            region,
            rendezvous,
            memory,
            readings: 0,
            started_ns,
            ahead_ns: None,
            latest: Vec::new(),
            handed_back: HashMap::new(),
            world,
            judged: vec![(RuleVerdict::NotSeen, None); RULES.len()],
            sockets: Vec::new(),
            calls: HashMap::new(),
        }
    }

    /// Runs rounds until the program has ended or a second signal arrives, then a final round. Returns all verdicts.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub fn run_until_end(
        mut self,
        mut running: Running,
        mut signals: Signals,
    ) -> io::Result<Vec<(RuleVerdict, Option<usize>)>> {
        self.calls.insert(running.pid(), 0);
        let mut requested = false;
        let ended = loop {
            let ended = running.ended()?;
            self.read_all();
            if let Some(ended) = ended {
                break ended.exit_reason();
            }
            for arrived in signals.arrived() {
                if arrived.ends_the_recording() || std::mem::replace(&mut requested, true) {
                    self.judge_world();
                    return Ok(self.judged);
                }
                if arrived.is_for_recorder_only
                    && let Some(signal) = arrived.signal()
                {
                    running.signal(signal);
                }
            }
            sleep(PAUSE);
        };
        self.world.was_killed = matches!(ended, ExitReason::Signalled(_));
        self.accept_connections();
        self.read_all();
        self.judge_world();
        Ok(self.judged)
    }

    fn read_all(&mut self) {
        self.accept_connections();
        self.world.most_claimed = self.world.most_claimed.max(self.region.claimed());
        self.world.stations = self.region.allocated().len();
        self.read_stations();
        self.world.doorbell.check(&self.region, &self.latest);
        self.read_messages();
        let attached = &self.world.threads.attached;
        self.world.unfinished.check_threads(attached);
        self.readings += 1;
        if self.readings.is_multiple_of(DESCRIPTORS_EVERY) {
            self.check_processes();
        }
    }

    fn check_processes(&mut self) {
        for (&pid, &calls) in &self.calls {
            self.world.check_descriptors(pid, &self.memory.path, calls);
            self.world.has_mapped_memory |=
                namespace::has_mapped(pid, self.memory.inode) == Some(true);
        }
    }

    fn accept_connections(&mut self) {
        while let Some(caller) = self.rendezvous.accept() {
            self.sockets.extend(caller.socket);
            self.world.connected += 1;
            if let Some(pid) = caller.pid {
                *self.calls.entry(pid).or_default() += 1;
                self.world.threads.attach(pid);
            }
        }
    }

    fn read_stations(&mut self) {
        for (index, station) in self.region.allocated().iter().enumerate() {
            let began = Instant::now();
            let now = StationReading::at(station, monotonic_ns);
            let before = self.latest.get(index);
            self.ahead_ns = self.ahead_ns.or_else(|| clock_of_writer(&now));
            let times = (self.started_ns, self.ahead_ns.unwrap_or(0));
            let pair = pair_of(&self.region, before, &now, times);
            judge_station(&mut self.judged, &pair, index);
            self.world.note(index, before, &now);
            self.world.note_entries(&self.region, &now);
            let latest = LatestReading {
                is_jumbled: pair.is_jumbled,
                reading: now,
                began,
            };
            self.hand_back(index, &latest.reading);
            match self.latest.get_mut(index) {
                Some(before) => *before = latest,
                None => self.latest.push(latest),
            }
        }
    }

    /// Hands the station of a dead coroutine back for reuse, once per generation.
    fn hand_back(&mut self, index: usize, reading: &StationReading) {
        let Some((owner, next_n)) = reading.left() else {
            return;
        };
        if self.handed_back.insert(index, owner) != Some(owner) {
            self.region.put_back(index as u32, next_n);
        }
    }

    /// Counts the rings at all connections, and denies requests for memory.
    fn read_messages(&mut self) {
        let mut bytes = [0; 64];
        for socket in &self.sockets {
            while let Ok(count @ 1..) = read(socket, &mut bytes) {
                // A request for memory is not a ring.
                let rings = bytes[..count].strip_prefix(&REQUEST);
                self.world.doorbell.bytes += rings.unwrap_or(&bytes[..count]).len() as u64;
                if bytes.starts_with(&REQUEST) {
                    // All processes share a single memory here. Fails if the process hung up.
                    let _ = rendezvous::answer(socket, None);
                }
            }
        }
    }

    fn judge_world(&mut self) {
        for (rule, judged) in RULES.iter().zip(&mut self.judged) {
            if let RuleFunction::World(judge) = rule.function {
                *judged = (judge(&self.world), None);
            }
        }
    }
}

/// The nanoseconds by which the clock of the latest event's thread is ahead, while the thread exists.
fn clock_of_writer(reading: &StationReading) -> Option<i64> {
    let (_, latest) = reading.events.last()?;
    time_namespace::ahead_ns(u32::try_from(latest.tid).ok()?)
}

/// Combines two readings. The attached processes are counted after the later reading: every process with a coroutine in
/// the reading has attached by then.
fn pair_of<'p>(
    region: &Region<'p>,
    before: Option<&'p LatestReading>,
    now: &'p StationReading,
    (started_ns, ahead_ns): (u64, i64),
) -> ReadingPair<'p> {
    let rows = region.attaches.iter();
    let mut pair = ReadingPair {
        before: before.map(|latest| &latest.reading),
        now,
        is_jumbled: before.is_some_and(|latest| latest.is_jumbled),
        started_ns,
        ahead_ns,
        attached: rows.take_while(|row| row.pid().is_some()).count(),
        region: *region,
    };
    pair.is_jumbled |= pair.went_back();
    pair
}

/// Updates the verdicts of a station's rules. The first proof stays.
fn judge_station(
    judged: &mut [(RuleVerdict, Option<usize>)],
    pair: &ReadingPair<'_>,
    index: usize,
) {
    for (rule, so_far) in RULES.iter().zip(judged) {
        let (RuleFunction::Station(judge), RuleVerdict::NotSeen | RuleVerdict::Kept) =
            (rule.function, &so_far.0)
        else {
            continue;
        };
        match judge(pair) {
            RuleVerdict::NotSeen => {}
            now => *so_far = (now, Some(index)),
        }
    }
}
