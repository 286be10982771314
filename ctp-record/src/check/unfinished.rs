//! Finds writes that were begun and never completed, although no thread is writing. During a write, the sequence number
//! of an event or the generation of a station's identity is odd, and an entry in use is not ready.
//!
//! A busy machine may delay a writer, but a writer does not sleep during a write. When every thread has been seen
//! asleep or has ended, no thread is writing.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use ctp_nostd::dialect::Dialect;
use ctp_nostd::layout::Interned;

use super::rules::RuleVerdict::{self, Broken, Kept, NotSeen};
use super::station_reading::StationReading;
use crate::proc::namespace;
use crate::proc::process;

/// An incomplete write is ignored for this time.
const TIMEOUT: Duration = Duration::from_millis(100);
/// Rounds between two checks of the threads.
const THREADS_EVERY: u32 = 16;

/// The incomplete writes and the verdicts.
#[derive(Debug, Default)]
pub struct UnfinishedWrites {
    inode: u64,
    suspects: HashMap<WriteLocation, UnfinishedWrite>,
    readings: u32,
    /// The verdict on events.
    pub events: RuleVerdict,
    /// The verdict on identities.
    pub identities: RuleVerdict,
    /// The verdict on entries of sites and names.
    pub entries: RuleVerdict,
}

/// The location of an incomplete write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteLocation {
    /// The station with this index.
    Station(usize),
    /// The entry of the site with this id.
    Site(u32),
    /// The entry of the name with this id.
    Name(u32),
}

impl fmt::Display for WriteLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteLocation::Station(index) => write!(out, "station {index}"),
            WriteLocation::Site(id) => write!(out, "site {id}"),
            WriteLocation::Name(id) => write!(out, "name {id}"),
        }
    }
}

#[derive(Debug)]
struct UnfinishedWrite {
    odd: Odd,
    since: Instant,
    /// Threads that may be writing.
    awake: Option<BTreeSet<(u32, u32)>>,
    /// When all of these threads had been seen asleep.
    quiet_since: Option<Instant>,
    /// The write is abandoned: no thread is writing, and the program went on.
    is_left: bool,
}

/// The word that shows the incomplete write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    /// The sequence number of the newest event, in this slot.
    Seq(usize, u64),
    Generation(u32),
    /// The ready word of an entry.
    Ready,
}

impl UnfinishedWrites {
    /// Starts without observations, for the memory with this inode.
    pub fn of(inode: u64) -> Self {
        UnfinishedWrites {
            inode,
            ..UnfinishedWrites::default()
        }
    }

    /// Notes a reading of a station.
    pub fn note(&mut self, station: usize, before: Option<&StationReading>, now: &StationReading) {
        see(&mut self.events, now.dialect.is_some());
        let is_occupied = now.is_extended() && now.identity.is_some();
        see(&mut self.identities, is_occupied);
        let odd = odd_of(now);
        let place = WriteLocation::Station(station);
        let is_left = self.is_left(place, odd);
        let goes_on = before.is_some_and(|before| odd_of(before) == odd && before.seqs != now.seqs);
        match odd {
            Some(Odd::Seq(slot, seq)) if is_left => accuse(
                &mut self.events,
                &format!("{place}: slot {slot}: seq stays {seq}, and no thread is writing"),
            ),
            Some(Odd::Generation(generation)) if is_left || goes_on => accuse(
                &mut self.identities,
                &format!("{place}: generation stays {generation}"),
            ),
            _ => {}
        }
    }

    /// Notes an entry in use.
    pub fn note_entry(&mut self, place: WriteLocation, entry: &Interned) {
        let is_ready = entry.is_ready();
        see(&mut self.entries, is_ready);
        if self.is_left(place, (!is_ready).then_some(Odd::Ready)) {
            accuse(
                &mut self.entries,
                &format!("{place} is in use, and its ready stays 0"),
            );
        }
    }

    /// Whether the write at this place has been incomplete for longer than `TIMEOUT` while no thread was writing.
    fn is_left(&mut self, place: WriteLocation, odd: Option<Odd>) -> bool {
        let Some(odd) = odd else {
            self.suspects.remove(&place);
            return false;
        };
        let suspect = self
            .suspects
            .entry(place)
            .or_insert(UnfinishedWrite::new(odd));
        if suspect.odd != odd {
            *suspect = UnfinishedWrite::new(odd);
        }
        suspect.is_left
    }

    /// Checks the threads every `THREADS_EVERY` rounds, if there are suspects. If an attached process has ended, it may
    /// have been killed in the middle of a write, which is no fault.
    pub fn check_threads(&mut self, attached: &BTreeSet<u32>) {
        self.readings += 1;
        if !self.readings.is_multiple_of(THREADS_EVERY) {
            return;
        }
        let suspects = self.suspects.values_mut();
        let late = suspects.filter(|suspect| TIMEOUT < suspect.since.elapsed());
        let mut late: Vec<_> = late.collect();
        if late.is_empty() || !attached.iter().all(|pid| process::is_alive(*pid)) {
            return;
        }
        let all = if late.iter().any(|suspect| suspect.awake.is_none()) {
            threads_with(self.inode)
        } else {
            BTreeSet::new()
        };
        for suspect in &mut late {
            suspect.check_threads(&all);
        }
    }
}

impl UnfinishedWrite {
    fn new(odd: Odd) -> Self {
        UnfinishedWrite {
            odd,
            since: Instant::now(),
            awake: None,
            quiet_since: None,
            is_left: false,
        }
    }

    /// Checks the threads. Waits for a while after all are asleep or have ended: a thread may have ended together with
    /// its program, and the end of the program is visible only later.
    fn check_threads(&mut self, all: &BTreeSet<(u32, u32)>) {
        if self.awake.is_none() && all.is_empty() {
            return;
        }
        let awake = self.awake.get_or_insert_with(|| all.clone());
        awake.retain(|thread| process::is_asleep(*thread) == Some(false));
        if awake.is_empty() {
            let since = *self.quiet_since.get_or_insert_with(Instant::now);
            self.is_left = since.elapsed() > TIMEOUT;
        }
    }
}

/// All threads of the processes that map the memory.
fn threads_with(inode: u64) -> BTreeSet<(u32, u32)> {
    let holders = namespace::holders(inode).into_iter();
    holders.flat_map(process::threads_of).collect()
}

fn odd_of(reading: &StationReading) -> Option<Odd> {
    let generation = reading.raw.generation;
    // In a station with events but without the extension, these bytes are free and hold no generation.
    if generation % 2 == 1 && (reading.is_extended() || reading.dialect.is_none()) {
        return Some(Odd::Generation(generation));
    }
    let newest = reading
        .newest()
        .filter(|_| reading.dialect == Some(Dialect::PerSlot))?;
    let slot = ctp_nostd::slot::index_of(newest);
    let seq = reading.seqs[slot];
    (seq % 2 == 1).then_some(Odd::Seq(slot, seq))
}

fn see(judged: &mut RuleVerdict, was_seen: bool) {
    if was_seen && *judged == NotSeen {
        *judged = Kept;
    }
}

fn accuse(judged: &mut RuleVerdict, proof: &str) {
    if !matches!(judged, Broken(_)) {
        *judged = Broken(proof.to_owned());
    }
}
