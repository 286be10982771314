//! One pass over the records: what became of each coroutine, and what is usual at each site.
//!
//! The recorder feeds each record that it writes, the reporter each one that it reads, and both
//! come to the same verdicts. No event is kept: memory grows with the coroutines that live, the
//! locks that are held and the sites that exist, not with the length of the recording.

mod accounts;
mod blocks;
mod broken;
mod closings;
mod coroutine;
mod deeds;
mod families;
mod filtering;
mod flight;
pub mod gaps;
mod habits;
mod holds;
mod joins;
mod judging;
mod kept;
mod lives;
mod looks;
mod losses;
mod named;
mod names;
mod population;
mod recent;
mod runners;
mod site;
mod span;
mod wakers;

use std::collections::BTreeMap;

use crate::hash::Map;
use crate::record::{
    Aggregate, Birth, Control, CoroutineId, Dialect, End, Event, EventKind, Nanos, ProcessEnd,
    ProcessEnding, ProcessId, Record, SiteId, Tally, WaitKind, Wake, Window,
};
use crate::verdict::Past;
use accounts::Accounts;
use broken::Breakages;
use closings::Closings;
use families::Families;
use habits::Habits;
use holds::Holds;
use joins::Joins;
use lives::Lives;
use looks::Looks;
use losses::Losses;
use named::ByName;
use names::Names;
use population::Population;
use recent::Recent;
use runners::Runners;
use site::Places;

pub use blocks::{Block, Blocks, Keeper};
pub use broken::{Breach, Broken, Contradiction};
pub use closings::Closing;
pub use coroutine::{Account, Coroutine, Total, Totals, Waits, Wakes};
pub use families::{Family, FamilyId, Occupant, Parent};
pub use filtering::Filtering;
pub use gaps::Gap;
pub use holds::Holding;
pub use looks::Looked;
pub use losses::{LostRecords, ThreadLoss};
pub use named::{Kin, Named};
pub use names::{NameId, stem};
pub use site::{MOST_SITES, SiteStats};
pub use span::{Doing, Span};
pub use wakers::{Wakers, Woken};

/// The account of a trace, kept up record by record.
#[derive(Clone, Debug, Default)]
pub struct Census {
    started_monotonic_ns: u64,
    /// Of all records.
    latest: Nanos,
    /// Of those before which all is told.
    told: Nanos,
    end: Option<End>,
    accounts: Accounts,
    coroutines: Population,
    places: Places,
    names: Names,
    families: Families,
    runners: Recent<ProcessId, Runners>,
    /// When processes ended that ended before the recording.
    ends: Map<ProcessId, ProcessEnd>,
    breakages: Breakages,
    closings: Closings,
    joins: Joins,
    habits: Habits,
    holds: Holds,
    lives: Lives,
    looks: Looks,
    losses: Losses,
    /// A part of the trace could not be read.
    damaged: bool,
    totals: Totals,
    /// What those had summed up that are forgotten.
    named: ByName,
    filtering: Filtering,
    window: Option<Window>,
}

impl Census {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one record into account, in the order of the trace. Returns what an event ended.
    pub fn feed(&mut self, record: &Record) -> Option<Span> {
        self.accounts.count(record);
        match record {
            Record::Start(start) => self.started_monotonic_ns = start.started_monotonic_ns,
            Record::Birth(birth) => self.birth(birth),
            Record::Event(event) => return self.event(event),
            Record::Wake(wake) => self.wake(wake),
            Record::Deed(deed) => self.deed(deed),
            Record::Tally(tally) => self.tally(tally),
            Record::Aggregate(it) => self.aggregate(it),
            Record::ProcessEnd(end) => self.process_end(end),
            Record::Control(control) => self.control(control),
            Record::Window(window) => self.window = Some(*window),
            Record::Earlier(it) => self
                .coroutines
                .of(it.coroutine)
                .account
                .note_earlier(it.events),
            Record::Former(it) => self.former(it),
            Record::Look(look) => self.looks.note(look),
            Record::Watermark(at) => self.advance_to(*at),
            Record::End(end) => self.end = Some(*end),
            _ => {}
        }
        None
    }

    /// Are there coroutines that found no room, so that nothing is told of them?
    fn has_refused(&self) -> bool {
        self.end.is_some_and(|end| end.refused > 0)
    }

    /// All that happened until then is told: while a recording goes on, ages are measured to this.
    pub fn advance_to(&mut self, at: Nanos) {
        self.tell_until(at);
    }

    /// A part of the trace could not be read here: until more is read of a coroutine, what it was
    /// last seen doing may not be the last that it did.
    pub fn damaged(&mut self) {
        self.damaged = true;
        self.accounts.unreadable_parts += 1;
        self.shake();
    }

    fn shake(&mut self) {
        // A damaged trace may shake without end: all others are as the latest time left them.
        for one in self.coroutines.take_changed() {
            one.account.note_damage();
        }
    }

    /// Other events are kept from here on. Until it is told what they were, those that are kept out
    /// may be the latest of any coroutine.
    fn control(&mut self, control: &Control) {
        if control.is_in_force() {
            self.shake();
        }
        self.filtering.note(control);
    }

    /// When something was kept out, and what.
    pub fn filtering(&self) -> &Filtering {
        &self.filtering
    }

    /// Events that filters kept out.
    pub fn filtered(&self) -> u64 {
        self.totals.filtered
    }

    /// The coroutines that are not known to be over, by id.
    pub fn coroutines(&self) -> Vec<&Coroutine> {
        let mut all: Vec<_> = self.coroutines.all().iter().collect();
        all.sort_unstable_by_key(|coroutine| coroutine.id);
        all
    }

    /// One coroutine, unless it is unknown or over and accounted for.
    pub fn get(&self, id: CoroutineId) -> Option<&Coroutine> {
        self.coroutines.get(id)
    }

    /// The name of this number, empty if a coroutine has none.
    pub fn name(&self, name: NameId) -> &str {
        self.names.get(name)
    }

    /// Where a coroutine is: where it waits, else where it waited last, else where it was spawned.
    pub fn place_of(&self, one: &Coroutine) -> SiteId {
        let waits = one.suspend().map(|wait| wait.site);
        let waited = || self.resumed_from(one).map(|stats| stats.site);
        waits.or_else(waited).unwrap_or(one.spawn_site)
    }

    /// Where this coroutine waited before its latest run; `None` if that is not known.
    pub fn resumed_from(&self, coroutine: &Coroutine) -> Option<&SiteStats> {
        let resumed_at = coroutine.waits.resumed_at()?;
        Some(self.places.get(resumed_at))
    }

    /// The waits of one sort at one place, without those that are open.
    pub fn site(&self, site: SiteId, wait: WaitKind) -> Option<&SiteStats> {
        self.places.find(site, wait)
    }

    /// What is usual where this coroutine waits. Where too few events are known for that, what is
    /// usual for those of its name.
    pub fn past(&self, coroutine: &Coroutine) -> Past {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        let past = stats.map(SiteStats::past).unwrap_or_default();
        match coroutine.account.has_earlier_totals() {
            true => coroutine.past(past, self.named(coroutine.kin()).as_ref()),
            false => past,
        }
    }

    /// Whether [`past`](Census::past) is what is usual for coroutines of its name, not where it
    /// waits.
    pub fn is_past_of_name(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        coroutine.needs_past_of_name(&stats.map(SiteStats::past).unwrap_or_default())
    }

    /// The sites where coroutines waited, with the waits and the runs that are open at the end.
    pub fn sites(&self) -> Vec<SiteStats> {
        let mut places = self.places.clone();
        for one in self.coroutines.all() {
            let end = self.end_of(one.process);
            if let Some(wait) = one.suspend() {
                places
                    .at(wait.site, wait.wait)
                    .open
                    .add(one.waits.since().until(end));
            }
            if let (Some(since), Some(from)) = (one.runs_since(), one.waits.resumed_at()) {
                one.waits.count(&mut places);
                places.by_number(from).runs.add(since.until(end));
            }
            if one.account.misses_events() {
                one.doubt_its_sites(&mut places);
            }
        }
        places.into_sites()
    }

    /// Sums over all coroutines.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The closing account, if the trace has one.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// When the recording ended, as far as known: every age is measured to this. While it goes on, or
    /// where the recorder was killed, it is the time until which events are told. Births and wakes are read
    /// from stations, and may be told before events of lanes that are earlier: by those, coroutines whose
    /// history is still to come would seem to stand still.
    pub fn end_at(&self) -> Nanos {
        let so_far = if self.told == Nanos(0) {
            self.latest
        } else {
            self.told
        };
        self.end.map_or(so_far, |end| end.at.max(self.latest))
    }

    /// For how long nothing but births and wakes is told at the end of a recording that was not closed.
    pub fn untold(&self) -> Nanos {
        self.end_at().until(self.latest)
    }

    /// When this process ended, or the recording of it: ages of its coroutines are measured to
    /// this.
    pub fn end_of(&self, process: ProcessId) -> Nanos {
        let ended = self.ended_early(process);
        ended.map_or_else(|| self.end_at(), |end| end.at)
    }

    /// How this process ended, if that was before the recording did.
    pub fn ended_early(&self, process: ProcessId) -> Option<&ProcessEnd> {
        self.ends.get(&process)
    }

    /// The first closing of what each that waits does wait for, since it does. Not if recording was
    /// stopped in between: an earlier one may have gone unseen.
    pub fn closings(&self) -> BTreeMap<CoroutineId, Closing> {
        let lost = self.closings.lost(self.coroutines.all());
        let seen = |(id, (_, closing)): (CoroutineId, (u64, Closing))| {
            let since = self.get(id)?.suspend()?.at;
            let is_sure = !self.filtering.was_stopped_between(since, closing.at);
            is_sure.then_some((id, closing))
        };
        lost.into_iter().filter_map(seen).collect()
    }

    /// Losses of threads of a process after a moment, the latest of each thread, in order. Of very
    /// many threads only the latest losses are known.
    pub fn losses_since(&self, process: ProcessId, since: Nanos) -> Vec<ThreadLoss> {
        self.losses.since(process, since)
    }

    /// What threads lost in all.
    pub fn lost_records(&self) -> LostRecords {
        self.losses.all
    }

    /// Whether a sum over the events of some coroutine may be wrong.
    pub fn is_approximate(&self) -> bool {
        let mut all = self.coroutines.all().iter();
        self.totals.approximate || all.any(|one| one.account.is_approximate())
    }

    /// Events known to be missing: as the recorder counted, or more if more cannot be read.
    pub fn lost(&self) -> u64 {
        let told = self.end.map_or(0, |end| {
            end.lost
                .saturating_add(end.events.saturating_sub(self.totals.events))
        });
        told.max(self.lost_by_coroutines())
    }

    /// Events that are missing by the account of the coroutine that had them.
    fn lost_by_coroutines(&self) -> u64 {
        let all = self.coroutines.all().iter().map(|one| one.account.lost());
        let seen = all.fold(0u64, u64::saturating_add);
        seen.saturating_add(self.totals.lost_by_the_dead)
    }

    /// The coroutines whose events contradict each other, by id. Of very many, the first thousand.
    pub fn broken(&self) -> Vec<&Broken> {
        self.breakages.list()
    }

    /// Contradictions of coroutines that are not in that list.
    pub fn broken_besides(&self) -> u64 {
        self.breakages.others
    }

    /// Whether all that a thread did from that moment on is told in its order.
    fn is_told(&self, process: ProcessId, tid: u64, since: Nanos) -> bool {
        match &self.window {
            Some(window) => window.since <= since,
            None => {
                let runners = self.runners.get(process);
                runners.is_some_and(|runners| runners.has_history(tid))
            }
        }
    }

    /// The first run of a coroutine that is known: inside of whom it runs, if all is known of its
    /// thread until then. Where a thread has no history, events of several coroutines are not in their
    /// order.
    fn enter(&mut self, run: &Event, process: ProcessId) {
        let host = self.innermost(process, run.tid).map(|(host, _)| host.id);
        let is_told = self.is_told(process, run.tid, run.at);
        let one = self.coroutines.of(run.coroutine);
        one.polls.enter(host, is_told);
    }

    fn event(&mut self, event: &Event) -> Option<Span> {
        self.tell_until(event.at);
        let one = self.coroutines.of(event.coroutine);
        let is_first_run = event.kind == EventKind::Run && one.waits.ran_at().is_none();
        let (process, is_met) = (one.process, one.family.is_some());
        if !is_met {
            self.meet(event.coroutine, Some(event));
        }
        if is_first_run {
            self.enter(event, process);
        }
        let one = self.coroutines.of(event.coroutine);
        self.holds.event(one, event);
        let runners = self.runners.of(process);
        match event.kind {
            EventKind::Run => {
                let ready = one.ready_before(event);
                runners.ran(one.id, event.tid, event.at, ready);
            }
            EventKind::Suspend | EventKind::Death => runners.left(one.id, event.tid, event.at),
            EventKind::Birth => {}
        }
        if let Some(contradiction) = one.contradiction(event) {
            one.account.note_contradiction();
            self.breakages.note(one, contradiction);
        }
        if let Some(suspend) = one.suspend() {
            self.habits.over(one.process, suspend, event.at);
            self.looks.over(event.coroutine, suspend, event.at);
        }
        let over = self.joins.event(one, event);
        let span = one.step(event, &mut self.places, &mut self.totals);
        one.account.note_filter(self.filtering.is_in_force());
        if let Some(span) = span.filter(|_| one.dialect != Dialect::Extended) {
            self.named.tell(one.kin(), &span, event.kind);
        }
        if event.kind == EventKind::Death {
            self.lives.ended(one, event);
        }
        if let Some((joined, closing)) = over {
            self.close(joined, closing);
        }
        span
    }

    /// Replaces what it had summed up before.
    fn aggregate(&mut self, aggregate: &Aggregate) {
        self.tell_until(aggregate.at);
        let one = self.coroutines.of(aggregate.coroutine);
        one.account.note_aggregate(aggregate);
    }

    fn birth(&mut self, birth: &Birth) {
        self.see(birth.at);
        self.totals.coroutines = self.totals.coroutines.saturating_add(1);
        let name = self.names.intern(&birth.name);
        self.coroutines.describe(birth, name);
        self.joins.born(birth.process, birth.probe_id);
    }

    fn wake(&mut self, wake: &Wake) {
        self.see(wake.at);
        let one = self.coroutines.of(wake.coroutine);
        one.wake(wake, &mut self.places);
    }

    /// The final account; whoever is over is forgotten.
    fn tally(&mut self, tally: &Tally) {
        if self.coroutines.of(tally.coroutine).family.is_none() {
            self.meet(tally.coroutine, None);
        }
        let one = self.coroutines.of(tally.coroutine);
        one.close(tally);
        self.accounts.inexact |= one.account.is_inexact();
        self.totals.filtered = self.totals.filtered.saturating_add(tally.filtered);
        if !one.is_alive() {
            self.forget(tally.coroutine);
        }
    }

    fn forget(&mut self, id: CoroutineId) {
        self.looks.forget(id);
        if let Some(one) = self.coroutines.remove(id) {
            let lost = &mut self.totals.lost_by_the_dead;
            *lost = lost.saturating_add(one.account.lost());
            let summed_up = &mut self.totals.summed_up_of_the_dead;
            *summed_up = summed_up.saturating_add(one.account.summed_up());
            self.totals.approximate |= one.account.is_approximate();
            self.named.add(&one, Nanos(0));
            one.doubt_its_sites(&mut self.places);
        }
    }

    /// Coroutines of a process that ended stand as they are. Those of an image that another one
    /// has replaced are over with it.
    fn process_end(&mut self, end: &ProcessEnd) {
        self.tell_until(end.at);
        if end.how != ProcessEnding::Exec {
            self.ends.insert(end.process, *end);
            return;
        }
        let over = self.coroutines.of_process(end.process);
        over.into_iter().for_each(|id| self.forget(id));
    }

    fn see(&mut self, at: Nanos) {
        self.latest = self.latest.max(at);
    }

    fn tell_until(&mut self, at: Nanos) {
        self.see(at);
        self.told = self.told.max(at);
    }
}
