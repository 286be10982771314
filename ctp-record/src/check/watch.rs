//! Looks at the memory, rings of the bell and descriptors, often, until the program ends.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::request::REQUEST;
use ctp_nostd::{Region, doorbell};
use ctp_trace::record::Ending;
use rustix::io::read;

use super::look::Look;
use super::rules::{Judged, Pair, RULES, Scope};
use super::world::World;
use crate::clock::monotonic_ns;
use crate::launch::Running;
use crate::rendezvous::{self, Rendezvous};
use crate::signals::Signals;
use crate::wait;

/// Between two looks.
const PAUSE: Duration = Duration::from_micros(200);
/// Looks for which the bell stays off after it rang, so that one rung without need is noticed.
const AWAKE_LOOKS: u32 = 10;
/// Looks between two at the descriptors.
const DESCRIPTORS_EVERY: u32 = 16;

/// Everything that is watched, and what was judged so far: a verdict with its station for each rule.
#[derive(Debug)]
pub struct Watch<'w> {
    region: Region<'w>,
    rendezvous: &'w Rendezvous,
    memory: String,
    looks: u32,
    started_ns: u64,
    latest: Vec<Look>,
    world: World,
    judged: Vec<(Judged, Option<usize>)>,
    sockets: Vec<OwnedFd>,
    /// Connections of each process.
    calls: HashMap<u32, usize>,
    armed: bool,
    awake: u32,
    /// The newest event of each station when the bell was armed.
    at_arming: HashMap<usize, u64>,
}

impl<'w> Watch<'w> {
    /// Of this memory and this socket.
    pub fn new(
        region: Region<'w>,
        rendezvous: &'w Rendezvous,
        memory: String,
        started_ns: u64,
    ) -> Self {
        let world = World::of(region.stations.len() as u32);
        Watch {
            region,
            rendezvous,
            memory,
            looks: 0,
            started_ns,
            latest: Vec::new(),
            world,
            judged: vec![(Judged::NotSeen, None); RULES.len()],
            sockets: Vec::new(),
            calls: HashMap::new(),
            armed: false,
            awake: 0,
            at_arming: HashMap::new(),
        }
    }

    /// Looks until the program has ended or a second signal comes, then once more, and gives all
    /// verdicts.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub fn until_the_end(
        mut self,
        mut running: Running,
        mut signals: Signals,
    ) -> io::Result<Vec<(Judged, Option<usize>)>> {
        self.calls.insert(running.pid(), 0);
        let mut asked = false;
        let ended = loop {
            let ended = running.ended()?;
            self.look();
            if let Some(ended) = ended {
                break ended.ending();
            }
            for arrived in signals.arrived() {
                if std::mem::replace(&mut asked, true) {
                    self.judge_world();
                    return Ok(self.judged);
                }
                if arrived.to_us_alone
                    && let Some(signal) = arrived.signal()
                {
                    running.signal(signal);
                }
            }
            sleep(PAUSE);
        };
        self.world.killed = matches!(ended, Ending::Signalled(_));
        self.let_in();
        self.look();
        self.judge_world();
        Ok(self.judged)
    }

    fn look(&mut self) {
        self.let_in();
        self.note_claims();
        self.look_at_stations();
        self.look_at_bell();
        self.listen();
        self.looks += 1;
        if self.looks.is_multiple_of(DESCRIPTORS_EVERY) {
            for (&pid, &calls) in &self.calls {
                self.world.look_at_descriptors(pid, &self.memory, calls);
            }
        }
    }

    fn let_in(&mut self) {
        while let Some(caller) = self.rendezvous.accept() {
            self.sockets.extend(caller.socket);
            self.world.connected += 1;
            if let Some(pid) = caller.pid {
                *self.calls.entry(pid).or_default() += 1;
            }
        }
    }

    fn note_claims(&mut self) {
        let claimed = self.region.claimed();
        self.world.most_claimed = self.world.most_claimed.max(claimed);
        self.world.stations = self.region.allocated().len();
    }

    fn look_at_stations(&mut self) {
        for (index, station) in self.region.allocated().iter().enumerate() {
            let now = Look::at(station, monotonic_ns);
            // After the look: a process attaches before its first coroutine is born.
            let rows = self.region.attaches.iter();
            let attached = rows.take_while(|row| row.pid().is_some()).count();
            let pair = Pair {
                before: self.latest.get(index),
                now: &now,
                started_ns: self.started_ns,
                attached,
                sites: self.region.sites,
            };
            judge_station(&mut self.judged, &pair, index);
            self.world.note_id(index, now.raw.probe_id);
            for (_, epoch) in &now.events {
                self.world.note_thread(index, epoch.tid);
            }
            match self.latest.get_mut(index) {
                Some(latest) => *latest = now,
                None => self.latest.push(now),
            }
        }
    }

    /// The bell: armed until somebody takes it, then off for a while.
    fn look_at_bell(&mut self) {
        let bell = self.region.header.tracer_sleeping();
        if self.armed && bell.load(std::sync::atomic::Ordering::Acquire) == 0 {
            self.armed = false;
            self.awake = 0;
            self.world.taken += 1;
        } else if self.armed {
            self.note_unrung();
        } else {
            self.awake += 1;
            if self.awake >= AWAKE_LOOKS {
                self.arm();
            }
        }
    }

    fn arm(&mut self) {
        doorbell::arm(self.region.header.tracer_sleeping());
        wait::order();
        self.armed = true;
        let stations = self.region.allocated().iter().enumerate();
        let newest = stations.filter_map(|(index, station)| {
            let newest = Look::at(station, monotonic_ns).newest()?;
            Some((index, newest))
        });
        self.at_arming = newest.collect();
    }

    /// Two events later the flag must be gone: the first of them came after it was set, and its
    /// writer looked at the flag before the second.
    fn note_unrung(&mut self) {
        for (index, look) in self.latest.iter().enumerate() {
            let (Some(was), Some(is)) = (self.at_arming.get(&index), look.newest()) else {
                continue;
            };
            if is >= was.saturating_add(3) {
                self.world.unrung.get_or_insert(format!(
                    "station {index}: the flag was set after event {was}, and still was at event {is}"
                ));
            }
        }
    }

    fn listen(&mut self) {
        let mut bytes = [0; 64];
        for socket in &self.sockets {
            while let Ok(count @ 1..) = read(socket, &mut bytes) {
                self.world.bytes += rings_in(&bytes[..count]);
                if bytes.starts_with(&REQUEST) {
                    // All of them are to be seen in one memory. Who hung up needs no answer.
                    let _ = rendezvous::answer(socket, None);
                }
            }
        }
    }

    fn judge_world(&mut self) {
        for (rule, judged) in RULES.iter().zip(&mut self.judged) {
            if let Scope::World(judge) = rule.scope {
                *judged = (judge(&self.world), None);
            }
        }
    }
}

/// A request for memory is no ring.
fn rings_in(bytes: &[u8]) -> u64 {
    bytes.strip_prefix(&REQUEST).unwrap_or(bytes).len() as u64
}

/// The first proof stays; what was kept once is no longer unseen.
fn judge_station(judged: &mut [(Judged, Option<usize>)], pair: &Pair<'_>, index: usize) {
    for (rule, so_far) in RULES.iter().zip(judged) {
        let (Scope::Station(judge), Judged::NotSeen | Judged::Kept) = (rule.scope, &so_far.0)
        else {
            continue;
        };
        match judge(pair) {
            Judged::NotSeen => {}
            now => *so_far = (now, Some(index)),
        }
    }
}
