//! What is kept of one coroutine: a few words, however long it lives.

mod account;
mod polls;
mod step;
mod visited;
mod waits;
mod wakes;

use super::families::{FamilyId, Parent};
use super::named::GroupKey;
use super::names::NameId;
use super::site::Places;
use super::wakers::Woken;
use crate::record::{
    Birth, CoroutineId, CoroutineKind, Dialect, Event, EventCounts, EventKind, Nanos, ProcessId,
    SiteId, WaitKind,
};
use crate::verdict::{
    Evidence, MissingEvidence, Past, PollEvidence, State, WaitEvidence, WakeEvidence,
};

pub use account::Account;
pub use waits::{Total, Waits};
pub use wakes::Wakes;

pub(super) use polls::Polls;
pub use step::Totals;

/// A coroutine, as far as the records told.
#[derive(Clone, Debug, Default)]
pub struct Coroutine {
    /// Its number in this trace.
    pub id: CoroutineId,
    /// The process it belongs to.
    pub process: ProcessId,
    /// The id that the probe gave it.
    pub probe_id: u64,
    /// When it was born.
    pub born: Nanos,
    /// Who writes its events.
    pub dialect: Dialect,
    /// What sort of coroutine.
    pub kind: CoroutineKind,
    /// Where it was spawned.
    pub spawn_site: SiteId,
    /// Its name.
    pub name: NameId,
    /// Those like it that were spawned by the like; `None` if nothing was told but that it exists.
    pub family: Option<FamilyId>,
    /// Who spawned it, if that was a coroutine and is known.
    pub parent: Option<Parent>,
    /// The latest event.
    pub last: Option<Event>,
    /// Which of its events are in the trace.
    pub account: Account,
    /// Since when it waits or runs, and how long it did so before.
    pub waits: Waits,
    /// Its wakes.
    pub wakes: Wakes,
    /// How it comes to be polled.
    pub(super) polls: Polls,
}

impl Coroutine {
    /// Its latest event, if that is a suspend: what it waits for.
    #[inline]
    pub fn suspend(&self) -> Option<&Event> {
        suspend_of(self.last.as_ref(), &self.account)
    }

    /// What its latest event was, kept out by a filter or not.
    fn latest(&self) -> Option<EventKind> {
        self.account.hidden.or(self.last.map(|last| last.kind))
    }

    /// Whether it has not ended.
    pub fn is_alive(&self) -> bool {
        self.latest() != Some(EventKind::Death)
    }

    /// What it does, as far as known, and since when; since its last known event if a filter kept
    /// out what came after.
    pub fn state(&self) -> (State, Nanos) {
        let latest = self.last.map_or(self.born, |last| last.at);
        let since = self.suspend().map_or(latest, |_| self.waits.since);
        let state = match self.latest().unwrap_or(EventKind::Birth) {
            EventKind::Birth => State::Born,
            EventKind::Run => State::Running,
            EventKind::Suspend => State::Suspended,
            EventKind::Death if self.waits.cancelled => State::Cancelled,
            EventKind::Death => State::Dead,
        };
        (state, since)
    }

    /// Since when it runs, if it was seen to, and nothing that may have come after is missing.
    pub fn runs_since(&self) -> Option<Nanos> {
        let (state, since) = self.state();
        let is_known = self.caveat().is_none() && self.account.hidden.is_none();
        (state == State::Running && is_known).then_some(since)
    }

    /// All that the rule needs, but for what only others can tell.
    pub(super) fn evidence(&self, past: Past, started_monotonic_ns: u64) -> Evidence {
        let (state, since) = self.state();
        let marks = self.suspend().map(|wait| wait.marks).unwrap_or_default();
        Evidence {
            state,
            since,
            dialect: self.dialect,
            missing: MissingEvidence {
                lost: self.caveat(),
                filtered: self.account.filtered_at_the_end(),
            },
            wake: self.wake_evidence(),
            polls: PollEvidence {
                wakers: self.wakes.wakers,
                by_others: self.polls.by_others,
                when_woken: self.polls.when_woken,
                unrecorded: false,
                keeps_permits: self.kind != CoroutineKind::Future,
            },
            wait: WaitEvidence {
                idle: marks.idle,
                one_of_several: marks.one_of_several,
                deadline: self.deadline(started_monotonic_ns),
            },
            past,
            ..Evidence::default()
        }
    }

    /// Set if its last event may not be its last: how many are missing.
    pub(super) fn caveat(&self) -> Option<u64> {
        self.account.caveat(self.last.map(|event| event.n))
    }

    /// What its wakes say of its wait, if it waits, and its runtime tells of wakes.
    pub(super) fn wake_evidence(&self) -> Option<WakeEvidence> {
        self.wakes.evidence(self.suspend(), &self.waits)
    }

    /// Wakes since its last run began, if it waits.
    pub fn wakes_since_run(&self) -> Option<u64> {
        self.wakes.since(self.suspend())
    }

    /// It was woken by a call of which a thread told.
    pub(super) fn called(&mut self, call: Woken, places: &mut Places) {
        let suspend = suspend_of(self.last.as_ref(), &self.account);
        self.wakes.note_call(call, suspend);
        self.waits.count_waker((call.at, call.site), places);
    }

    /// Those like it.
    pub fn group_key(&self) -> GroupKey {
        GroupKey {
            name: self.name,
            spawn_site: self.spawn_site,
        }
    }

    /// When it became ready for this run, at the earliest: not before it waited, and not before it
    /// was woken, if that was once and was told. `None` if what it did before is missing.
    pub(super) fn ready_before(&self, run: &Event) -> Option<Nanos> {
        let is_next = |last: &&Event| last.n.checked_add(1) == Some(run.n) && !run.after_filtered;
        let from = self.last.as_ref().filter(is_next)?;
        match from.kind {
            EventKind::Birth => Some(from.at),
            EventKind::Suspend if run.wake_seen.wrapping_sub(from.wake_seen) == 1 => {
                let within = self.wakes.times().filter(|at| *at <= run.at);
                Some(within.fold(from.at, Nanos::max))
            }
            // Of several wakes the first may have queued it, and the latest is what is known.
            EventKind::Suspend => Some(from.at),
            EventKind::Run | EventKind::Death => None,
        }
    }

    fn deadline(&self, started_monotonic_ns: u64) -> Option<Nanos> {
        let last = self
            .suspend()
            .filter(|s| s.wait == WaitKind::Timer && s.arg != 0)?;
        Some(Nanos(last.arg.saturating_sub(started_monotonic_ns)))
    }

    pub(super) fn named(id: CoroutineId) -> Self {
        Coroutine {
            id,
            ..Coroutine::default()
        }
    }

    pub(super) fn describe(&mut self, birth: &Birth, name: NameId) {
        self.id = birth.coroutine;
        self.process = birth.process;
        self.probe_id = birth.probe_id;
        self.born = birth.at;
        self.dialect = birth.dialect;
        self.kind = birth.kind;
        self.spawn_site = birth.spawn_site;
        self.name = name;
    }

    pub(super) fn close(&mut self, event_counts: &EventCounts) {
        self.account.note_event_counts(event_counts);
        self.wakes.wakers = event_counts.wakers;
    }

    /// What is missing of it may have been at any site where it was seen.
    pub(super) fn distrust_sites(&self, places: &mut Places) {
        if self.account.misses_events() {
            places.caveat(&self.waits.visited.sites);
        }
    }
}

/// Its latest event, if that is a suspend: apart from the rest of it, which may be changed.
#[inline]
fn suspend_of<'a>(last: Option<&'a Event>, account: &Account) -> Option<&'a Event> {
    last.filter(|event| event.kind == EventKind::Suspend && account.hidden.is_none())
}
