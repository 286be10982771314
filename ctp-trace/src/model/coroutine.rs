//! What is kept of one coroutine: a few words, however long it lives.

use super::families::{FamilyId, Parent};
use super::named::Kin;
use super::names::NameId;
use super::site::Places;
use super::visited::Visited;
use super::wakers::Woken;
use crate::record::{
    Aggregate, Birth, CoroutineId, CoroutineKind, Dialect, Event, EventKind, Nanos, ProcessId,
    SiteId, Tally, WaitKind, Wake,
};
use crate::verdict::{
    MissingStanding, Past, PollStanding, Standing, State, WaitStanding, WakeStanding, wakes_since,
};

/// A wake so close to the start of a run may have come before or after the count was read.
const CLOSE_CALL: Nanos = Nanos(1_000_000);

/// More wakes than these cannot be told from those before: a coroutine keeps half of the count.
const MANY_WAKES: u64 = 1 << 15;

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
    /// The latest wake word.
    pub wake: Option<Wake>,
    /// The latest call of `wake()` that a thread told of.
    pub woken: Option<Woken>,
    /// Start of its latest run.
    pub ran_at: Option<Nanos>,
    /// Since when it waits for what it waits for, if it does: runs that ended where the wait before
    /// was, for the same, are no end of it.
    pub wants_since: Nanos,
    /// Since when it waits there, if it does: polls that nobody asked for, and after which it went on
    /// waiting for the same, are no end of it.
    pub waits_since: Nanos,
    /// So many such polls there were.
    pub idle_polls: u32,
    /// Time it waited, as far as it went on since.
    pub waited: Total,
    /// Time it ran, as far as that is over.
    pub ran: Total,
    /// Events seen.
    pub events: u64,
    /// Events before the first that a flight recorder kept.
    pub earlier: u64,
    /// Events known to be missing between those seen.
    pub gaps: u64,
    /// Events it had and events recorded of it, once told.
    pub attempted: Option<Attempted>,
    /// Index of an event whose writer died in the middle of it.
    pub torn: Option<u64>,
    /// Events that a filter kept out.
    pub filtered: u64,
    /// What it did last, if a filter kept that out.
    pub hidden: Option<EventKind>,
    /// Its counts cannot be trusted.
    pub inexact: bool,
    /// A part of the trace that may tell more of it could not be read.
    pub shaken: bool,
    /// How many of its wakers are alive, if that is known.
    pub wakers: Option<u32>,
    /// It was polled without a wake of its own, or inside of another one.
    pub polled_by_others: bool,
    /// A wake of its own has led to a run before.
    pub runs_when_woken: bool,
    /// Inside of which it ran first, if it did inside of one.
    pub(super) host: Option<CoroutineId>,
    /// What ran on its thread before its first run is not known.
    pub(super) surroundings_untold: bool,
    /// It was dropped while it waited.
    pub cancelled: bool,
    /// Two of its events contradict each other.
    pub broken: bool,
    /// What its program summed up of it, as last told.
    pub aggregate: Option<Box<Aggregate>>,
    /// The first wake that is known since it waits; 0 if none is.
    pub(super) first_woken: Nanos,
    /// The wait that ended in the latest run.
    pub(super) resumed: Option<Resumed>,
    /// Sites where it has waited, by number.
    pub(super) visited: Visited,
}

/// Spans, counted and summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: Nanos,
}

/// The account of a [`Tally`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempted {
    /// Events that it had.
    pub attempted: u64,
    /// Events of it in the trace.
    pub recorded: u64,
}

/// A wait that ended in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resumed {
    pub(super) suspended_at: Nanos,
    pub(super) site: u32,
    /// What it waited for; unknown once it has taken that.
    pub(super) wait: WaitKind,
    pub(super) arg: u64,
    /// Wakes that it knew of when that wait began.
    pub(super) wake_seen: u16,
    /// The delay between wake and run has been counted.
    pub(super) queued: bool,
    /// The place that ended it has been counted.
    pub(super) credited: bool,
    /// The run may be a poll that nobody asked for, and that ends nothing: the wait is counted once
    /// that is known.
    pub(super) uncounted: bool,
}

impl Coroutine {
    /// Its latest event, if that is a suspend: what it waits for.
    pub fn suspend(&self) -> Option<&Event> {
        self.last
            .as_ref()
            .filter(|event| event.kind == EventKind::Suspend && self.hidden.is_none())
    }

    /// Whether it has not ended.
    pub fn is_alive(&self) -> bool {
        self.hidden.or(self.last.map(|last| last.kind)) != Some(EventKind::Death)
    }

    /// Events that it had but that are not in the trace, or could not be read from it, unless its
    /// aggregate stands for them.
    pub fn lost(&self) -> u64 {
        let missing = match self.is_summed_up() {
            true => 0,
            false => self.not_recorded().max(self.gaps),
        };
        missing.saturating_add(self.unread_at_the_end())
    }

    /// Events that are in no record but its aggregate, if it has one.
    pub fn summed_up(&self) -> u64 {
        let others = match self.is_summed_up() {
            true => self.not_recorded().max(self.gaps),
            false => 0,
        };
        others.saturating_add(self.earlier)
    }

    /// Without those that a flight recorder did not keep.
    fn not_recorded(&self) -> u64 {
        let told = self.attempted;
        let missing = told.map_or(0, |a| a.attempted.saturating_sub(a.recorded));
        missing.saturating_sub(self.earlier)
    }

    /// Whether its aggregate stands for events that are not in the trace.
    pub fn is_summed_up(&self) -> bool {
        let aggregate = self.aggregate.as_ref();
        aggregate.is_some_and(|it| it.stands_for_events)
    }

    /// Whether its totals may be wrong: those of its aggregate, if it has one, else the sums over
    /// its events.
    pub fn is_approximate(&self) -> bool {
        let left_out = self.aggregate.as_ref().map_or(0, |it| it.left_out);
        self.lost() > 0
            || self.inexact
            || self.shaken
            || self.broken
            || self.torn.is_some()
            || left_out > 0
    }

    /// Whether a sum over its events may be short.
    pub fn misses_events(&self) -> bool {
        self.is_approximate() || self.summed_up() > 0
    }

    /// What it does, as far as known, and since when; since its last known event if a filter kept
    /// out what came after.
    pub fn state(&self) -> (State, Nanos) {
        let latest = self.last.map_or(self.born, |last| last.at);
        let since = self.suspend().map_or(latest, |_| self.waits_since);
        let kind = self.hidden.or(self.last.map(|last| last.kind));
        let state = match kind.unwrap_or(EventKind::Birth) {
            EventKind::Birth => State::Born,
            EventKind::Run => State::Running,
            EventKind::Suspend => State::Suspended,
            EventKind::Death if self.cancelled => State::Cancelled,
            EventKind::Death => State::Dead,
        };
        (state, since)
    }

    /// Since when it runs, if it was seen to, and nothing that may have come after is missing.
    pub fn runs_since(&self) -> Option<Nanos> {
        let (state, since) = self.state();
        let is_known = self.doubt().is_none() && self.hidden.is_none();
        (state == State::Running && is_known).then_some(since)
    }

    /// All that the rule needs, but for what only others can tell.
    pub(super) fn standing(&self, past: Past, started_monotonic_ns: u64) -> Standing {
        let (state, since) = self.state();
        let marks = self.suspend().map(|wait| wait.marks).unwrap_or_default();
        Standing {
            state,
            since,
            dialect: self.dialect,
            missing: MissingStanding {
                lost: self.doubt(),
                filtered: self.hidden.map_or(0, |_| self.filtered),
            },
            wake: self.wake_standing(),
            polls: PollStanding {
                wakers: self.wakers,
                by_others: self.polled_by_others,
                when_woken: self.runs_when_woken,
                keeps_permits: self.kind != CoroutineKind::Future,
                ..PollStanding::default()
            },
            wait: WaitStanding {
                idle: marks.idle,
                one_of_several: marks.one_of_several,
                deadline: self.deadline(started_monotonic_ns),
            },
            past,
            ..Standing::default()
        }
    }

    /// Set if its last event may not be its last: how many are missing.
    pub(super) fn doubt(&self) -> Option<u64> {
        let newest = self.last.map(|event| event.n);
        let torn = self
            .torn
            .is_some_and(|n| newest.is_none_or(|newest| newest < n));
        let unread = self.unread_at_the_end();
        let unread = unread.max(u64::from(newest.is_none() && self.earlier > 0));
        (torn || self.inexact || self.shaken || unread > 0)
            .then(|| self.lost().max(u64::from(torn)))
    }

    /// Events that the trace should have, were not read from it, and lie in no gap that was seen:
    /// they came after the last one read.
    fn unread_at_the_end(&self) -> u64 {
        let Some(Attempted { recorded, .. }) = self.attempted else {
            return 0;
        };
        let damaged = self.gaps.saturating_sub(self.not_recorded());
        recorded.saturating_sub(self.events).saturating_sub(damaged)
    }

    /// A count behind what the coroutine itself had seen was read too early to say anything.
    pub(super) fn wake_standing(&self) -> Option<WakeStanding> {
        let (wake, last) = (self.wake?, self.suspend()?);
        let wakes = self.wakes_since_its_run()?;
        let at = (0 < wake.count).then(|| self.woken_at(&wake));
        let close = |ran: Nanos| at.is_some_and(|at| ran.0.abs_diff(at.0) <= CLOSE_CALL.0);
        // It was dated late, or 65 536 wakes have come since: a coroutine keeps half of the count.
        let is_later = |ran: Nanos| !close(ran) && at.is_some_and(|at| ran < at);
        let spent = self.resumed.is_some_and(|it| it.by_one_wake(last));
        // A wake is counted first and dated later, so a new one may have the date of an old one.
        let is_old = |at: &Nanos| 0 < wakes && self.ran_at.is_some_and(|ran| *at < ran);
        Some(WakeStanding {
            woken: 0 < wakes,
            at: at.filter(|at| !is_old(at)),
            first: Some(self.first_woken).filter(|at| *at != Nanos(0)),
            close_call: match wakes {
                0 => self
                    .ran_at
                    .is_some_and(|ran| !spent && close(ran) || is_later(ran)),
                _ => self.ran_at.is_some_and(close),
            },
        })
    }

    /// Wakes since its last run began, if it waits. Of very many it is known that they are: the latest
    /// is then dated within the wait, though half of the count says that it came before.
    pub fn wakes_since_its_run(&self) -> Option<u64> {
        let (wake, last) = (self.wake?, self.suspend()?);
        let many = || (last.at < self.woken_at(&wake)).then_some(MANY_WAKES);
        wakes_since(wake.count, last.wake_seen).or_else(many)
    }

    /// Somebody woke it.
    pub(super) fn note_first_wake(&mut self, at: Nanos) {
        let is_of_this_wait = self.suspend().is_some_and(|wait| wait.at <= at);
        if is_of_this_wait && self.first_woken == Nanos(0) {
            self.first_woken = at;
        }
    }

    /// Those like it.
    pub fn kin(&self) -> Kin {
        Kin {
            name: self.name,
            spawn_site: self.spawn_site,
        }
    }

    /// When the latest wake was: as its thread told, or else as the station did.
    pub fn woken_at(&self, wake: &Wake) -> Nanos {
        self.call_of(wake).map_or(wake.at, |call| call.at)
    }

    /// The call that this wake was, if its thread told of it. The latest that was told may be another.
    pub fn call_of(&self, wake: &Wake) -> Option<Woken> {
        self.woken.filter(|woken| woken.count == wake.count)
    }

    /// When it became ready for this run, at the earliest: not before it waited, and not before it
    /// was woken, if that was once and was told. `None` if what it did before is missing.
    pub(super) fn ready_before(&self, run: &Event) -> Option<Nanos> {
        let is_next = |last: &&Event| last.n.checked_add(1) == Some(run.n) && !run.after_filtered;
        let from = self.last.as_ref().filter(is_next)?;
        match from.kind {
            EventKind::Birth => Some(from.at),
            EventKind::Suspend if wakes_between(from, run) == 1 => {
                let wakes = [self.wake.map(|it| it.at), self.woken.map(|it| it.at)];
                let within = wakes.into_iter().flatten().filter(|at| *at <= run.at);
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

    pub(super) fn account(&mut self, tally: &Tally) {
        let Tally {
            attempted,
            recorded,
            torn,
            inexact,
            filtered,
            hidden,
            wakers,
            ..
        } = *tally;
        self.attempted = Some(Attempted {
            attempted,
            recorded,
        });
        self.torn = torn;
        self.wakers = wakers;
        (self.filtered, self.hidden) = (filtered, hidden);
        self.inexact |= inexact;
        self.shaken = false;
    }

    /// What is missing of it may have been at any site where it was seen.
    pub(super) fn doubt_its_sites(&self, places: &mut Places) {
        if self.misses_events() {
            places.doubt(self.visited.sites());
        }
    }
}

/// How many wakes came between the run before a suspend and the run after it.
fn wakes_between(suspend: &Event, run: &Event) -> u16 {
    run.wake_seen.wrapping_sub(suspend.wake_seen)
}

impl Resumed {
    /// Between the runs before and after the wait there was one wake. It is the one that ended the
    /// wait, so its coroutine has been queued, and nothing is to come of it any more.
    fn by_one_wake(&self, next: &Event) -> bool {
        next.wake_seen.wrapping_sub(self.wake_seen) == 1
    }
}

impl Total {
    pub(super) fn add(&mut self, span: Nanos) {
        self.count += 1;
        self.sum.0 = self.sum.0.saturating_add(span.0);
    }
}
