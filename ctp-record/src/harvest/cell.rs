//! [`StationCell`]: what the recorder has read from a station so far, and what it expects there next.

mod slots;

use std::num::NonZeroU64;

use ctp_nostd::dialect::{self, Dialect, Fetched};
use ctp_nostd::inspect::{Identity, WakeState};
use ctp_nostd::layout::Station;
use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, ProcessId, WaitKind};

use super::StationCoroutine;
use super::lanes::Lanes;

/// What the recorder remembers of a station between two visits. While `coroutine` is 0, the station's coroutine is not
/// known yet.
///
/// The fields that an event needs lie together, so that an event touches two cache lines.
#[derive(Clone, Debug, Default)]
pub(super) struct StationCell {
    pub coroutine: CoroutineId,
    pub process: ProcessId,
    /// How a v1 peer numbers its events; `None` for this project's probe.
    pub v1_dialect: Option<Dialect>,
    /// The generation of the station's coroutine.
    generation: u32,
    /// The time of birth, on the clock of the memory. It distinguishes coroutines of equal generation after the
    /// memory was zeroed.
    birth_ts: u64,
    /// Index of the coroutine's first event.
    base_n: u64,
    /// Index of the next event to read.
    next_n: u64,
    /// Events that became records.
    pub recorded: u64,
    /// Events that became no records, because they were lost or left out.
    unrecorded: u64,
    /// The latest state of wakes that was read; `None` while the runtime reports no wakes. Of several wakes
    /// between two visits, only the latest is seen.
    wakes: Option<WakeState>,
    /// Whether the death of a v1 peer's coroutine has been recorded.
    is_death_emitted: bool,
    phase: Phase,
    /// The number of wakes up to the coroutine's latest run, modulo 2^16; `None` after missing events.
    wakes_seen: Option<u16>,
    /// An earlier value of the station's head. Events before it that no lane brings in time are read from slots.
    awaited_head: u64,
    /// The round of the lanes at which the head had this value, modulo 2^32.
    awaited_since: u32,
    /// Time of the latest event, on the clock of the memory.
    pub last_ns: u64,
    /// Whether the event counts may be wrong, because words of the station were damaged or impossible.
    pub inexact: bool,
    /// The value of `next_n`, plus 1, when the totals were last emitted.
    totals_emitted_at: Option<NonZeroU64>,
    /// Events that were excluded.
    pub(super) filtered: u64,
    /// Events that followed excluded events. In the trace, each gap of excluded events takes an index.
    pub(super) breaks: u64,
}

/// The state of a coroutine according to its latest events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// The coroutine waits or has never run.
    #[default]
    Waits,
    /// The coroutine waits until a descriptor is readable or writable.
    WaitsForDescriptor,
    /// The coroutine runs.
    Runs,
    /// The latest events of a coroutine that has not ended are missing.
    Missing,
    /// The coroutine's death ended a run.
    EndedInRun,
    /// The coroutine died otherwise: it was dropped during a wait, or events before its death are missing.
    Ended,
}

impl Phase {
    fn after_missing_events(self) -> Self {
        match self {
            Phase::EndedInRun | Phase::Ended => Phase::Ended,
            _ => Phase::Missing,
        }
    }
}

/// The most events that a coroutine can have between two visits. A larger number means that words are damaged.
pub(super) const MAX_CREDIBLE_EVENTS: u64 = 1 << 40;

/// There are as many cells as stations, and each event accesses a cell.
const _: () = assert!(size_of::<StationCell>() <= 128);

/// Which probe writes a station.
pub(super) enum WritingProbe {
    /// This project's probe.
    Ours,
    /// Another probe for cTP v1, which numbers its events in this way.
    V1Peer(Dialect),
}

/// The writer of a station. `None` while the station has neither an event, nor a coroutine of this
/// project's probe, nor a coroutine that has ended.
pub(super) fn writer_of(station: &Station) -> Option<WritingProbe> {
    let detected = dialect::of(station);
    // Events are written after the identity, so they are read before it.
    let identity = station.identity()?;
    if identity.is_extended {
        return Some(WritingProbe::Ours);
    }
    // A probe of this project with another layout looks the same.
    let detected = detected.or_else(|| identity.is_dead.then(|| dialect_of_the_dead(station)));
    detected.map(WritingProbe::V1Peer)
}

/// The dialect of an ended coroutine, which writes no more events. If it had no event, its dialect is
/// unknown and any dialect will do.
fn dialect_of_the_dead(station: &Station) -> Dialect {
    dialect::of(station).unwrap_or(Dialect::PerSlot)
}

impl StationCell {
    pub fn new(
        coroutine: CoroutineId,
        process: ProcessId,
        v1_dialect: Option<Dialect>,
        identity: &Identity,
    ) -> Self {
        let base_n = v1_dialect.map_or(identity.base_n, |_| 0);
        StationCell {
            coroutine,
            process,
            v1_dialect,
            generation: identity.generation,
            birth_ts: identity.birth_ts,
            base_n,
            next_n: base_n,
            ..StationCell::default()
        }
    }

    /// The cell of an image's coroutine. The coroutine's events before `first_n` are counted elsewhere.
    pub(super) fn of_image(coroutine: &StationCoroutine, first_n: u64) -> Self {
        StationCell {
            coroutine: coroutine.coroutine,
            process: coroutine.process,
            v1_dialect: coroutine.v1_dialect,
            generation: coroutine.generation,
            birth_ts: coroutine.birth_ts,
            base_n: coroutine.base_n,
            next_n: first_n,
            unrecorded: first_n.wrapping_sub(coroutine.base_n),
            inexact: coroutine.event_counts.inexact,
            filtered: coroutine.event_counts.filtered,
            ..StationCell::default()
        }
    }

    pub fn is_known(&self) -> bool {
        self.coroutine.0 != 0
    }

    /// Whether this project's probe writes the station.
    pub fn is_ours(&self) -> bool {
        self.is_known() && self.v1_dialect.is_none()
    }

    /// The cell after the coroutine has left the station: without a coroutine, but with what identifies the last one.
    pub fn vacant(&self) -> Self {
        StationCell {
            generation: self.generation,
            birth_ts: self.birth_ts,
            ..StationCell::default()
        }
    }

    /// Whether this is the identity of another coroutine than the remembered coroutine.
    pub fn is_new(&self, identity: &Identity) -> bool {
        (identity.generation, identity.birth_ts) != (self.generation, self.birth_ts)
    }

    pub fn dialect(&self) -> Dialect {
        self.v1_dialect.unwrap_or(Dialect::PerSlot)
    }

    /// The number of events that the coroutine attempted, without excluded events, according to the station's
    /// words and `head`, the present or an earlier head. `None` if these words are impossible.
    pub fn attempted(&self, station: &Station, head: u64) -> Option<u64> {
        let unread = match self.v1_dialect {
            Some(_) => 0,
            None => self.ahead(head),
        };
        let passed = self.next_n.wrapping_add(unread).wrapping_sub(self.base_n);
        let is_counted = self.filtered > 0 || station.filtered() == 0;
        let is_credible = unread <= MAX_CREDIBLE_EVENTS && is_counted;
        let others = u64::from(self.is_death_emitted) + self.unnumbered(station);
        is_credible.then(|| passed.saturating_add(others))
    }

    /// Events without a number, because too many were nested in another event.
    pub(super) fn unnumbered(&self, station: &Station) -> u64 {
        match self.v1_dialect {
            Some(_) => 0,
            None => station.nested().into(),
        }
    }

    /// Whether all events of a station that is marked as dead have been read. Always false for a v1 peer, because its
    /// station is never used again.
    pub fn is_read_to_end(&self, station: &Station) -> bool {
        self.v1_dialect.is_none() && station.event_head() == self.next_n
    }

    /// Whether the coroutine's death has been read.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::EndedInRun | Phase::Ended)
    }

    /// Whether the coroutine's death has been read and is known to have ended a run.
    pub fn has_ended_in_run(&self) -> bool {
        self.phase == Phase::EndedInRun
    }

    /// Whether the coroutine may run: its latest event is a run, or its latest events are missing.
    pub fn may_run(&self) -> bool {
        matches!(self.phase, Phase::Runs | Phase::Missing)
    }

    /// Whether the coroutine may wait for a descriptor: its latest event says so, or its latest events are missing.
    pub fn may_wait_for_descriptor(&self) -> bool {
        matches!(self.phase, Phase::WaitsForDescriptor | Phase::Missing)
    }

    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The number of the coroutine's live wakers, if the coroutine is alive and the probe counts wakers.
    pub fn wakers(&self, station: &Station) -> Option<u32> {
        let wakers = station.wakers(self.generation)?;
        (!self.has_ended() && self.v1_dialect.is_none()).then_some(wakers)
    }

    /// Whether totals were ever emitted.
    pub fn has_emitted_totals(&self) -> bool {
        self.totals_emitted_at.is_some()
    }

    /// Whether totals were emitted since the latest event.
    pub fn has_emitted_latest_totals(&self) -> bool {
        self.has_emitted_totals() && self.totals_emitted_at == self.next_n_plus_1()
    }

    /// Notes that totals are emitted.
    pub fn note_totals(&mut self) {
        self.totals_emitted_at = self.next_n_plus_1();
    }

    fn next_n_plus_1(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.next_n.wrapping_add(1))
    }

    /// The count of wakes, as last emitted.
    pub fn emitted_wakes(&self) -> Option<u32> {
        self.wakes.map(|wakes| wakes.count)
    }

    pub fn wakes_seen(&self) -> Option<u16> {
        self.wakes_seen
    }

    /// The index before which all unread events are in no lane, and must be read from slots.
    ///
    /// When a round of the lanes begins, each event that the head counts is in a lane, unless its thread has no lane or
    /// the lane was full. Such an event is still missing after all records of that round have become events.
    pub fn slot_end(&mut self, head: u64, lanes: &Lanes) -> u64 {
        let awaited = self.awaited_head;
        let has_come = self.ahead(awaited) == 0;
        if has_come {
            (self.awaited_head, self.awaited_since) = (head, lanes.round());
        }
        let is_due = !has_come && lanes.have_emitted_since(self.awaited_since);
        if is_due { awaited } else { self.next_n }
    }

    /// The number of events from the next event to read up to event `n`; 0 if `n` precedes the next event to read.
    fn ahead(&self, n: u64) -> u64 {
        let distance = n.wrapping_sub(self.next_n);
        if distance > u64::MAX / 2 { 0 } else { distance }
    }

    /// The number of events to skip when a slot claims that `oldest` is the oldest event left. `None` if the number is
    /// greater than the probe's head allows or than is possible: then the slot is damaged.
    pub fn credible_skip(&self, oldest: u64, station: &Station) -> Option<u64> {
        let events = self.ahead(oldest);
        let most = match self.v1_dialect {
            Some(_) => MAX_CREDIBLE_EVENTS,
            None => self.ahead(station.event_head()).min(MAX_CREDIBLE_EVENTS),
        };
        (1..=most).contains(&events).then_some(events)
    }

    /// Whether the next event has already happened, so that it is lost with its damaged slot. Only the head
    /// of this project's probe shows that.
    fn is_lost(&self, station: &Station) -> bool {
        self.v1_dialect.is_none() && self.ahead(station.event_head()) > 0
    }

    /// Skips absent events if later events can be read. Returns how many were lost, or `None` if the next
    /// event to read is still the same.
    fn skip_absent(&mut self, absent: Fetched, station: &Station) -> Option<u64> {
        let before = self.unrecorded;
        let has_moved = match absent {
            Fetched::Overwritten(oldest) => match self.credible_skip(oldest, station) {
                Some(events) => self.skip(events),
                None => {
                    self.inexact = true;
                    (self.is_lost(station) && self.skip_damaged()) || self.follow_jump(station)
                }
            },
            _ => self.follow_jump(station),
        };
        has_moved.then(|| self.unrecorded.wrapping_sub(before))
    }

    /// Skips the next event as damaged. Returns true.
    pub fn skip_damaged(&mut self) -> bool {
        self.inexact = true;
        self.skip(1)
    }

    /// Notes the coroutine's death. Does nothing for a v1 peer, because its station is never used again.
    fn end(&mut self) {
        if self.v1_dialect.is_none() {
            self.phase = match self.phase {
                Phase::Runs => Phase::EndedInRun,
                _ => Phase::Ended,
            };
        }
    }

    fn skip(&mut self, events: u64) -> bool {
        self.wakes_seen = None;
        self.phase = self.phase.after_missing_events();
        self.next_n = self.next_n.wrapping_add(events);
        self.unrecorded = self.unrecorded.wrapping_add(events);
        true
    }

    /// Continues reading at event `n`. In the trace, this event gets the number that the next event would have had.
    pub fn resume_at(&mut self, n: u64) {
        self.inexact = true;
        self.phase = self.phase.after_missing_events();
        let by = n.wrapping_sub(self.next_n);
        self.base_n = self.base_n.wrapping_add(by);
        self.next_n = n;
    }

    /// Notes that event `n` was read and becomes no record.
    pub(super) fn discard(&mut self, n: u64) {
        self.phase = self.phase.after_missing_events();
        self.next_n = n.wrapping_add(1);
        self.unrecorded = self.unrecorded.wrapping_add(1);
    }

    /// Creates event `n` with the fields that all events have. `at_ns` is its time on the clock of the memory, and `at`
    /// its time in the trace.
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
        match kind {
            EventKind::Run => self.phase = Phase::Runs,
            EventKind::Suspend => self.phase = Phase::Waits,
            EventKind::Death => self.end(),
            EventKind::Birth => {}
        }
        self.last_ns = at_ns;
        Event {
            coroutine: self.coroutine,
            n: self.index_of(n),
            at,
            kind,
            after_filtered,
            ..Event::default()
        }
    }

    /// Notes what the coroutine waits for, after its suspend.
    #[inline]
    pub(super) fn note_wait(&mut self, wait: WaitKind) {
        let is_descriptor = matches!(wait, WaitKind::Readable | WaitKind::Writable);
        if is_descriptor && self.phase == Phase::Waits {
            self.phase = Phase::WaitsForDescriptor;
        }
    }

    /// Notes the number of wakes up to the latest run.
    #[inline]
    pub(super) fn note_wakes_seen(&mut self, wakes_seen: u16) {
        self.wakes_seen = Some(wakes_seen);
    }

    /// The number of event `n` in the trace.
    fn index_of(&self, n: u64) -> u64 {
        n.wrapping_sub(self.base_n).wrapping_add(self.breaks)
    }

    /// The cell as if all events before `n` had been read.
    pub(super) fn read_to(&self, n: u64) -> Self {
        StationCell {
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

    /// Index of the next event to read.
    pub fn next_n(&self) -> u64 {
        self.next_n
    }

    /// Events read, lost or left out.
    pub fn accounted(&self) -> u64 {
        self.recorded.wrapping_add(self.unrecorded)
    }

    /// The number in the trace of the event during which the writer died, if any.
    pub fn torn(&self, station: &Station) -> Option<u64> {
        match self.dialect().fetch(station, self.next_n) {
            Fetched::Torn => Some(self.index_of(self.next_n)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell_after(kinds: &[EventKind]) -> StationCell {
        let mut cell = StationCell::default();
        for (n, kind) in (0..).zip(kinds) {
            cell.event(n, (0, Nanos(0)), *kind, false);
        }
        cell
    }

    #[test]
    fn latest_event_shows_what_a_coroutine_may_do() {
        let runs = cell_after(&[EventKind::Birth, EventKind::Run]);
        assert!(runs.may_run() && !runs.may_wait_for_descriptor());
        let mut waits = cell_after(&[EventKind::Run, EventKind::Suspend]);
        waits.note_wait(WaitKind::Timer);
        assert!(!waits.may_run() && !waits.may_wait_for_descriptor());
        waits.note_wait(WaitKind::Readable);
        assert!(!waits.may_run() && waits.may_wait_for_descriptor());
        waits.skip(1);
        assert!(waits.may_run() && waits.may_wait_for_descriptor());
        let ended = cell_after(&[EventKind::Run, EventKind::Death]);
        assert!(!ended.may_run() && ended.has_ended_in_run());
    }
}
