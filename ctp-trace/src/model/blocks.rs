//! Those that keep each other: in a cycle, behind one that is stuck, or by what is held by nobody who
//! would give it back.

use std::collections::BTreeMap;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::holds::Holding;
use crate::record::{CoroutineId, Nanos, Waker};
use crate::verdict::{
    BlockCause, BlockEvidence, Caveat, Confidence, Judgement, SURE_AFTER, WaitsFor, deadlocks,
};

/// Why a coroutine that waits cannot go on before another one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What keeps it. Several keep it where a lock has several holders.
    pub by: Vec<Blocker>,
    /// Why it may go on all the same.
    pub caveat: Option<Caveat>,
}

impl Block {
    /// What has the lock that it wants, and waits for something else too, is two futures in one: the
    /// other one goes on, and gives it back.
    fn is_kept_by_other_half(&self, id: CoroutineId) -> bool {
        let is_more = matches!(
            self.caveat,
            Some(Caveat::OneOfSeveral | Caveat::SeveralWakers)
        );
        is_more
            && self
                .by
                .iter()
                .any(|blocker| blocker.coroutine() == Some(id))
    }
}

/// One that keeps another one waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocker {
    /// It holds the lock.
    Holder(Holding),
    /// It is the one whose end, or word, is waited for.
    Awaited(CoroutineId),
    /// It is the one that polls it, which it does not do now.
    Host(CoroutineId),
    /// It is the one that it polls, inside of itself.
    Inside(CoroutineId),
    /// It held the lock, and gave it back then; nobody has taken it since.
    PreviousHolder(Holding),
}

impl Blocker {
    /// Which coroutine, if it is one.
    pub fn coroutine(&self) -> Option<CoroutineId> {
        match *self {
            Blocker::Holder(Holding {
                by: Waker::Coroutine(id),
                ..
            })
            | Blocker::Awaited(id)
            | Blocker::Host(id)
            | Blocker::Inside(id) => Some(id),
            Blocker::Holder(_) | Blocker::PreviousHolder(_) => None,
        }
    }

    /// The same, if it may go on.
    fn alive(&self) -> Option<CoroutineId> {
        self.coroutine().filter(|_| self.ended().is_none())
    }

    /// When it took what it holds, or gave it back.
    fn taken(&self) -> Nanos {
        match self {
            Blocker::Holder(holding) | Blocker::PreviousHolder(holding) => holding.at,
            _ => Nanos(0),
        }
    }

    /// When it ended, if it has.
    fn ended(&self) -> Option<Nanos> {
        match self {
            Blocker::Holder(holding) => holding.ended,
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
    /// What the rule is to know of each cycle.
    all_evidence: Vec<Option<BlockEvidence>>,
    /// Of each that waits for others, on whom all of those wait in the end, and why they may go on
    /// all the same.
    roots: BTreeMap<CoroutineId, (CoroutineId, Option<Caveat>)>,
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

    /// Of those that keep it, those that keep these, and so on, the one that nothing is known to keep,
    /// or that is in a cycle; and why one of those in between may go on all the same.
    fn root_of(&self, id: CoroutineId) -> Option<(CoroutineId, Option<Caveat>)> {
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
            let (root, mut caveat) = self.root_of(at).unwrap_or((at, None));
            for at in path.into_iter().rev() {
                let own = self.of(at).and_then(|block| block.caveat);
                caveat = [caveat, own].into_iter().flatten().min();
                self.roots.insert(at, (root, caveat));
            }
        }
    }

    /// The only one that keeps it, if it is in no cycle. One that polls another one may have more to
    /// poll, as a timeout, which is no news as long as that comes.
    fn next(&self, id: CoroutineId) -> Option<CoroutineId> {
        let block = self.of(id)?;
        match block.by[..] {
            [Blocker::Inside(_)] => None,
            [_] if block.is_kept_by_other_half(id) => None,
            [blocker] if !self.cycle.contains_key(&id) => blocker.alive(),
            _ => None,
        }
    }

    /// Since when this one waits for those that keep it now.
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
    /// What keeps those that wait, as far as that was told.
    pub fn blocks(&self) -> Blocks {
        let others = self.others();
        let all = self.coroutines.all().iter();
        let of: BTreeMap<_, _> = all
            .filter_map(|coroutine| Some((coroutine.id, self.block(coroutine, &others)?)))
            .collect();
        let cycles = deadlocks(&waits_for(&of));
        let mut blocks = Blocks {
            of,
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

    /// The same for all of a cycle.
    fn cycle_evidence(&self, cycle: &[CoroutineId], blocks: &Blocks) -> Option<BlockEvidence> {
        let members = || cycle.iter().filter_map(|id| self.get(*id));
        let since = members().map(|member| blocks.since(member)).max()?;
        let ran_again = members().find_map(|member| self.ran_after(member, since));
        Some(BlockEvidence {
            block_cause: BlockCause::Cycle,
            since,
            caveat: blocks.caveat_of(cycle).or(ran_again),
        })
    }

    /// What the rule is to know of what keeps a coroutine, but for those that others keep.
    pub(super) fn block_evidence(
        &self,
        coroutine: &Coroutine,
        blocks: &Blocks,
    ) -> Option<BlockEvidence> {
        if let Some(at) = blocks.cycle.get(&coroutine.id) {
            return blocks.all_evidence[*at];
        }
        let block = blocks.of(coroutine.id)?;
        let [blocker] = block.by[..] else { return None };
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

    /// The same of one that waits for one that is stuck, or for others that do. What is certain of it
    /// already stays.
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
        let root_is = judged
            .get(&root)
            .filter(|judged| judged.verdict.is_stuck())?;
        let is_sure = root_is.confidence == Confidence::Certain;
        let of_blocker = (!is_sure).then_some(Caveat::OfBlocker);
        let since = blocks.since(coroutine);
        Some(BlockEvidence {
            block_cause: BlockCause::Behind(root),
            since,
            caveat: caveat.or(of_blocker).or(self.ran_after(coroutine, since)),
        })
    }

    /// Whether it has but just run, and waits anew for what it waited for then already.
    fn ran_after(&self, coroutine: &Coroutine, since: Nanos) -> Option<Caveat> {
        let (_, latest) = coroutine.state();
        let is_recent = latest.until(self.end_of(coroutine.process)) < SURE_AFTER;
        (since < latest && is_recent).then_some(Caveat::RanAgain)
    }
}

/// Those of whom one has to go on first. One that is kept by a thread, or by somebody who has ended,
/// is in no cycle.
fn waits_for(of: &BTreeMap<CoroutineId, Block>) -> WaitsFor {
    let blockers = |block: &Block| -> Option<Vec<CoroutineId>> {
        block.by.iter().map(Blocker::alive).collect()
    };
    of.iter()
        .filter(|(id, block)| !block.is_kept_by_other_half(**id))
        .filter_map(|(id, block)| Some((*id, blockers(block)?)))
        .collect()
}
