//! What keeps those that wait: who holds their lock, whose end they wait for, who would have to poll
//! them, or what they poll themselves.

use std::collections::BTreeMap;

use super::closings;
use super::coroutine::Coroutine;
use super::holds::{Held, Holding};
use super::{Census, ProcessId};
use crate::hash::Map;
use crate::record::{CoroutineId, Event, Nanos, WaitKind, Waker};
use crate::verdict::{
    BlockStanding, Confidence, Doubt, Judgement, Obstacle, SURE_AFTER, State, WaitsFor, deadlocks,
    doubt_of_others,
};

/// Why a coroutine that waits cannot go on before another one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What keeps it. Several keep it where a lock has several holders.
    pub by: Vec<Keeper>,
    /// Why it may go on all the same.
    pub doubt: Option<Doubt>,
}

/// One that keeps another one waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keeper {
    /// It holds the lock.
    Holder(Holding),
    /// It is the one whose end, or word, is waited for.
    Awaited(CoroutineId),
    /// It is the one that polls it, which it does not do now.
    Host(CoroutineId),
    /// It is the one that it polls, inside of itself.
    Inside(CoroutineId),
}

impl Keeper {
    /// Which coroutine, if it is one.
    pub fn coroutine(&self) -> Option<CoroutineId> {
        match *self {
            Keeper::Holder(Holding {
                by: Waker::Coroutine(id),
                ..
            })
            | Keeper::Awaited(id)
            | Keeper::Host(id)
            | Keeper::Inside(id) => Some(id),
            Keeper::Holder(_) => None,
        }
    }

    /// The same, if it may go on.
    fn alive(&self) -> Option<CoroutineId> {
        self.coroutine().filter(|_| self.ended().is_none())
    }

    /// When it took what it holds.
    fn taken(&self) -> Nanos {
        match self {
            Keeper::Holder(holding) => holding.at,
            _ => Nanos(0),
        }
    }

    /// When it ended, if it has.
    fn ended(&self) -> Option<Nanos> {
        match self {
            Keeper::Holder(holding) => holding.ended,
            _ => None,
        }
    }
}

/// All of a census that keeps anybody.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    of: BTreeMap<CoroutineId, Block>,
    cycles: Vec<Vec<CoroutineId>>,
    /// Which of the cycles each is in.
    cycle: BTreeMap<CoroutineId, usize>,
    /// Of each that waits for others, on whom all of those wait in the end, and why they may go on
    /// all the same.
    roots: BTreeMap<CoroutineId, (CoroutineId, Option<Doubt>)>,
}

/// Whom coroutines may wait for.
struct Others {
    /// By the id that programs know.
    awaited: Map<(ProcessId, u64), CoroutineId>,
    /// By the one inside of which they ran first.
    inside: Map<CoroutineId, Vec<CoroutineId>>,
}

impl Blocks {
    /// What keeps this one.
    pub fn of(&self, id: CoroutineId) -> Option<&Block> {
        self.of.get(&id)
    }

    /// Those of whom each waits for the next one, and the last for the first.
    pub fn cycles(&self) -> &[Vec<CoroutineId>] {
        &self.cycles
    }

    /// The cycle that this one is in.
    pub fn cycle_of(&self, id: CoroutineId) -> Option<&[CoroutineId]> {
        self.cycle.get(&id).map(|at| self.cycles[*at].as_slice())
    }

    /// Of those that keep it, those that keep these, and so on, the one that nothing is known to keep,
    /// or that is in a cycle; and why one of those in between may go on all the same.
    fn root_of(&self, id: CoroutineId) -> Option<(CoroutineId, Option<Doubt>)> {
        self.roots.get(&id).copied()
    }

    /// Looked up from one to the next until one is met that is known already.
    fn find_roots(&mut self) {
        let ids: Vec<_> = self.of.keys().copied().collect();
        for id in ids {
            let (mut path, mut at) = (Vec::new(), id);
            while let Some(next) = self.next(at).filter(|_| !self.roots.contains_key(&at)) {
                path.push(at);
                at = next;
            }
            let (root, mut doubt) = self.root_of(at).unwrap_or((at, None));
            for at in path.into_iter().rev() {
                let own = self.of(at).and_then(|block| block.doubt);
                doubt = [doubt, own].into_iter().flatten().min();
                self.roots.insert(at, (root, doubt));
            }
        }
    }

    /// The only one that keeps it, if it is in no cycle. One that polls another one may have more to
    /// poll, as a timeout, which is no news as long as that comes.
    fn next(&self, id: CoroutineId) -> Option<CoroutineId> {
        match self.of(id)?.by[..] {
            [Keeper::Inside(_)] => None,
            [keeper] if !self.cycle.contains_key(&id) => keeper.alive(),
            _ => None,
        }
    }

    /// Since when this one waits for those that keep it now.
    fn since(&self, one: &Coroutine) -> Nanos {
        let keepers = self.of(one.id).into_iter().flat_map(|block| &block.by);
        keepers.map(Keeper::taken).fold(one.wants_since, Nanos::max)
    }

    fn doubt_of(&self, ids: &[CoroutineId]) -> Option<Doubt> {
        let blocks = ids.iter().filter_map(|id| self.of(*id));
        blocks.filter_map(|block| block.doubt).min()
    }
}

impl Census {
    /// What keeps those that wait, as far as that was told.
    pub fn blocks(&self) -> Blocks {
        let others = Others {
            awaited: self.awaited(),
            inside: self.inside(),
        };
        let all = self.coroutines.all().iter();
        let of: BTreeMap<_, _> = all
            .filter_map(|one| Some((one.id, self.block(one, &others)?)))
            .collect();
        let cycles = deadlocks(&waits_for(&of));
        let members = |(at, cycle): (usize, &Vec<CoroutineId>)| {
            cycle.iter().map(move |id| (*id, at)).collect::<Vec<_>>()
        };
        let cycle = cycles.iter().enumerate().flat_map(members).collect();
        let mut blocks = Blocks {
            of,
            cycles,
            cycle,
            roots: BTreeMap::new(),
        };
        blocks.find_roots();
        blocks
    }

    /// By the id that programs know, those for whom anybody may wait.
    fn awaited(&self) -> Map<(ProcessId, u64), CoroutineId> {
        let all = || self.coroutines.all().iter();
        let waits = |one: &Coroutine| {
            one.suspend()
                .is_some_and(|it| it.wait == WaitKind::Coroutine)
        };
        if !all().any(waits) {
            return Map::default();
        }
        let alive = all().filter(|one| one.is_alive() && one.probe_id != 0);
        alive
            .map(|one| ((one.process, one.probe_id), one.id))
            .collect()
    }

    /// Those that run inside of each.
    fn inside(&self) -> Map<CoroutineId, Vec<CoroutineId>> {
        let mut inside = Map::<_, Vec<_>>::default();
        let alive = self.coroutines.all().iter().filter(|one| one.is_alive());
        for (host, id) in alive.filter_map(|one| Some((one.host?, one.id))) {
            inside.entry(host).or_default().push(id);
        }
        inside
    }

    /// What keeps this one, if it is known to wait.
    fn block(&self, one: &Coroutine, others: &Others) -> Option<Block> {
        let is_known = one.state().0 == State::Suspended && one.doubt().is_none();
        let wait = one.suspend().filter(|_| is_known)?;
        let wake = one.wake_standing();
        if wake.is_some_and(|wake| wake.woken) {
            return self.unpolled(one);
        }
        let (by, doubt) = match wait.wait {
            WaitKind::Coroutine => {
                let id = *others.awaited.get(&(one.process, wait.arg))?;
                (vec![Keeper::Awaited(id)], self.doubt_since(one, wait.at))
            }
            WaitKind::Unknown => self.around(one, wait, others)?,
            _ => self.held(one, wait)?,
        };
        let of_wake = match wake {
            None => Some(Doubt::WakesNotTold),
            Some(wake) => wake.close_call.then_some(Doubt::CloseCall),
        };
        let doubt = of_wake
            .or(doubt)
            .or_else(|| doubt_of_others(wait.marks.one_of_several, one.wakers))
            .or_else(|| self.host_of(one).map(|_| Doubt::DroppedInside));
        Some(Block { by, doubt })
    }

    /// The one inside of which it ran first, if that is there.
    fn host_of(&self, one: &Coroutine) -> Option<CoroutineId> {
        one.host.filter(|host| self.get(*host).is_some())
    }

    /// It tells of no wait of its own, and polls those that run inside of it.
    fn around(
        &self,
        one: &Coroutine,
        wait: &Event,
        others: &Others,
    ) -> Option<(Vec<Keeper>, Option<Doubt>)> {
        let inside = others.inside.get(&one.id)?;
        let is_alone = one.wakers == Some(1) && !wait.marks.one_of_several;
        let is_woken = |id: &CoroutineId| {
            let wake = self.get(*id).and_then(Coroutine::wake_standing);
            wake.is_some_and(|wake| wake.woken)
        };
        if !is_alone || inside.iter().any(is_woken) {
            return None;
        }
        let by = inside.iter().copied().map(Keeper::Inside).collect();
        Some((by, Some(Doubt::MayDrop)))
    }

    /// It was woken, and goes on once the one polls it inside of which it ran first.
    fn unpolled(&self, one: &Coroutine) -> Option<Block> {
        let host = self.host_of(one)?;
        Some(Block {
            by: vec![Keeper::Host(host)],
            doubt: Some(Doubt::PolledInside),
        })
    }

    /// Who holds the lock that it waits for.
    fn held(&self, one: &Coroutine, wait: &Event) -> Option<(Vec<Keeper>, Option<Doubt>)> {
        if !matches!(wait.wait, WaitKind::Lock | WaitKind::User) {
            return None; // a channel may lie where a lock does
        }
        let resource = closings::resource(one.process, wait.wait, wait.arg)?;
        let held = self.holds.get(&resource)?;
        if held.holders.iter().any(|it| self.may_be_given_back(it)) {
            return None;
        }
        let mut holders = held.holders.clone();
        holders.dedup_by_key(|it| it.by); // one may take it again
        let by = holders.into_iter().map(Keeper::Holder).collect();
        Some((by, self.doubt_of_holders(one, held)))
    }

    /// While recording is stopped nobody tells what is given back. Who has not run since has not done so.
    fn may_be_given_back(&self, holding: &Holding) -> bool {
        let last_ran = match (holding.ended, holding.by) {
            (Some(ended), _) => Some(ended),
            (None, Waker::Coroutine(id)) => {
                self.get(id).and_then(Coroutine::suspend).map(|it| it.at)
            }
            (None, _) => None,
        };
        let until = last_ran.unwrap_or(Nanos(u64::MAX));
        self.filtering.was_stopped_between(holding.at, until)
    }

    /// Why those that took it may not be those that have it.
    fn doubt_of_holders(&self, one: &Coroutine, held: &Held) -> Option<Doubt> {
        let since = held.holders.iter().map(|it| it.at).min()?;
        let is_told = !self.losses.any_since(one.process, since)
            && self.window.is_none()
            && self.holds.are_all()
            && self.tells_all_runs(one.process);
        match self.doubt_since(one, since) {
            None if !is_told => Some(Doubt::Incomplete),
            None if self.has_refused() && held.holders.iter().any(|it| it.ended.is_some()) => {
                Some(Doubt::Incomplete)
            }
            None if held.shared => Some(Doubt::Shared),
            None if !self.holds.are_told(one.process) => Some(Doubt::Moved),
            None if held.holders.iter().any(|it| it.is_left) => Some(Doubt::Moved),
            doubt => doubt,
        }
    }

    /// Why what was told since may not be all.
    fn doubt_since(&self, one: &Coroutine, since: Nanos) -> Option<Doubt> {
        let is_missing = self.damaged
            || one.attempted.is_none()
            || self.filtering.was_in_force_since(since.min(one.state().1));
        is_missing.then_some(Doubt::Incomplete)
    }

    /// Whether all of its threads that ran coroutines told all that they did.
    fn tells_all_runs(&self, process: ProcessId) -> bool {
        self.runners.get(process).is_none_or(|them| them.are_told())
    }

    /// What the rule is to know of what keeps a coroutine, but for those that others keep.
    pub(super) fn block_standing(&self, one: &Coroutine, blocks: &Blocks) -> Option<BlockStanding> {
        if let Some(cycle) = blocks.cycle_of(one.id) {
            let members = || cycle.iter().filter_map(|id| self.get(*id));
            let since = members().map(|it| blocks.since(it)).max()?;
            let ran_again = members().find_map(|it| self.ran_after(it, since));
            return Some(BlockStanding {
                obstacle: Obstacle::Cycle,
                since,
                doubt: blocks.doubt_of(cycle).or(ran_again),
            });
        }
        let block = blocks.of(one.id)?;
        let [keeper] = block.by[..] else { return None };
        let (ended, holder) = (keeper.ended()?, keeper.coroutine()?);
        let since = ended.max(blocks.since(one));
        Some(BlockStanding {
            obstacle: Obstacle::Ended(holder),
            since,
            doubt: block.doubt.or(self.ran_after(one, since)),
        })
    }

    /// The same of one that waits for one that is stuck, or for others that do. What is certain of it
    /// already stays.
    pub(super) fn behind(
        &self,
        one: &Coroutine,
        blocks: &Blocks,
        judged: &BTreeMap<CoroutineId, Judgement>,
    ) -> Option<BlockStanding> {
        let own = judged.get(&one.id)?;
        if own.verdict.is_stuck() && own.confidence == Confidence::Certain {
            return None;
        }
        let (root, doubt) = blocks.root_of(one.id)?;
        let root_is = judged.get(&root).filter(|it| it.verdict.is_stuck())?;
        let is_sure = root_is.confidence == Confidence::Certain;
        let of_keeper = (!is_sure).then_some(Doubt::OfItsKeeper);
        let since = blocks.since(one);
        Some(BlockStanding {
            obstacle: Obstacle::Behind(root),
            since,
            doubt: doubt.or(of_keeper).or(self.ran_after(one, since)),
        })
    }

    /// Whether it has but just run, and waits anew for what it waited for then already.
    fn ran_after(&self, one: &Coroutine, since: Nanos) -> Option<Doubt> {
        let (_, latest) = one.state();
        let is_recent = latest.until(self.end_of(one.process)) < SURE_AFTER;
        (since < latest && is_recent).then_some(Doubt::RanAgain)
    }
}

/// Those of whom one has to go on first. One that is kept by a thread, or by somebody who has ended,
/// is in no cycle.
fn waits_for(of: &BTreeMap<CoroutineId, Block>) -> WaitsFor {
    let keepers = |block: &Block| -> Option<Vec<CoroutineId>> {
        block.by.iter().map(Keeper::alive).collect()
    };
    of.iter()
        .filter_map(|(id, block)| Some((*id, keepers(block)?)))
        .collect()
}
