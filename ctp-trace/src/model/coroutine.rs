//! The state of one coroutine: a few words, however long it lives.

mod account;
mod polls;
mod step;
mod visited;
mod waits;
mod wakes;

use super::families::{FamilyId, Parent};
use super::named::GroupKey;
use super::names::NameId;
use super::site::WaitSites;
use super::wakers::Woken;
use crate::record::{
    Birth, CoroutineId, CoroutineKind, Dialect, Event, EventCounts, EventKind, LeafKind, Nanos,
    ProcessId, SiteId, WaitKind,
};
use crate::verdict::{
    self, Evidence, Fact, MissingEvidence, Past, PollEvidence, State, WaitEvidence, WakeEvidence,
};

pub use account::Account;
pub use waits::{Total, Waits};
pub use wakes::Wakes;

pub(super) use polls::Polls;
pub use step::Totals;

/// A coroutine, as far as it is known from the records.
#[derive(Clone, Debug, Default)]
pub struct Coroutine {
    /// Number of the coroutine in this trace.
    pub id: CoroutineId,
    /// The process of the coroutine.
    pub process: ProcessId,
    /// The id that the probe assigned.
    pub probe_id: u64,
    /// When the coroutine was born.
    pub born: Nanos,
    /// The writer of the coroutine's events.
    pub dialect: Dialect,
    /// The birth of the coroutine is not known, because the recorder attached later.
    pub lived_before: bool,
    /// The kind of coroutine.
    pub kind: CoroutineKind,
    /// Where the coroutine was spawned.
    pub spawn_site: SiteId,
    /// The name of the coroutine.
    pub name: NameId,
    /// Similar coroutines with similar ancestors; `None` if only the existence of the coroutine is
    /// known.
    pub family: Option<FamilyId>,
    /// The coroutine that spawned this coroutine, if known.
    pub parent: Option<Parent>,
    /// The latest event.
    pub last: Option<Event>,
    /// Which events of the coroutine are in the trace.
    pub account: Account,
    /// The current wait or run, and totals of the earlier ones.
    pub waits: Waits,
    /// The wakes of the coroutine.
    pub wakes: Wakes,
    /// How the coroutine is polled.
    pub(super) polls: Polls,
}

impl Coroutine {
    /// The latest event, if it is a suspend: what the coroutine waits for.
    #[inline]
    pub fn suspend(&self) -> Option<&Event> {
        suspend_of(self.last.as_ref(), &self.account)
    }

    /// The kind of the latest event, including filtered events.
    fn latest(&self) -> Option<EventKind> {
        self.account.hidden.or(self.last.map(|last| last.kind))
    }

    /// Whether the coroutine has not ended.
    pub fn is_alive(&self) -> bool {
        self.latest() != Some(EventKind::Death)
    }

    /// The latest known state, and when that state began. If a filter dropped the event that began the
    /// state, the time is that of the last known event.
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

    /// The fact about the coroutine, from which [`judge`](crate::verdict::judge) draws its conclusion.
    pub fn fact(&self) -> Fact {
        match self.state().0 {
            State::Dead => Fact::Dead,
            State::Cancelled => Fact::Cancelled,
            state => verdict::fact(state, self.wake_evidence(), self.wakes.wakers),
        }
    }

    /// The start of the current run, if the coroutine is known to be running: no later event is missing.
    pub fn runs_since(&self) -> Option<Nanos> {
        let (state, since) = self.state();
        let is_known = self.caveat().is_none() && self.account.hidden.is_none();
        (state == State::Running && is_known).then_some(since)
    }

    /// The evidence for the rule, except for what other parts of the model contribute.
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
                left: marks.wakers,
                by_others: self.polls.by_others,
                when_woken: self.polls.when_woken,
                unrecorded: false,
                keeps_permits: self.kind != CoroutineKind::Future,
            },
            wait: WaitEvidence {
                is_for_call: false,
                idle: marks.idle,
                one_of_several: marks.has_others,
                for_lock: false,
                is_held_while_idle: false,
                leaf: LeafKind::Unknown,
                deadline: self.deadline(started_monotonic_ns),
            },
            past,
            ..Evidence::default()
        }
    }

    /// Whether events between the latest known event and `event` are missing or filtered.
    pub(super) fn is_gap_before(&self, event: &Event) -> bool {
        self.last.is_none_or(|last| !event.follows(&last))
    }

    /// How many events are missing between the latest known event, if there is one, and the next known event.
    pub fn lost_before(&self, next: &Event) -> u64 {
        let gap = self.account.gap_before(next, self.last.as_ref());
        gap.unwrap_or(0)
    }

    /// How many events are missing after the latest known event. The trace has these final counts next.
    pub fn lost_at_the_end(&self, event_counts: &EventCounts) -> u64 {
        self.account.lost_in_no_gap(event_counts)
    }

    /// The number of missing events, if the latest known event may not be the last.
    pub(super) fn caveat(&self) -> Option<u64> {
        self.account.caveat(self.last.map(|event| event.n))
    }

    /// The evidence from wakes, if the coroutine waits and its runtime records wakes.
    pub(super) fn wake_evidence(&self) -> Option<WakeEvidence> {
        self.wakes.evidence(self.suspend(), &self.waits)
    }

    /// Wakes since the last run began, if the coroutine waits.
    pub fn wakes_since_run(&self) -> Option<u64> {
        self.wakes.since(self.suspend())
    }

    /// Notes a call of `wake()` for the coroutine that a thread recorded.
    pub(super) fn called(&mut self, call: Woken, places: &mut WaitSites) {
        let suspend = suspend_of(self.last.as_ref(), &self.account);
        self.wakes.note_call(call, suspend);
        self.waits.count_waker(&call, places);
    }

    /// The key of the group of similar coroutines.
    pub fn group_key(&self) -> GroupKey {
        GroupKey {
            name: self.name,
            spawn_site: self.spawn_site,
        }
    }

    /// The earliest time at which the coroutine can have become ready for this run: not before it
    /// waited, and not before it was woken, if there was a single recorded wake. `None` if the preceding
    /// event is missing.
    pub(super) fn ready_before(&self, run: &Event) -> Option<Nanos> {
        let from = self.last.as_ref().filter(|last| run.follows(last))?;
        match from.kind {
            EventKind::Birth => Some(from.at),
            EventKind::Suspend if run.wake_seen.wrapping_sub(from.wake_seen) == 1 => {
                let within = self.wakes.times().filter(|at| *at <= run.at);
                Some(within.fold(from.at, Nanos::max))
            }
            // With several wakes, the first may have queued the coroutine, but only the latest is known.
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
        self.lived_before = birth.lived_before;
        self.dialect = birth.dialect;
        self.kind = birth.kind;
        self.spawn_site = birth.spawn_site;
        self.name = name;
    }

    pub(super) fn close(&mut self, event_counts: &EventCounts) {
        self.account.note_event_counts(event_counts);
        self.wakes.wakers = event_counts.wakers;
    }

    /// Marks all sites that the coroutine visited as uncertain, if events of it are missing.
    pub(super) fn distrust_sites(&self, places: &mut WaitSites) {
        if self.account.misses_events() {
            places.mark_approximate(&self.waits.visited.sites);
        }
    }
}

/// The latest event, if it is a suspend. A free function, so that the other fields of the coroutine can
/// be borrowed mutably.
#[inline]
fn suspend_of<'a>(last: Option<&'a Event>, account: &Account) -> Option<&'a Event> {
    last.filter(|event| event.kind == EventKind::Suspend && account.hidden.is_none())
}
