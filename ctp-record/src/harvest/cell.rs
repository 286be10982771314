//! What the reader remembers of one station, and how its slots become events.

use std::num::NonZeroU64;

use ctp_nostd::dialect::{self, Dialect, Fetched};
use ctp_nostd::inspect::{Identity, WakeState, WokenBy};
use ctp_nostd::layout::{SLOTS, Station, seat_word, station_of};
use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, ProcessId, Record, Wake, Waker};

use super::lanes::Lanes;
use super::{Harvest, Pass, StationCoroutine, convert};

/// One station. Coroutine 0 is one that is not known yet.
///
/// All that an event needs of its station lies side by side, so that an event takes two cache lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub coroutine: CoroutineId,
    pub process: ProcessId,
    /// A v1 peer's way of counting; nothing for ours.
    pub plain: Option<Dialect>,
    /// Which occupant of the station it is.
    generation: u32,
    /// When that was born: where somebody has emptied the memory, generations begin anew.
    birth_ts: u64,
    /// Index of the occupant's first event.
    base_n: u64,
    /// The next event to read.
    next_n: u64,
    /// Events that became records.
    pub recorded: u64,
    /// Others that the totals know of: read and no records, lost or left out.
    unrecorded: u64,
    /// Wakes at the last look; nothing until its runtime tells of wakes. Who and when come after
    /// the count, so that they may have been missed.
    wakes: Option<WakeState>,
    /// A v1 peer's death has been told.
    death_told: bool,
    /// Its death has been read.
    has_ended: bool,
    /// Wakes that its latest run had seen, unless events are missing since.
    wakes_seen: Option<u16>,
    /// What its head once was.
    owed: u64,
    /// In which round of the lanes that was, modulo 2^32.
    owed_since: u32,
    /// When its latest event was, by the clock of the memory.
    pub last_ts: u64,
    pub inexact: bool,
    /// The event behind the next one to read when its totals were told last.
    told_totals: Option<NonZeroU64>,
    /// Events that were kept out.
    pub(super) filtered: u64,
    /// Events that came after some that were kept out: in the trace, those before each have one index.
    pub(super) breaks: u64,
}

/// There are as many of them as stations, and each event needs one.
const _: () = assert!(size_of::<Cell>() <= 128);

/// Who writes a station.
pub(super) enum Writer {
    Ours,
    Plain(Dialect),
}

/// Nothing while it has neither an event nor a coroutine of ours, nor one that is over.
pub(super) fn writer_of(station: &Station) -> Option<Writer> {
    let detected = dialect::of(station);
    // The events come after the identity, so they are read before it.
    let identity = station.identity()?;
    if identity.extended {
        return Some(Writer::Ours);
    }
    // Also what a probe of ours of another layout writes.
    let detected = detected.or_else(|| identity.is_dead.then(|| dialect_of_the_dead(station)));
    detected.map(Writer::Plain)
}

/// All events are there by now. Of a coroutine that ended without any no dialect is known, and none is
/// needed.
fn dialect_of_the_dead(station: &Station) -> Dialect {
    dialect::of(station).unwrap_or(Dialect::PerSlot)
}

impl Cell {
    pub fn new(
        coroutine: CoroutineId,
        process: ProcessId,
        plain: Option<Dialect>,
        identity: &Identity,
    ) -> Self {
        let base_n = plain.map_or(identity.base_n, |_| 0);
        Cell {
            coroutine,
            process,
            plain,
            generation: identity.generation,
            birth_ts: identity.birth_ts,
            base_n,
            next_n: base_n,
            ..Cell::default()
        }
    }

    /// Of a coroutine of an image, of which the events before `first_n` are counted elsewhere.
    pub(super) fn of_image(coroutine: &StationCoroutine, first_n: u64) -> Self {
        Cell {
            coroutine: coroutine.coroutine,
            process: coroutine.process,
            plain: coroutine.plain,
            generation: coroutine.generation,
            birth_ts: coroutine.birth_ts,
            base_n: coroutine.base_n,
            next_n: first_n,
            unrecorded: first_n.wrapping_sub(coroutine.base_n),
            inexact: coroutine.tally.inexact,
            filtered: coroutine.tally.filtered,
            ..Cell::default()
        }
    }

    pub fn is_known(&self) -> bool {
        self.coroutine.0 != 0
    }

    /// Does a probe of ours write it?
    pub fn is_ours(&self) -> bool {
        self.is_known() && self.plain.is_none()
    }

    /// What is remembered of an occupant that has left: that it was there.
    pub fn vacant(&self) -> Self {
        Cell {
            generation: self.generation,
            birth_ts: self.birth_ts,
            ..Cell::default()
        }
    }

    /// Is this another occupant than the one before?
    pub fn is_new(&self, identity: &Identity) -> bool {
        (identity.generation, identity.birth_ts) != (self.generation, self.birth_ts)
    }

    pub fn dialect(&self) -> Dialect {
        self.plain.unwrap_or(Dialect::PerSlot)
    }

    /// Events that the coroutine had, without those that were kept out, as far as its station tells,
    /// of which the head is, or was, this; nothing if what it tells cannot be true.
    pub fn attempted(&self, station: &Station, head: u64) -> Option<u64> {
        let unread = match self.plain {
            Some(_) => 0,
            None => self.ahead(head),
        };
        let gone_by = self.next_n.wrapping_add(unread).wrapping_sub(self.base_n);
        let is_counted = self.filtered > 0 || station.filtered() == 0;
        let is_credible = unread <= MOST_AT_ONCE && is_counted;
        let others = u64::from(self.death_told) + self.left_out(station);
        is_credible.then(|| gone_by.saturating_add(others))
    }

    /// Events that have no number, since too many came amid one.
    pub(super) fn left_out(&self, station: &Station) -> u64 {
        match self.plain {
            Some(_) => 0,
            None => station.nested().into(),
        }
    }

    /// Does nothing come after what was read? Asked once the station was seen to be dead. A v1
    /// peer's station is never anybody else's.
    pub fn is_over(&self, station: &Station) -> bool {
        self.plain.is_none() && station.event_head() == self.next_n
    }

    /// Has its death been read?
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// How many wakers of it are alive, if it is, and if they are counted.
    pub fn wakers(&self, station: &Station) -> Option<u32> {
        let wakers = station.wakers(self.generation)?;
        (!self.has_ended && self.plain.is_none()).then_some(wakers)
    }

    /// Have its totals ever been told?
    pub fn has_told_totals(&self) -> bool {
        self.told_totals.is_some()
    }

    /// Have they been told since its latest event?
    pub fn has_told_latest_totals(&self) -> bool {
        self.has_told_totals() && self.told_totals == self.behind_next()
    }

    /// They are told.
    pub fn note_totals(&mut self) {
        self.told_totals = self.behind_next();
    }

    fn behind_next(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.next_n.wrapping_add(1))
    }

    /// Its wakes, as last told.
    pub fn wakes_told(&self) -> Option<u32> {
        self.wakes.map(|wakes| wakes.count)
    }

    pub fn wakes_seen(&self) -> Option<u16> {
        self.wakes_seen
    }

    /// The end of the events that are in no lane. What the head counts when a round begins is in
    /// the lanes by then, but for a thread that has none, and for what a full lane could not take: those
    /// of which no record is there once all of that round's have become events.
    pub fn owed(&mut self, head: u64, lanes: &Lanes) -> u64 {
        let owed = self.owed;
        let is_paid = self.ahead(owed) == 0;
        if is_paid {
            (self.owed, self.owed_since) = (head, lanes.round());
        }
        let is_due = !is_paid && lanes.have_told_since(self.owed_since);
        if is_due { owed } else { self.next_n }
    }

    /// How many events `n` is ahead of what was read; 0 if it is behind.
    fn ahead(&self, n: u64) -> u64 {
        let distance = n.wrapping_sub(self.next_n);
        if distance > u64::MAX / 2 { 0 } else { distance }
    }

    /// How many events there are to skip when a slot says that the oldest left is this one. No
    /// more than our probe had, or than can be: such a slot is corrupt.
    pub fn credible_skip(&self, oldest: u64, station: &Station) -> Option<u64> {
        let events = self.ahead(oldest);
        let most = match self.plain {
            Some(_) => MOST_AT_ONCE,
            None => self.ahead(station.event_head()).min(MOST_AT_ONCE),
        };
        (1..=most).contains(&events).then_some(events)
    }

    /// The slot of the next event is corrupt, and the event gone if it was ever there: only our
    /// probe's head tells.
    fn is_gone(&self, station: &Station) -> bool {
        self.plain.is_none() && self.ahead(station.event_head()) > 0
    }

    /// Goes on behind an event that is not there, if others can be: how many were lost by that.
    fn get_past(&mut self, absent: Fetched, station: &Station) -> Option<u64> {
        let before = self.unrecorded;
        let has_moved = match absent {
            Fetched::Overwritten(oldest) => match self.credible_skip(oldest, station) {
                Some(events) => self.pass_over(events),
                None => {
                    self.inexact = true;
                    (self.is_gone(station) && self.leave_out()) || self.has_jumped(station)
                }
            },
            _ => self.has_jumped(station),
        };
        has_moved.then(|| self.unrecorded.wrapping_sub(before))
    }

    /// Leaves out the next event.
    pub fn leave_out(&mut self) -> bool {
        self.inexact = true;
        self.pass_over(1)
    }

    fn pass_over(&mut self, events: u64) -> bool {
        self.wakes_seen = None;
        self.next_n = self.next_n.wrapping_add(events);
        self.unrecorded = self.unrecorded.wrapping_add(events);
        true
    }

    /// The next event to read is this one, though it gets the number that the next one would have.
    pub fn go_on_at(&mut self, n: u64) {
        self.inexact = true;
        let by = n.wrapping_sub(self.next_n);
        self.base_n = self.base_n.wrapping_add(by);
        self.next_n = n;
    }

    /// Event `n` was read, and becomes no record.
    pub(super) fn go_past(&mut self, n: u64) {
        self.next_n = n.wrapping_add(1);
        self.unrecorded = self.unrecorded.wrapping_add(1);
    }

    /// Event `n`, which was read, with what all events have. It was at `at_ns` on the monotonic clock.
    #[inline]
    pub(super) fn event(
        &mut self,
        n: u64,
        (at_ns, at): (u64, Nanos),
        kind: EventKind,
        after_filtered: bool,
    ) -> Event {
        self.next_n = n.wrapping_add(1);
        self.recorded += 1;
        self.breaks += u64::from(after_filtered);
        if kind == EventKind::Death {
            self.has_ended = self.plain.is_none();
        }
        self.last_ts = at_ns;
        Event {
            coroutine: self.coroutine,
            n: self.index_of(n),
            at,
            kind,
            after_filtered,
            ..Event::default()
        }
    }

    /// Its latest run, which was just read, had seen so many wakes.
    #[inline]
    pub(super) fn note_wakes_seen(&mut self, wakes_seen: u16) {
        self.wakes_seen = Some(wakes_seen);
    }

    /// The number of event `n` in the trace.
    fn index_of(&self, n: u64) -> u64 {
        n.wrapping_sub(self.base_n).wrapping_add(self.breaks)
    }

    /// As if all events before this one had been read.
    pub(super) fn read_to(&self, n: u64) -> Self {
        Cell {
            unrecorded: n.wrapping_sub(self.base_n).wrapping_sub(self.recorded),
            next_n: n,
            ..self.clone()
        }
    }

    pub(super) fn base_n(&self) -> u64 {
        self.base_n
    }

    pub(super) fn birth_ts(&self) -> u64 {
        self.birth_ts
    }

    /// The next event to read.
    pub fn next_n(&self) -> u64 {
        self.next_n
    }

    /// Events read, lost or left out: all that the totals know of.
    pub fn accounted(&self) -> u64 {
        self.recorded.wrapping_add(self.unrecorded)
    }

    /// The event at which its writer died, if it did.
    pub fn torn(&self, station: &Station) -> Option<u64> {
        match self.dialect().fetch(station, self.next_n) {
            Fetched::Torn => Some(self.index_of(self.next_n)),
            _ => None,
        }
    }
}

/// No station holds up the others for longer than this many events a pass.
const MOST_A_PASS: usize = 64;
/// No coroutine has more events than this between two looks, unless its words are corrupt.
pub(super) const MOST_AT_ONCE: u64 = 1 << 40;

impl Harvest {
    pub(super) fn drain_slots(&mut self, index: usize, station: &Station, pass: &mut Pass<'_>) {
        for _ in 0..MOST_A_PASS {
            let cell = &self.cells[index];
            let n = cell.next_n;
            let found = cell.dialect().fetch(station, n);
            if self.is_slot_of_later(index, station, &found) {
                return;
            }
            match found {
                Fetched::Whole(epoch) => self.emit_of_slot(index, n, &epoch, pass),
                Fetched::Torn => return,
                absent => match self.cells[index].get_past(absent, station) {
                    Some(lost) => self.miss(index, lost),
                    None => return,
                },
            }
        }
    }

    /// Reads events from the slots up to this one; those that are gone are lost.
    pub(super) fn drain_slots_before(&mut self, index: usize, end: u64, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        while let ahead @ 1..=MOST_AT_ONCE = self.cells[index].ahead(end) {
            let cell = &mut self.cells[index];
            let n = cell.next_n;
            let beyond_slots = ahead.saturating_sub(SLOTS as u64).max(1);
            let lost = match cell.dialect().fetch(station, n) {
                Fetched::Whole(epoch) => {
                    self.emit_of_slot(index, n, &epoch, pass);
                    continue;
                }
                Fetched::Overwritten(oldest) => cell.ahead(oldest).clamp(beyond_slots, ahead),
                Fetched::Torn | Fetched::NotYet => beyond_slots,
            };
            cell.pass_over(lost);
            self.miss(index, lost);
        }
    }

    /// What a station tells besides its events: wakes, and a v1 peer's death. `was_dead` was read
    /// before the events were, so that none of them can come after it.
    pub(super) fn look_at_line_0(
        &mut self,
        index: usize,
        station: &Station,
        was_dead: bool,
        pass: &mut Pass<'_>,
    ) {
        if self.cells[index].plain.is_some() {
            let is_dead = was_dead && !self.has_died_later(index);
            self.tell_plain_death(index, is_dead, pass);
        } else if station.identity().is_some_and(|it| it.tells_wakes) {
            self.tell_wakes(index, station, pass);
        }
    }

    pub(super) fn tell_wakes(&mut self, index: usize, station: &Station, pass: &mut Pass<'_>) {
        let state = convert::own_wakes(station.wakes(), self.cells[index].birth_ts);
        if self.cells[index].wakes == Some(state) || self.is_later(state.at_ns) {
            return;
        }
        // A time that cannot be would be the latest of all, also of other processes.
        let at = match self.horizon.may_have_been(state.at_ns) {
            true => self.horizon.nanos(state.at_ns),
            false => self.latest(),
        };
        self.latest.note(at);
        self.cells[index].wakes = Some(state);
        pass.sink.take(Record::Wake(Wake {
            coroutine: self.cells[index].coroutine,
            count: state.count,
            waker: self.waker(state.by),
            at,
        }));
    }

    pub(super) fn waker(&self, by: WokenBy) -> Waker {
        convert::waker(by, |word| self.occupant(word))
    }

    /// The coroutine with this seat word, while it has its station.
    fn occupant(&self, word: u32) -> Option<CoroutineId> {
        let index = station_of(word)?;
        let cell = self.cells.get(index as usize)?;
        (cell.is_known() && seat_word(index, cell.generation) == word).then_some(cell.coroutine)
    }

    /// Tells that a v1 peer's station is dead, once.
    fn tell_plain_death(&mut self, index: usize, is_dead: bool, pass: &mut Pass<'_>) {
        let cell = &mut self.cells[index];
        if !is_dead || cell.death_told {
            return;
        }
        cell.death_told = true;
        cell.recorded += 1;
        let n = cell.next_n.wrapping_sub(cell.base_n);
        let (coroutine, birth_ns, last_ns) = (cell.coroutine, cell.birth_ts, cell.last_ts);
        self.totals.events += 1;
        // Without any event it ended no sooner than it was born.
        let at_ns = match self.horizon.may_have_been(birth_ns) {
            true => last_ns.max(birth_ns),
            false => last_ns,
        };
        let death = convert::plain_death(coroutine, n, self.horizon.nanos(at_ns));
        pass.sink.take(Record::Event(death));
    }
}
