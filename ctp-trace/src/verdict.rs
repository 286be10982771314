//! The rule for "stuck": from what is known of one coroutine to a word, and the numbers for it.
//!
//! Recorder and reporter both call [`judge`], so the count in the recorder's closing line is the
//! count in the report. Nothing is called stuck on the strength of an event that may be lost.

mod blocked;
mod caveat;
mod evidence;
mod reason;
mod waits_for;
mod words;

use crate::record::{Dialect, Nanos, Seen};

pub use caveat::{Caveat, NO_CAVEAT};
pub use evidence::{
    BlockCause, BlockEvidence, CloseEvidence, EmptyEvidence, Evidence, LivesEvidence, LookEvidence,
    MissingEvidence, Overtaker, Past, PollEvidence, ResourceEvidence, State, ThreadEvidence,
    TurnEvidence, WaitEvidence, WakeEvidence,
};
pub use reason::{Basis, Blank, Description, REASONS, Reason, Witness};
pub use waits_for::{WaitsFor, deadlocks};
pub use words::{Confidence, Fact, Verdict};

/// What lasts less long is worth no word, unless the user says otherwise.
pub const THRESHOLD: Nanos = Nanos(1_000_000_000);

/// So many waits, or delays in the run queue, make the past of a site an argument.
pub const ENOUGH: u64 = 8;

/// A wait is out of the ordinary beyond this many times what 99 % of the site's waits took.
pub const FAR_BEYOND: u64 = 10;

/// And only if it is so many times the longest that ever ended: a record alone proves nothing.
pub const BEYOND_LONGEST: u64 = 2;

/// Nothing younger is certain, however small the threshold is: whoever closed something may be about
/// to resume those that wait for it, and a queue may be out of order for a while.
pub const SURE_AFTER: Nanos = Nanos(1_000_000_000);

/// What is seen from outside counts if it is seen twice, so long apart.
pub const OBSERVATIONS_APART_NS: Nanos = Nanos(100_000_000);

/// A look that found nothing to read holds for so long at least: others come every second or two.
pub const LOOK_HOLDS: Nanos = Nanos(2_000_000_000);

/// What the rule says of one coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What is so.
    pub fact: Fact,
    /// What follows.
    pub verdict: Verdict,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why that is the verdict.
    pub reason: Reason,
    /// How long it has been so.
    pub age: Nanos,
    /// "Not woken" rests on a count that was read within a millisecond of the last wake, so it
    /// can be likely at most.
    pub close_call: bool,
}

/// The rule. `threshold` is how long something must last to be worth a word.
pub fn judge(evidence: &Evidence, threshold: Nanos) -> Judgement {
    let case = Case {
        evidence,
        threshold,
        age: evidence.since.until(evidence.end),
    };
    let (fact, verdict, reason) = case.decide();
    let close_call = matches!(fact, Fact::NotWoken | Fact::NoWaker)
        && evidence.wake.is_some_and(|wake| wake.close_call);
    Judgement {
        fact,
        verdict,
        confidence: verdict.confidence(),
        reason,
        age: match reason.describe().basis {
            Basis::Blocker => case.age.max(case.kept_for()),
            _ => case.age,
        },
        close_call,
    }
}

type Decision = (Fact, Verdict, Reason);

struct Case<'a> {
    evidence: &'a Evidence,
    threshold: Nanos,
    age: Nanos,
}

impl Case<'_> {
    fn decide(&self) -> Decision {
        let Evidence { state, missing, .. } = *self.evidence;
        let unknown = match (state, missing.lost) {
            (State::Dead, _) => return (Fact::Dead, Verdict::Over, Reason::Over),
            (State::Cancelled, _) => return (Fact::Cancelled, Verdict::Over, Reason::Over),
            (_, Some(lost)) => Reason::Lost(lost),
            _ if 0 < missing.filtered => Reason::Filtered(missing.filtered),
            _ => return self.decide_alive(state),
        };
        (fact(state, None, None), Verdict::Unknown, unknown)
    }

    fn decide_alive(&self, state: State) -> Decision {
        let fact = fact(state, self.evidence.wake, self.evidence.polls.wakers);
        if let Some((verdict, reason)) = self.blocked() {
            return (fact, verdict, reason);
        }
        let (verdict, reason) = match fact {
            _ if self.age < self.threshold => (Verdict::Waiting, Reason::Young),
            Fact::Running if self.evidence.threads.hosts => (Verdict::Waiting, Reason::Hosts),
            Fact::Running if self.evidence.threads.ended => {
                (Verdict::MaybeStuck, Reason::ThreadEnded)
            }
            Fact::Running => (Verdict::Busy, Reason::Runs),
            Fact::NeverRun => self.never_run(),
            Fact::WokenNotRun => self.woken(),
            Fact::NoWaker if !self.evidence.polls.by_others => self.without_wakers(),
            _ => self.suspended(),
        };
        (fact, verdict, reason)
    }

    fn never_run(&self) -> (Verdict, Reason) {
        match self.overtaken_since(self.evidence.since, self.evidence.threads.overtaker) {
            Some(overtaker) => (Verdict::MaybeStuck, Reason::Overlooked(overtaker)),
            None => (Verdict::Waiting, Reason::NotOvertaken),
        }
    }

    /// Beyond what this site's woken coroutines ever queued, while workers made progress: they ran
    /// those that became ready long after it.
    fn woken(&self) -> (Verdict, Reason) {
        let Evidence {
            wake, since, end, ..
        } = *self.evidence;
        let latest = since.max(wake.and_then(|wake| wake.at).unwrap_or(end));
        let ready = wake
            .and_then(|wake| wake.first)
            .map_or(latest, |first| since.max(first));
        let queued = ready.until(end);
        let usual = self.evidence.past.longest_queued;
        let beyond = self.threshold <= queued && usual.0.saturating_mul(BEYOND_LONGEST) < queued.0;
        match self.overtaken_since(ready, self.evidence.threads.overtaker) {
            Some(overtaker) if beyond => {
                let verdict = stuck_if(self.is_surely_passed_over(latest));
                (verdict, Reason::PassedOver { ready, overtaker })
            }
            _ => (Verdict::Waiting, Reason::Queued { ready }),
        }
    }

    /// It is long, enough delays are known, the wake was no part of its last run, nor is it used up,
    /// its thread is free and has passed it over too, and its runtime tells of its own queue.
    fn is_surely_passed_over(&self, ready: Nanos) -> bool {
        let Evidence {
            wake,
            end,
            past,
            threads,
            ..
        } = self.evidence;
        let is_held = |since: Nanos| self.threshold <= since.until(*end);
        SURE_AFTER <= ready.until(*end)
            && ENOUGH <= past.queued
            && !wake.is_some_and(|wake| wake.close_call)
            && !threads.held_since.is_some_and(is_held)
            && self
                .overtaken_since(ready, threads.overtaker_on_thread)
                .is_some()
            && !(self.evidence.polls.keeps_permits && self.was_woken_during_run())
            && self.is_in_a_recorded_queue()
    }

    /// Wakers are counted of what is polled by a program that does not tell of its queues. That may
    /// be another future, which polls it when it comes to that.
    fn is_in_a_recorded_queue(&self) -> bool {
        self.evidence.polls.wakers.is_none()
    }

    fn was_woken_during_run(&self) -> bool {
        let at = self.evidence.wake.and_then(|wake| wake.at);
        at.is_none_or(|at| at < self.evidence.since)
    }

    /// Nobody is left who could wake it.
    fn without_wakers(&self) -> (Verdict, Reason) {
        let is_close = self.evidence.wake.is_some_and(|wake| wake.close_call);
        let is_open = is_close || self.evidence.polls.unrecorded || !self.evidence.polls.when_woken;
        let is_sure = SURE_AFTER <= self.age && !is_open;
        (stuck_if(is_sure), Reason::NoWaker)
    }

    fn suspended(&self) -> (Verdict, Reason) {
        match (self.evidence.dialect, self.evidence.wait.deadline) {
            (Dialect::V1PerSlot | Dialect::V1PerStation, _) => {
                (Verdict::MaybeStuck, Reason::Silent)
            }
            (_, Some(due)) if self.is_overdue(due) => (Verdict::MaybeStuck, Reason::Overdue(due)),
            (_, Some(due)) => (Verdict::Waiting, Reason::Timer(due)),
            _ => {
                let lost = self.closed().or_else(|| self.looked());
                lost.unwrap_or_else(|| self.against_the_past())
            }
        }
    }

    /// What it waits for is gone for longer than anybody ever took to resume such a one.
    fn closed(&self) -> Option<(Verdict, Reason)> {
        let closed = self.evidence.resource.closed?;
        let ago = closed.at.until(self.evidence.end);
        let usual = closed.longest_after.0.saturating_mul(BEYOND_LONGEST);
        if ago < self.threshold || ago.0 <= usual {
            return None;
        }
        let (at, caveat) = (closed.at, self.caveat_of(closed.whole, ago));
        Some((stuck_if(caveat.is_none()), Reason::Closed { at, caveat }))
    }

    /// The recorder saw twice that what it waits for is gone, or is there. What its program tells of
    /// closing counts for more. Others must have gone on since it was there: where nobody does, it
    /// is not this one alone that waits.
    fn looked(&self) -> Option<(Verdict, Reason)> {
        let looked = self
            .evidence
            .resource
            .looked
            .filter(|_| self.evidence.resource.closed.is_none())?;
        let LookEvidence { seen, first, .. } = looked;
        let ago = first.until(self.evidence.end);
        let usual = looked.longest_after.0.saturating_mul(BEYOND_LONGEST);
        let is_short = first.until(looked.latest) < OBSERVATIONS_APART_NS || ago < self.threshold;
        let usual_caveat = self.caveat_of(looked.whole, ago);
        let caveat = match seen {
            Seen::Closed if usual < ago.0 => usual_caveat,
            Seen::NumberClosed if usual < ago.0 => usual_caveat.or(Some(Caveat::OtherNumber)),
            Seen::Unwatched(_) if usual < ago.0 => usual_caveat.or(Some(Caveat::WatchedElsewhere)),
            Seen::Replaced => Some(Caveat::UsedAgain),
            Seen::Readable(_) | Seen::HungUp if self.have_others_progressed_since(first) => {
                Some(Caveat::HeldUp)
            }
            _ => return None,
        };
        let reason = Reason::Looked {
            seen,
            first,
            caveat,
        };
        (!is_short).then_some((stuck_if(caveat.is_none()), reason))
    }

    fn have_others_progressed_since(&self, at: Nanos) -> bool {
        self.evidence
            .threads
            .overtaker
            .is_some_and(|overtaker| at <= overtaker.ready)
    }

    /// Why somebody may have resumed it after all, or may still do so.
    fn caveat_of(&self, is_whole: bool, ago: Nanos) -> Option<Caveat> {
        let Evidence { wait, polls, .. } = *self.evidence;
        let is_recent = (ago < SURE_AFTER).then_some(Caveat::Recent);
        match self.evidence.wake {
            None => Some(Caveat::WakesNotRecorded),
            Some(wake) if wake.close_call => Some(Caveat::CloseCall),
            _ if !is_whole => Some(Caveat::Incomplete),
            _ => caveat_of_others(wait.one_of_several, polls.wakers).or(is_recent),
        }
    }

    fn is_overdue(&self, due: Nanos) -> bool {
        due < self.evidence.end && self.threshold <= due.until(self.evidence.end)
    }

    fn against_the_past(&self) -> (Verdict, Reason) {
        if self.evidence.wait.idle {
            return (Verdict::Waiting, Reason::Idle);
        }
        let past = &self.evidence.past;
        let usual = past.p99.0.saturating_mul(FAR_BEYOND);
        if past.waits < ENOUGH {
            self.against_other_lives()
        } else if usual <= self.age.0 && past.longest.0.saturating_mul(BEYOND_LONGEST) <= self.age.0
        {
            self.unless_explained(Reason::FarBeyond)
        } else {
            (Verdict::Waiting, Reason::Usual)
        }
    }

    /// Nothing is usual where it waits. But those like it lived for but a moment, and of the latest of
    /// them none has ended: they are all here.
    fn against_other_lives(&self) -> (Verdict, Reason) {
        let is_far_beyond = |lives: &LivesEvidence| {
            ENOUGH <= lives.ended.min(lives.newest)
                && lives.p99.0.saturating_mul(FAR_BEYOND) <= self.age.0
                && lives.longest.0.saturating_mul(BEYOND_LONGEST) <= self.age.0
        };
        match self.evidence.lives.filter(is_far_beyond) {
            Some(lives) => self.unless_explained(Reason::BeyondLives(lives)),
            None => (Verdict::Waiting, Reason::NoPast),
        }
    }

    /// It is long, and stuck unless something tells why.
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

    /// Until then it waited as it should. That much of the wait is the longest of which nothing was
    /// wrong, and what has come since is too little to say more.
    fn is_empty_still(&self, empty: &EmptyEvidence) -> bool {
        let Evidence { since, end, .. } = *self.evidence;
        let proven = since.until(empty.at).0.saturating_mul(BEYOND_LONGEST);
        since <= empty.at && (empty.at.until(end) <= LOOK_HOLDS || self.age.0 <= proven)
    }

    /// The lock was taken but just, and nobody had it who began to wait the threshold later.
    fn is_turn_to_come(&self, turn: &TurnEvidence) -> bool {
        let Evidence { since, end, .. } = *self.evidence;
        turn.taken.until(end) < self.threshold
            && since.until(turn.youngest.max(since)) < self.threshold
    }

    /// A run of one that became ready at least the threshold later than this one. Those that were
    /// ready before may be before it in the queue, however many they are.
    fn overtaken_since(&self, ready: Nanos, overtaker: Option<Overtaker>) -> Option<Overtaker> {
        let is_later = |overtaker: &Overtaker| {
            ready <= overtaker.ready && self.threshold <= ready.until(overtaker.ready)
        };
        overtaker.filter(is_later)
    }
}

impl Judgement {
    /// The judgement on one that nobody wants to hear of: if it was bad, it is set apart.
    pub fn ignored(self) -> Self {
        if !self.verdict.is_stuck() && self.verdict != Verdict::Busy {
            return self;
        }
        Judgement {
            verdict: Verdict::Waiting,
            confidence: Verdict::Waiting.confidence(),
            reason: Reason::Ignored(self.verdict),
            ..self
        }
    }
}

/// Stuck, for certain or most likely.
fn stuck_if(is_sure: bool) -> Verdict {
    if is_sure {
        Verdict::Stuck
    } else {
        Verdict::MaybeStuck
    }
}

/// Why one may wait for something else too: its wait says so, or several somethings have its waker.
pub fn caveat_of_others(one_of_several: bool, wakers: Option<u32>) -> Option<Caveat> {
    match (one_of_several, wakers) {
        (true, _) => Some(Caveat::OneOfSeveral),
        (false, Some(2..)) => Some(Caveat::SeveralWakers),
        _ => None,
    }
}

/// What is so of one that has not ended. Without a wake word, "not woken" cannot be known.
fn fact(state: State, wake: Option<WakeEvidence>, wakers: Option<u32>) -> Fact {
    match (state, wake) {
        (State::Born, _) => Fact::NeverRun,
        (State::Running, _) => Fact::Running,
        (_, Some(wake)) if wake.woken => Fact::WokenNotRun,
        (_, Some(_)) if wakers == Some(0) => Fact::NoWaker,
        (_, Some(_)) => Fact::NotWoken,
        (_, None) => Fact::Suspended,
    }
}

/// Wakes since a coroutine's last run began, from the count now and the low half that it knew
/// then; `None` if the count was read before that.
pub fn wakes_since(count: u32, seen: u16) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "coroutines keep the low half only"
    )]
    let low = count as u16;
    u64::try_from(low.wrapping_sub(seen).cast_signed()).ok()
}
