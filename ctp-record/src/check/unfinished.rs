//! What somebody began to write and never ended: an event or the identity of a station that
//! stays odd, an entry that is never ready, although no thread is at it any more.
//!
//! A writer may be held up for as long as the machine is busy, but it does not sleep in between.
//! So once each thread that there was has been seen asleep, or is gone, nobody is writing.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use ctp_nostd::dialect::Dialect;
use ctp_nostd::layout::Interned;

use super::look::Look;
use super::rules::Judged::{self, Broken, Kept, NotSeen};
use crate::proc::namespace;
use crate::proc::process;

/// For so long nobody is suspected.
const TIMEOUT: Duration = Duration::from_millis(100);
/// Looks between two at the threads.
const THREADS_EVERY: u32 = 16;

/// What is not whole, and what follows.
#[derive(Debug, Default)]
pub struct Unfinished {
    inode: u64,
    suspects: HashMap<Place, Suspect>,
    looks: u32,
    /// Of events.
    pub events: Judged,
    /// Of identities.
    pub identities: Judged,
    /// Of sites and names.
    pub entries: Judged,
}

/// Where something is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the station with this index.
    Station(usize),
    /// In the entry of a site with this id.
    Site(u32),
    /// In that of a name.
    Name(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Station(index) => write!(out, "station {index}"),
            Place::Site(id) => write!(out, "site {id}"),
            Place::Name(id) => write!(out, "name {id}"),
        }
    }
}

#[derive(Debug)]
struct Suspect {
    odd: Odd,
    since: Instant,
    /// Threads that may be at it.
    awake: Option<BTreeSet<(u32, u32)>>,
    /// Since when there is none.
    quiet_since: Option<Instant>,
    /// There was none, and the program went on.
    is_left: bool,
}

/// The word that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    /// Of the newest event, which is in this slot.
    Seq(usize, u64),
    Generation(u32),
    /// Of an entry.
    Ready,
}

impl Unfinished {
    /// Nothing seen yet of the memory with this number.
    pub fn of(inode: u64) -> Self {
        Unfinished {
            inode,
            ..Unfinished::default()
        }
    }

    /// This is what a station looks like now.
    pub fn note(&mut self, station: usize, before: Option<&Look>, now: &Look) {
        see(&mut self.events, now.dialect.is_some());
        let is_occupied = now.extended() && now.identity.is_some();
        see(&mut self.identities, is_occupied);
        let odd = odd_of(now);
        let place = Place::Station(station);
        let is_left = self.is_left(place, odd);
        let goes_on = before.is_some_and(|before| odd_of(before) == odd && before.seqs != now.seqs);
        match odd {
            Some(Odd::Seq(slot, seq)) if is_left => accuse(
                &mut self.events,
                &format!("{place}: slot {slot}: seq stays {seq}, and nobody is writing"),
            ),
            Some(Odd::Generation(generation)) if is_left || goes_on => accuse(
                &mut self.identities,
                &format!("{place}: generation stays {generation}"),
            ),
            _ => {}
        }
    }

    /// Somebody uses this entry.
    pub fn note_entry(&mut self, place: Place, entry: &Interned) {
        let is_ready = entry.is_ready();
        see(&mut self.entries, is_ready);
        if self.is_left(place, (!is_ready).then_some(Odd::Ready)) {
            accuse(
                &mut self.entries,
                &format!("{place} is in use, and its ready stays 0"),
            );
        }
    }

    /// Has it been so for long, and is nobody at it?
    fn is_left(&mut self, place: Place, odd: Option<Odd>) -> bool {
        let Some(odd) = odd else {
            self.suspects.remove(&place);
            return false;
        };
        let suspect = self.suspects.entry(place).or_insert(Suspect::new(odd));
        if suspect.odd != odd {
            *suspect = Suspect::new(odd);
        }
        suspect.is_left
    }

    /// Looks at the threads, now and then, if somebody is suspected. Where one of those that
    /// attached is gone, it may have been killed in the middle, which is nobody's fault.
    pub fn look_at_threads(&mut self, attached: &BTreeSet<u32>) {
        self.looks += 1;
        if !self.looks.is_multiple_of(THREADS_EVERY) {
            return;
        }
        let is_late = |suspect: &&mut Suspect| suspect.since.elapsed() > TIMEOUT;
        let mut late: Vec<_> = self.suspects.values_mut().filter(is_late).collect();
        if late.is_empty() || !attached.iter().all(|pid| process::is_alive(*pid)) {
            return;
        }
        let is_new = |suspect: &&mut Suspect| suspect.awake.is_none();
        let all = match late.iter().any(is_new) {
            true => threads_with(self.inode),
            false => BTreeSet::new(),
        };
        for suspect in &mut late {
            suspect.look_at(&all);
        }
    }
}

impl Suspect {
    fn new(odd: Odd) -> Self {
        Suspect {
            odd,
            since: Instant::now(),
            awake: None,
            quiet_since: None,
            is_left: false,
        }
    }

    /// A thread that is gone may have gone with its program: that is known a while later.
    fn look_at(&mut self, all: &BTreeSet<(u32, u32)>) {
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

fn odd_of(look: &Look) -> Option<Odd> {
    let generation = look.raw.generation;
    // Where nobody has the extension, and events came, this is no generation but some free bytes.
    if generation % 2 == 1 && (look.extended() || look.dialect.is_none()) {
        return Some(Odd::Generation(generation));
    }
    let newest = look
        .newest()
        .filter(|_| look.dialect == Some(Dialect::PerSlot))?;
    let slot = ctp_nostd::slot::index_of(newest);
    let seq = look.seqs[slot];
    (seq % 2 == 1).then_some(Odd::Seq(slot, seq))
}

fn see(judged: &mut Judged, is_there: bool) {
    if is_there && *judged == NotSeen {
        *judged = Kept;
    }
}

fn accuse(judged: &mut Judged, proof: &str) {
    if !matches!(judged, Broken(_)) {
        *judged = Broken(proof.to_owned());
    }
}
