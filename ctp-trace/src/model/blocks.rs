//! Which coroutines block each other: in a cycle, behind a stuck coroutine, or by a lock of a coroutine that
//! has ended.

use std::collections::{BTreeMap, BTreeSet};

use super::TraceModel;
use super::coroutine::Coroutine;
use super::holds::Holding;
use crate::record::{CoroutineId, Nanos, Waker};
use crate::verdict::{
    BlockCause, BlockEvidence, Caveat, Confidence, Judgement, Needs, SURE_AFTER, WaitsFor,
    deadlocks, remaining,
};

/// Why a waiting coroutine cannot continue before another coroutine does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The blockers; several if a lock has several holders.
    pub by: Vec<Blocker>,
    /// Why the coroutine may continue although it is blocked.
    pub caveat: Option<Caveat>,
}

impl Block {
    /// Whether the coroutine itself holds the awaited lock and waits for something else too. Then it
    /// consists of two futures, and the other future continues and releases the lock.
    fn has_lock_in_other_half(&self, id: CoroutineId) -> bool {
        let is_more = matches!(
            self.caveat,
            Some(Caveat::OneOfSeveral | Caveat::SeveralWakers)
        );
        is_more
            && self
                .by
                .iter()
                .any(|blocker| blocker.coroutine() == Some(id) || blocker.is_behind_own_hold())
    }

    /// Whether all blockers must release the awaited lock, because they are its readers.
    fn needs_all(&self) -> bool {
        let mut all = self.by.iter();
        1 < self.by.len()
            && all.all(|blocker| matches!(blocker, Blocker::Holder(held) if held.shared))
    }

    /// The blocker that alone keeps the coroutine from continuing: the only blocker, or the first that
    /// has ended if all blockers must release the lock.
    fn decisive(&self) -> Option<&Blocker> {
        match &self.by[..] {
            [blocker] => Some(blocker),
            readers if self.needs_all() => readers.iter().find(|blocker| blocker.ended().is_some()),
            _ => None,
        }
    }
}

/// What blocks a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocker {
    /// The holder of the awaited lock.
    Holder(Holding),
    /// The coroutine from which a completion or message is awaited.
    Awaited(CoroutineId),
    /// The coroutine that polls the blocked coroutine inside itself, and does not do so now.
    Host(CoroutineId),
    /// The coroutine that the blocked coroutine polls inside itself.
    Inside(CoroutineId),
    /// The coroutine that waits first for the awaited lock, which only readers hold. A reader waits only
    /// behind a writer.
    Ahead {
        /// The first waiter.
        first: CoroutineId,
        /// The blocked coroutine is itself a holder of the lock.
        is_holder: bool,
    },
    /// The last holder of the awaited lock, which has been free since it was released.
    PreviousHolder(Holding),
}

impl Blocker {
    /// The blocking coroutine, if the blocker is a coroutine.
    pub fn coroutine(&self) -> Option<CoroutineId> {
        match *self {
            Blocker::Holder(Holding {
                by: Waker::Coroutine(id),
                ..
            })
            | Blocker::Awaited(id)
            | Blocker::Ahead { first: id, .. }
            | Blocker::Host(id)
            | Blocker::Inside(id) => Some(id),
            Blocker::Holder(_) | Blocker::PreviousHolder(_) => None,
        }
    }

    /// Whether the blocked coroutine waits behind another waiter, and holds the lock itself.
    fn is_behind_own_hold(&self) -> bool {
        matches!(self, Blocker::Ahead { is_holder, .. } if *is_holder)
    }

    /// The blocking coroutine, unless that has ended.
    fn alive(&self) -> Option<CoroutineId> {
        self.coroutine().filter(|_| self.ended().is_none())
    }

    /// When the blocker acquired or released the lock; 0 if the blocker is no holder.
    fn taken(&self) -> Nanos {
        match self {
            Blocker::Holder(holding) | Blocker::PreviousHolder(holding) => holding.at,
            _ => Nanos(0),
        }
    }

    /// When the blocker ended; `None` if alive.
    fn ended(&self) -> Option<Nanos> {
        match self {
            Blocker::Holder(holding) => holding.ended,
            _ => None,
        }
    }
}

/// All blocked coroutines of a trace.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    of: BTreeMap<CoroutineId, Block>,
    cycles: Vec<Vec<CoroutineId>>,
    /// The coroutines in cycles and behind them.
    remaining: BTreeSet<CoroutineId>,
    /// For each coroutine in a cycle, the index of the cycle.
    cycle: BTreeMap<CoroutineId, usize>,
    /// The evidence about each cycle.
    all_evidence: Vec<Option<BlockEvidence>>,
    /// For each coroutine that waits for others: the coroutine at the end of the chain, and why the
    /// chain may continue all the same.
    roots: BTreeMap<CoroutineId, (CoroutineId, Option<Caveat>)>,
}

impl Blocks {
    /// What blocks the coroutine.
    pub fn of(&self, id: CoroutineId) -> Option<&Block> {
        self.of.get(&id)
    }

    /// The cycles: each coroutine waits for the next, and the last for the first.
    pub fn cycles(&self) -> &[Vec<CoroutineId>] {
        &self.cycles
    }

    /// The end of the chain of blockers: a coroutine that is not known to be blocked, or is in a cycle;
    /// and the worst caveat along the chain.
    fn root_of(&self, id: CoroutineId) -> Option<(CoroutineId, Option<Caveat>)> {
        self.roots.get(&id).copied()
    }

    /// Follows each chain until it reaches a coroutine with a known root.
    fn find_roots(&mut self) {
        let ids: Vec<_> = self.of.keys().copied().collect();
        for id in ids {
            let (mut path, mut at) = (Vec::new(), id);
            while let Some(next) = self.next(at).filter(|_| !self.roots.contains_key(&at)) {
                path.push(at);
                at = next;
            }
            let (root, mut caveat) = self.root_of(at).unwrap_or((at, None));
            for at in path.into_iter().rev() {
                let own = self.of(at).and_then(|block| block.caveat);
                caveat = [caveat, own].into_iter().flatten().min();
                self.roots.insert(at, (root, caveat));
            }
        }
    }

    /// The only blocker of the coroutine, if the coroutine is in no cycle. A coroutine that polls
    /// another may have more to poll (as with a timeout), so it does not count as blocked by that other.
    fn next(&self, id: CoroutineId) -> Option<CoroutineId> {
        let block = self.of(id)?;
        match block.by[..] {
            [Blocker::Inside(_)] => None,
            [_] if block.has_lock_in_other_half(id) => None,
            _ if self.cycle.contains_key(&id) => None,
            [blocker] => blocker.alive(),
            _ if block.needs_all() => self.deadlocked(block),
            _ => None,
        }
    }

    /// The first blocker that is in a cycle or behind one.
    fn deadlocked(&self, block: &Block) -> Option<CoroutineId> {
        let mut blockers = block.by.iter().filter_map(Blocker::alive);
        blockers.find(|blocker| self.remaining.contains(blocker))
    }

    /// Since when the coroutine waits for its current blockers.
    fn since(&self, coroutine: &Coroutine) -> Nanos {
        let blockers = self
            .of(coroutine.id)
            .into_iter()
            .flat_map(|block| &block.by);
        blockers
            .map(Blocker::taken)
            .fold(coroutine.waits.wants_since, Nanos::max)
    }

    fn caveat_of(&self, ids: &[CoroutineId]) -> Option<Caveat> {
        let blocks = ids.iter().filter_map(|id| self.of(*id));
        blocks.filter_map(|block| block.caveat).min()
    }
}

impl TraceModel {
    /// The coroutines that are blocked, as far as the records show.
    pub fn blocks(&self) -> Blocks {
        let others = self.others();
        let all = self.coroutines.all().iter();
        let of: BTreeMap<_, _> = all
            .filter_map(|coroutine| Some((coroutine.id, self.block(coroutine, &others)?)))
            .collect();
        let waits = waits_for(&of);
        let cycles = deadlocks(&waits);
        let mut blocks = Blocks {
            of,
            remaining: remaining(&waits),
            ..Blocks::default()
        };
        for (at, cycle) in cycles.iter().enumerate() {
            let evidence = self.cycle_evidence(cycle, &blocks);
            blocks.all_evidence.push(evidence);
            blocks.cycle.extend(cycle.iter().map(|id| (*id, at)));
        }
        blocks.cycles = cycles;
        blocks.find_roots();
        blocks
    }

    /// The common evidence about the members of a cycle.
    fn cycle_evidence(&self, cycle: &[CoroutineId], blocks: &Blocks) -> Option<BlockEvidence> {
        let members: Vec<_> = cycle.iter().filter_map(|id| self.get(*id)).collect();
        let since = members.iter().map(|member| blocks.since(member)).max()?;
        let mut members = members.into_iter();
        let ran_again = members.find_map(|member| self.ran_after(member, since));
        Some(BlockEvidence {
            block_cause: BlockCause::Cycle,
            since,
            caveat: blocks.caveat_of(cycle).or(ran_again),
        })
    }

    /// The evidence about what blocks the coroutine: a cycle, or a lock. Chains are left to
    /// [`behind`](Self::behind).
    pub(super) fn block_evidence(
        &self,
        coroutine: &Coroutine,
        blocks: &Blocks,
    ) -> Option<BlockEvidence> {
        if let Some(at) = blocks.cycle.get(&coroutine.id) {
            return blocks.all_evidence[*at];
        }
        let block = blocks.of(coroutine.id)?;
        let blocker = *block.decisive()?;
        let (block_cause, at) = match blocker {
            Blocker::PreviousHolder(holding) => (BlockCause::Unclaimed, holding.at),
            _ => (BlockCause::Ended(blocker.coroutine()?), blocker.ended()?),
        };
        let since = at.max(blocks.since(coroutine));
        Some(BlockEvidence {
            block_cause,
            since,
            caveat: block.caveat.or(self.ran_after(coroutine, since)),
        })
    }

    /// The evidence about a coroutine that is blocked, through a chain, by a stuck coroutine. A verdict that
    /// is already certain stays.
    pub(super) fn behind(
        &self,
        coroutine: &Coroutine,
        blocks: &Blocks,
        judged: &BTreeMap<CoroutineId, Judgement>,
    ) -> Option<BlockEvidence> {
        let own = judged.get(&coroutine.id)?;
        if own.verdict.is_stuck() && own.confidence == Confidence::Certain {
            return None;
        }
        let (root, caveat) = blocks.root_of(coroutine.id)?;
        let root_judgement = judged
            .get(&root)
            .filter(|judged| judged.verdict.is_stuck())?;
        let is_sure = root_judgement.confidence == Confidence::Certain;
        let of_blocker = (!is_sure).then_some(Caveat::BlockerUncertain);
        let since = blocks.since(coroutine);
        Some(BlockEvidence {
            block_cause: BlockCause::Behind(root),
            since,
            caveat: caveat.or(of_blocker).or(self.ran_after(coroutine, since)),
        })
    }

    /// The caveat for a coroutine that ran after `since`, only recently, and waits for the same again.
    fn ran_after(&self, coroutine: &Coroutine, since: Nanos) -> Option<Caveat> {
        let (_, latest) = coroutine.state();
        let is_recent = latest.until(self.end_of(coroutine.process)) < SURE_AFTER;
        (since < latest && is_recent).then_some(Caveat::RanAgain)
    }
}

/// The wait-for graph. A coroutine is in no cycle if a thread, or a coroutine that has ended, blocks it.
fn waits_for(of: &BTreeMap<CoroutineId, Block>) -> WaitsFor {
    of.iter()
        .filter(|(id, block)| !block.has_lock_in_other_half(**id))
        .filter_map(|(id, block)| Some((*id, needs(block)?)))
        .collect()
}

/// What the coroutine needs. If all readers of a lock have to release it, only the readers that are alive
/// count.
fn needs(block: &Block) -> Option<Needs> {
    let all = block.needs_all();
    let alive = block.by.iter().map(Blocker::alive);
    let of: Vec<_> = if all {
        alive.flatten().collect()
    } else {
        alive.collect::<Option<_>>()?
    };
    (!of.is_empty()).then_some(Needs { of, all })
}
