//! The rule for "stuck": derives a verdict from the evidence about one coroutine, with the numbers that
//! support it.
//!
//! Recorder and reporter both call [`judge`], so the count in the recorder's closing line equals the
//! count in the report. No coroutine is called stuck because of an event that may be lost.

mod blocked;
mod by_length;
mod caveat;
mod evidence;
pub mod inspected;
mod level;
mod no_progress;
mod no_waker;
mod none_runs;
mod reason;
mod waits_for;
mod words;

use crate::record::{Dialect, Nanos, Seen};

pub use caveat::{Caveat, NO_CAVEAT};
pub use evidence::{
    BlockCause, BlockEvidence, BranchEvidence, CloseEvidence, EmptyEvidence, Evidence,
    FullEvidence, LivesEvidence, LookEvidence, MissingEvidence, Overtaker, ParkedEvidence, Past,
    PollEvidence, ResourceEvidence, State, ThreadEvidence, TurnEvidence, WaitEvidence,
    WakeEvidence,
};
pub use level::Level;
pub use reason::{Basis, Blank, Description, REASONS, Reason, Witness};
pub(crate) use waits_for::remaining;
pub use waits_for::{Needs, WaitsFor, deadlocks};
pub use words::{Confidence, Fact, Verdict};

/// States that last less than this get no verdict, unless the user sets another threshold.
pub const THRESHOLD: Nanos = Nanos(1_000_000_000);

/// Minimum number of waits, or of delays in the run queue, before the history of a site counts.
pub const ENOUGH: u64 = 8;

/// A wait is unusual from this many times the 99th percentile of the site's waits.
pub const FAR_BEYOND: u64 = 10;

/// A wait must also reach this many times the longest completed wait: a new maximum alone proves
/// nothing.
pub const BEYOND_LONGEST: u64 = 2;

/// No verdict on a younger state is certain, however small the threshold: the waiters of a closed
/// resource may be about to be resumed, and a queue may be out of order for a moment.
pub const SURE_AFTER: Nanos = Nanos(1_000_000_000);

/// Observations from outside count if there are two that are at least this far apart.
pub const MIN_OBSERVATION_GAP: Nanos = Nanos(100_000_000);

/// An observation that found nothing to read stays valid for at least this long; the recorder looks
/// again every second or two.
pub const LOOK_HOLDS: Nanos = Nanos(2_000_000_000);

/// The rule's conclusion about one coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The state at the end of the recording.
    pub fact: Fact,
    /// The conclusion.
    pub verdict: Verdict,
    /// How certain the conclusion is.
    pub confidence: Confidence,
    /// Why that is the verdict.
    pub reason: Reason,
    /// How long the state has lasted.
    pub age: Nanos,
    /// "Not woken" rests on a count that was read within a millisecond of the last wake, so the verdict
    /// is likely at most.
    pub close_call: bool,
}

/// Applies the rule. `threshold` is how long a state must last before it gets a verdict.
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
        age: match reason {
            Reason::Branch { since, .. } => since.until(evidence.end),
            _ if reason.describe().basis == Basis::Blocker => case.age.max(case.blocked_for()),
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
        if let Some(branch) = self.overdue_branch() {
            return (
                fact,
                Verdict::MaybeStuck,
                Reason::Branch {
                    site: branch.site,
                    since: branch.since,
                },
            );
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
            _ if self.is_unregistered() => (Verdict::Waiting, Reason::Unregistered),
            Fact::NoWaker if !self.evidence.polls.by_others => self.without_wakers(),
            _ => self.suspended(),
        };
        let (verdict, reason) = self.without_progress((verdict, reason));
        (fact, verdict, reason)
    }

    /// The branch of the wait that has waited far longer than it usually does, although the coroutine was
    /// polled for other branches. The time after the last wait for that branch ended anywhere does not
    /// count, because there may be no work. A branch that does not show that the coroutine has work does
    /// not count either, because there may be no work for this coroutine only.
    fn overdue_branch(&self) -> Option<BranchEvidence> {
        let branch = self.evidence.branch.filter(|branch| {
            let when_active = branch.since.until(branch.past.active);
            let far = branch.past.far_beyond();
            branch.has_work()
                && branch.since < self.evidence.since
                && far.is_some_and(|far| far.max(self.threshold) <= when_active)
        });
        branch.filter(|_| !self.evidence.wait.idle)
    }

    fn never_run(&self) -> (Verdict, Reason) {
        match self.overtaken_since(self.evidence.since, self.evidence.threads.overtaker) {
            Some(overtaker) => (Verdict::MaybeStuck, Reason::Overlooked(overtaker)),
            None => (Verdict::Waiting, Reason::NotOvertaken),
        }
    }

    /// A woken coroutine was passed over if its delay exceeds the longest of this site while workers made
    /// progress: they ran coroutines that became ready long after this coroutine.
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
            _ if beyond && self.is_left_by_all(ready) => {
                (Verdict::MaybeStuck, Reason::NoneRuns { ready })
            }
            _ => (Verdict::Waiting, Reason::Queued { ready }),
        }
    }

    /// Whether the coroutine was passed over for certain: its delay is long, and enough delays are known.
    /// The wake came after the coroutine's last run and is not consumed. The coroutine's thread is free
    /// and passed it over too. The runtime records its own queue.
    fn is_surely_passed_over(&self, ready: Nanos) -> bool {
        let Evidence {
            wake,
            end,
            past,
            threads,
            ..
        } = self.evidence;
        let held_for = threads.held_since.map(|since| since.until(*end));
        SURE_AFTER <= ready.until(*end)
            && ENOUGH <= past.queued
            && !wake.is_some_and(|wake| wake.close_call)
            && held_for.is_none_or(|held_for| held_for < self.threshold)
            && self
                .overtaken_since(ready, threads.overtaker_on_thread)
                .is_some()
            && !(self.evidence.polls.keeps_permits && self.was_woken_during_run())
            && self.is_in_a_recorded_queue()
    }

    /// Whether the runtime records its own queue. Wakers are counted only for futures that a program polls
    /// without recording its queues. Such a coroutine may be part of another future, which polls it at
    /// times of its own.
    fn is_in_a_recorded_queue(&self) -> bool {
        self.evidence.polls.wakers.is_none()
    }

    fn was_woken_during_run(&self) -> bool {
        let at = self.evidence.wake.and_then(|wake| wake.at);
        at.is_none_or(|at| at < self.evidence.since)
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
                let lost = lost
                    .or_else(|| self.before_full_channel())
                    .or_else(|| self.keeping_lock());
                lost.unwrap_or_else(|| self.against_the_past())
            }
        }
    }

    /// The resource was closed longer ago than waiters ever took to resume after such a close.
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

    /// The recorder saw twice that the awaited descriptor is gone or ready. A close that the program
    /// recorded takes precedence. A ready descriptor counts only if others made progress since;
    /// otherwise this coroutine is not the only one delayed.
    fn looked(&self) -> Option<(Verdict, Reason)> {
        let looked = self
            .evidence
            .resource
            .looked
            .filter(|_| self.evidence.resource.closed.is_none())?;
        let LookEvidence { seen, first, .. } = looked;
        let ago = first.until(self.evidence.end);
        let usual = looked.longest_after.0.saturating_mul(BEYOND_LONGEST);
        let is_short = first.until(looked.latest) < MIN_OBSERVATION_GAP || ago < self.threshold;
        let usual_caveat = self.caveat_of(looked.whole, ago);
        let caveat = match seen {
            Seen::Closed if usual < ago.0 => usual_caveat,
            Seen::NumberClosed if usual < ago.0 => usual_caveat.or(Some(Caveat::OtherNumber)),
            Seen::Unwatched(_) if usual < ago.0 => usual_caveat.or(Some(Caveat::WatchedElsewhere)),
            Seen::ClosedAtFirst if usual < ago.0 && self.is_beyond_line() => {
                Some(Caveat::NeverSeenOpen)
            }
            Seen::Replaced => Some(Caveat::UsedAgain),
            Seen::Readable(_) | Seen::HungUp if self.have_others_progressed_since(first) => {
                Some(Caveat::MayBeDelayed)
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

    /// Why the coroutine may have been resumed after all, or may still be resumed.
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

    /// The overtaking run, if its coroutine became ready at least the threshold after this coroutine.
    /// Coroutines that were ready earlier may be ahead of this coroutine in the queue, however many they
    /// are.
    fn overtaken_since(&self, ready: Nanos, overtaker: Option<Overtaker>) -> Option<Overtaker> {
        overtaker.filter(|overtaker| {
            ready <= overtaker.ready && self.threshold <= ready.until(overtaker.ready)
        })
    }
}

impl Judgement {
    /// Replaces a bad verdict by `Waiting`, for a coroutine that the user chose to ignore.
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

/// Stuck, certainly or likely.
fn stuck_if(is_sure: bool) -> Verdict {
    if is_sure {
        Verdict::Stuck
    } else {
        Verdict::MaybeStuck
    }
}

/// Why a coroutine may be waiting for something else too: the wait is marked so, or the coroutine has
/// several wakers.
pub fn caveat_of_others(one_of_several: bool, wakers: Option<u32>) -> Option<Caveat> {
    match (one_of_several, wakers) {
        (true, _) => Some(Caveat::OneOfSeveral),
        (false, Some(2..)) => Some(Caveat::SeveralWakers),
        _ => None,
    }
}

/// The fact about a coroutine that has not ended. Without a wake word, "not woken" cannot be known.
pub(crate) fn fact(state: State, wake: Option<WakeEvidence>, wakers: Option<u32>) -> Fact {
    match (state, wake) {
        (State::Born, _) => Fact::NeverRun,
        (State::Running, _) => Fact::Running,
        (_, Some(wake)) if wake.woken => Fact::WokenNotRun,
        (_, Some(_)) if wakers == Some(0) => Fact::NoWaker,
        (_, Some(_)) => Fact::NotWoken,
        (_, None) => Fact::Suspended,
    }
}

/// The number of wakes since a coroutine's last run began, from the current count and the low half of
/// the count at that time. `None` if the current count was read before that time.
pub fn wakes_since(count: u32, seen: u16) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "coroutines keep the low half only"
    )]
    let low = count as u16;
    u64::try_from(low.wrapping_sub(seen).cast_signed()).ok()
}
