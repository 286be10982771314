//! Judges waits by their length alone: compared with earlier waits, and with the lives of similar
//! coroutines.

use super::Evidence;
use super::evidence::{
    BranchEvidence, EmptyEvidence, LivesEvidence, Past, ResourceEvidence, TurnEvidence,
};
use super::level::Level;
use super::{BEYOND_LONGEST, Case, ENOUGH, FAR_BEYOND, LOOK_HOLDS, Reason, Verdict};
use crate::record::{LeafKind, Nanos};

/// A coroutine is rare if this many similar coroutines have ended for each that waits. A rare coroutine
/// is beyond the 99th percentile.
const RARE: u64 = 100;

impl Past {
    /// The shortest wait that is far beyond these waits. `None` if there are too few to compare with.
    pub fn far_beyond(&self) -> Option<Nanos> {
        (ENOUGH <= self.waits).then(|| far_beyond(self.p99, self.longest))
    }
}

impl BranchEvidence {
    /// Whether the branch is part of some work, and does not wait for the next work.
    pub(crate) fn has_work(&self) -> bool {
        self.leaf.is_part_of_work() || self.is_restarted
    }
}

impl LivesEvidence {
    /// The shortest life that is far beyond these lives.
    pub(crate) fn far_beyond(&self) -> Nanos {
        far_beyond(self.p99, self.longest)
    }

    /// Whether a hundred have ended for each that waits at this place.
    fn are_rare_here(&self) -> bool {
        0 < self.here && self.here.saturating_mul(RARE) <= self.ended
    }

    /// Whether no such coroutine is meant to live for so long.
    fn are_exceeded_by(&self, age: Nanos) -> bool {
        let are_rare = self
            .alike
            .is_some_and(|alike| alike.saturating_mul(RARE) <= self.ended);
        ENOUGH <= self.ended && (ENOUGH <= self.newest || are_rare) && self.far_beyond() <= age
    }
}

/// The shortest duration that is far beyond durations of which 99 % are at most `p99`.
fn far_beyond(p99: Nanos, longest: Nanos) -> Nanos {
    let usual = p99.0.saturating_mul(FAR_BEYOND);
    Nanos(usual.max(longest.0.saturating_mul(BEYOND_LONGEST)))
}

impl Case<'_> {
    /// Compares the wait with earlier waits, and with the lives of similar coroutines.
    pub(super) fn against_the_past(&self) -> (Verdict, Reason) {
        if self.evidence.wait.idle {
            return (Verdict::Waiting, Reason::Idle);
        }
        let past = &self.evidence.past;
        let level = past.level;
        match past.far_beyond() {
            None => self.against_other_lives(Reason::NoPast),
            Some(far) if self.evidence.wait.for_lock && far <= self.age => {
                self.unless_explained(Reason::FarBeyond(level))
            }
            // Waits for the same kind of resource elsewhere say less than the lives of similar coroutines.
            Some(far) if level == Level::Leaf => self.against_other_lives(if self.age < far {
                Reason::Usual(level)
            } else {
                Reason::OnlyCoarse(level)
            }),
            Some(far) if self.age < far => (Verdict::Waiting, Reason::Usual(level)),
            Some(_)
                if level <= Level::Coroutine && !level.allows_stuck() && self.has_no_reader() =>
            {
                self.unless_explained(Reason::NoReader(level))
            }
            Some(_)
                if level <= Level::Coroutine && !level.allows_stuck() && self.has_own_future() =>
            {
                self.unless_explained(Reason::OwnFuture(level))
            }
            Some(_) if !level.allows_stuck() && self.is_in_closed_group() => {
                self.unless_explained(Reason::EachOther(level))
            }
            Some(_) if !level.allows_stuck() && !past.is_closest => {
                self.against_other_lives(Reason::OnlyCoarse(level))
            }
            Some(far) => self.beyond_line(far),
        }
    }

    fn is_in_closed_group(&self) -> bool {
        self.evidence.resource.in_closed_group
    }

    fn has_own_future(&self) -> bool {
        self.evidence.resource.own_future
    }

    fn has_no_reader(&self) -> bool {
        self.evidence.resource.no_reader
    }

    /// The coroutine waits for room in a channel that nothing empties, for longer than it usually waits.
    pub(super) fn before_full_channel(&self) -> Option<(Verdict, Reason)> {
        let full = self.evidence.resource.full?;
        let far = self.evidence.past.far_beyond();
        let is_unusual = far.is_none_or(|far| far <= self.age);
        is_unusual.then_some((Verdict::MaybeStuck, Reason::FullChannel(full)))
    }

    /// The coroutine waits for longer than it usually waits, and probably holds a lock for which others are
    /// stuck.
    pub(super) fn keeping_lock(&self) -> Option<(Verdict, Reason)> {
        let keeps_lock = self.evidence.resource.keeps_lock && !self.evidence.wait.idle;
        let far = self.evidence.past.far_beyond();
        let is_unusual = far.is_none_or(|far| far <= self.age);
        (keeps_lock && is_unusual).then_some((Verdict::MaybeStuck, Reason::KeepsLock))
    }

    /// Whether the coroutine has lived far longer than the similar coroutines that have ended.
    fn outlives_others(&self) -> bool {
        let lives = self.evidence.lives;
        lives.is_some_and(|lives| ENOUGH <= lives.ended && lives.far_beyond() <= self.age)
    }

    /// Whether the coroutine may wait for its next work.
    fn may_lack_work(&self) -> bool {
        let leaf = self.evidence.wait.leaf;
        let is_part_of_work = leaf.is_part_of_work() && !self.evidence.wait.is_held_while_idle;
        !is_part_of_work && !self.is_of_short_task()
    }

    /// Whether coroutines like this one usually end soon, so that they do not wait for work when they wait for a
    /// notification. Nor for the end of a blocking call, but some calls take long.
    fn is_of_short_task(&self) -> bool {
        let is_unlike_work = match self.evidence.wait.leaf {
            LeafKind::Notification | LeafKind::SharedFunction => true,
            LeafKind::Task => {
                let lives = self.evidence.lives;
                self.evidence.wait.is_for_call && lives.is_some_and(|lives| lives.are_rare_here())
            }
            _ => false,
        };
        is_unlike_work && self.outlives_others()
    }

    /// Whether other waits at the line say nothing about this wait: it has a time of its own, or waits for
    /// the messages of its own sender, which may have none.
    fn is_of_its_own(&self) -> bool {
        match self.evidence.wait.leaf {
            LeafKind::Timer => true,
            LeafKind::Message | LeafKind::TimeOrMessage => {
                self.evidence.resource.may_be_woken_again
            }
            _ => false,
        }
    }

    /// Whether the wait is far beyond earlier waits at its line.
    pub(super) fn is_beyond_line(&self) -> bool {
        let past = &self.evidence.past;
        let is_of_line = past.level.allows_stuck() || past.is_closest;
        is_of_line && past.far_beyond().is_some_and(|far| far <= self.age)
    }

    /// The wait is far beyond earlier waits at its line. While nothing happens there at all, that may
    /// mean no more than that there is no work, unless the wait is itself part of some work.
    fn beyond_line(&self, far: Nanos) -> (Verdict, Reason) {
        let past = &self.evidence.past;
        let when_active = self.evidence.since.until(past.active);
        let is_quiet = self.may_lack_work() && when_active < far.max(self.threshold);
        let quiet = Reason::Quiet(past.level);
        if is_quiet && past.by_peers {
            return self.unless_explained(Reason::Peers(past.level));
        }
        if is_quiet && self.is_in_closed_group() {
            return self.unless_explained(Reason::EachOther(past.level));
        }
        if is_quiet && self.has_own_future() {
            return self.unless_explained(Reason::OwnFuture(past.level));
        }
        if !is_quiet && self.is_of_its_own() {
            return (Verdict::Waiting, Reason::NoWork(past.level));
        }
        match self.unless_explained(Reason::FarBeyond(past.level)) {
            // Totals do not say whether other waits at the line still end.
            (Verdict::MaybeStuck, _) if is_quiet && !past.is_closest => (Verdict::Waiting, quiet),
            decision => decision,
        }
    }

    /// Coroutines like this one usually live far less long, and none of the latest of them has ended: they
    /// all wait here. Or they seldom wait here, and not for their next work. Otherwise the verdict is
    /// `Waiting`, for the given reason.
    fn against_other_lives(&self, otherwise: Reason) -> (Verdict, Reason) {
        let lives = self.evidence.lives;
        let lives = lives.filter(|lives| {
            lives.are_exceeded_by(self.age)
                || !self.may_lack_work() && self.outlives_others() && lives.are_rare_here()
        });
        match lives {
            Some(lives) => self.unless_explained(Reason::BeyondLives(lives)),
            None => (Verdict::Waiting, otherwise),
        }
    }

    /// The wait is unusually long: stuck, unless something explains that.
    fn unless_explained(&self, long: Reason) -> (Verdict, Reason) {
        let ResourceEvidence { turn, empty, .. } = self.evidence.resource;
        let turn = turn.filter(|turn| self.is_turn_to_come(turn));
        let empty = empty.filter(|empty| self.is_empty_still(empty));
        match (turn, empty) {
            (Some(turn), _) => (Verdict::Waiting, Reason::InTurn(turn)),
            (None, Some(empty)) => (Verdict::Waiting, Reason::NothingToRead(empty)),
            (None, None) => (Verdict::MaybeStuck, long),
        }
    }

    /// Whether the wait was normal at the last observation, and the time since then is too short to
    /// conclude more. The observation proves that a healthy wait can be that long.
    fn is_empty_still(&self, empty: &EmptyEvidence) -> bool {
        let Evidence { since, end, .. } = *self.evidence;
        let proven = since.until(empty.at).0.saturating_mul(BEYOND_LONGEST);
        since <= empty.at && (empty.at.until(end) <= LOOK_HOLDS || self.age.0 <= proven)
    }

    /// Whether the lock was acquired recently, and no acquirer started to wait at least the threshold after
    /// this coroutine.
    fn is_turn_to_come(&self, turn: &TurnEvidence) -> bool {
        let Evidence { since, end, .. } = *self.evidence;
        turn.taken.until(end) < self.threshold
            && since.until(turn.youngest.max(since)) < self.threshold
    }
}
