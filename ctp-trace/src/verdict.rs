//! The rule for "stuck": from what is known of one coroutine to a word, and the numbers for it.
//!
//! Recorder and reporter both call [`judge`], so the count in the recorder's closing line is the
//! count in the report. Nothing is called stuck on the strength of an event that may be lost.

mod words;

use crate::record::{Dialect, Nanos};

pub use words::{Confidence, Doubt, Fact, Reason, Verdict};

/// So many waits, or delays in the run queue, make the past of a site an argument.
pub const ENOUGH: u64 = 8;

/// A wait is out of the ordinary beyond this many times what 99 % of the site's waits took.
pub const FAR_BEYOND: u64 = 10;

/// And only if it is so many times the longest that ever ended: a record alone proves nothing.
pub const BEYOND_LONGEST: u64 = 2;

/// Whoever closes something may resume those that wait for it later. After this time it is certain
/// that they are forgotten, if nobody was ever resumed so late.
pub const SURE_AFTER_CLOSE: Nanos = Nanos(1_000_000_000);

/// What is known of one coroutine at the end of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What it was last seen doing.
    pub state: State,
    /// Since when.
    pub since: Nanos,
    /// The end of the recording, to which every age is measured.
    pub end: Nanos,
    /// Who wrote its events.
    pub dialect: Dialect,
    /// Set if its last state may not be its last: this many events of it are lost.
    pub doubt: Option<u64>,
    /// Not 0 if a filter kept out what it did last: so many of its events were kept out.
    pub filtered: u64,
    /// What its wake word says; `None` if its runtime does not tell.
    pub wake: Option<WakeStanding>,
    /// The end of what it waits for, if that came since it does, and was told.
    pub closed: Option<CloseStanding>,
    /// When its timer was due, if it waits for one and said so.
    pub deadline: Option<Nanos>,
    /// The past of the site where it waits.
    pub past: Past,
    /// The latest start of a run of any other coroutine of its process.
    pub others_ran: Option<Nanos>,
}

/// What a coroutine was last seen doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It was born and never ran.
    #[default]
    Born,
    /// It ran.
    Running,
    /// It waited.
    Suspended,
    /// It was dropped while it waited.
    Cancelled,
    /// It ended.
    Dead,
}

/// A wake word, compared with what the coroutine knew when it suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeStanding {
    /// It was woken since its last run began.
    pub woken: bool,
    /// When it was last woken; zero if never.
    pub at: Nanos,
    /// Its last wake came within a millisecond of the start of its last run, so that counting
    /// alone cannot tell which came first.
    pub close_call: bool,
}

/// What a coroutine waits for is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseStanding {
    /// When it was closed first since the coroutine waits for it.
    pub at: Nanos,
    /// The longest that others waited on from there, at the same site or for what was closed at
    /// the same place; zero if nobody is known to have gone on.
    pub longest_after: Nanos,
    /// Nothing is missing of what its process told since it waits: no record is lost, filtered or
    /// unreadable.
    pub whole: bool,
}

/// What usually happens at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Waits that ended in a run.
    pub waits: u64,
    /// Upper bound of what 99 % of them took.
    pub p99: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// Wakes of which the delay until the run is known.
    pub queued: u64,
    /// The longest such delay.
    pub longest_queued: Nanos,
}

/// What the rule says of one coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What is so.
    pub fact: Fact,
    /// What follows.
    pub verdict: Verdict,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why.
    pub reason: Reason,
    /// How long it has been so.
    pub age: Nanos,
    /// "Not woken" rests on a count that was read within a millisecond of the last wake, so it
    /// can be likely at most.
    pub close_call: bool,
}

/// The rule. `threshold` is how long something must last to be worth a word.
pub fn judge(standing: &Standing, threshold: Nanos) -> Judgement {
    let case = Case {
        standing,
        threshold,
        age: standing.since.until(standing.end),
    };
    let (fact, verdict, reason) = case.decide();
    let close_call = fact == Fact::NotWoken && standing.wake.is_some_and(|wake| wake.close_call);
    Judgement {
        fact,
        verdict,
        confidence: verdict.confidence(),
        reason,
        age: case.age,
        close_call,
    }
}

type Decision = (Fact, Verdict, Reason);

struct Case<'a> {
    standing: &'a Standing,
    threshold: Nanos,
    age: Nanos,
}

impl Case<'_> {
    fn decide(&self) -> Decision {
        match self.standing.state {
            State::Dead => (Fact::Dead, Verdict::Over, Reason::Over),
            State::Cancelled => (Fact::Cancelled, Verdict::Over, Reason::Over),
            state => match self.standing.doubt {
                Some(lost) => (fact(state, None), Verdict::Unknown, Reason::Lost(lost)),
                None if 0 < self.standing.filtered => {
                    let reason = Reason::Filtered(self.standing.filtered);
                    (fact(state, None), Verdict::Unknown, reason)
                }
                None => self.decide_alive(state),
            },
        }
    }

    fn decide_alive(&self, state: State) -> Decision {
        let fact = fact(state, self.standing.wake);
        let (verdict, reason) = match fact {
            _ if self.age < self.threshold => (Verdict::Waiting, Reason::Young),
            Fact::Running => (Verdict::Busy, Reason::Runs),
            Fact::NeverRun => self.never_run(),
            Fact::WokenNotRun => self.woken(),
            _ => self.suspended(),
        };
        (fact, verdict, reason)
    }

    fn never_run(&self) -> (Verdict, Reason) {
        match self.others_ran_after(self.standing.since) {
            Some(others_ran) => (Verdict::MaybeStuck, Reason::Overlooked(others_ran)),
            None => (Verdict::Waiting, Reason::NobodyRan),
        }
    }

    /// Beyond what this site's woken coroutines ever queued, while workers made progress.
    fn woken(&self) -> (Verdict, Reason) {
        let Standing {
            wake,
            since,
            end,
            past,
            ..
        } = *self.standing;
        let ready = since.max(wake.map_or(since, |wake| wake.at));
        let queued = ready.until(end);
        let beyond = self.threshold <= queued && past.longest_queued < queued;
        match self.others_ran_after(ready) {
            Some(others_ran) if beyond => {
                let enough = ENOUGH <= past.queued;
                let verdict = if enough {
                    Verdict::Stuck
                } else {
                    Verdict::MaybeStuck
                };
                (verdict, Reason::NotQueued { ready, others_ran })
            }
            _ => (Verdict::Waiting, Reason::Queued { ready }),
        }
    }

    fn suspended(&self) -> (Verdict, Reason) {
        match (self.standing.dialect, self.standing.deadline) {
            (Dialect::V1PerSlot | Dialect::V1PerStation, _) => {
                (Verdict::MaybeStuck, Reason::Silent)
            }
            (_, Some(due)) if self.is_overdue(due) => (Verdict::MaybeStuck, Reason::Overdue(due)),
            (_, Some(due)) => (Verdict::Waiting, Reason::Timer(due)),
            _ => self.closed().unwrap_or_else(|| self.against_the_past()),
        }
    }

    /// What it waits for is gone for longer than anybody ever took to resume such a one.
    fn closed(&self) -> Option<(Verdict, Reason)> {
        let closed = self.standing.closed?;
        let ago = closed.at.until(self.standing.end);
        let usual = closed.longest_after.0.saturating_mul(BEYOND_LONGEST);
        if ago < self.threshold || ago.0 <= usual {
            return None;
        }
        let at = closed.at;
        Some(match self.doubt_of(closed, ago) {
            None => (Verdict::Stuck, Reason::Closed { at, doubt: None }),
            doubt => (Verdict::MaybeStuck, Reason::Closed { at, doubt }),
        })
    }

    /// Why somebody may have resumed it after all, or may still do so.
    fn doubt_of(&self, closed: CloseStanding, ago: Nanos) -> Option<Doubt> {
        match self.standing.wake {
            None => Some(Doubt::WakesNotTold),
            Some(wake) if wake.close_call => Some(Doubt::CloseCall),
            _ if !closed.whole => Some(Doubt::Incomplete),
            _ if ago < SURE_AFTER_CLOSE => Some(Doubt::Recent),
            _ => None,
        }
    }

    fn is_overdue(&self, due: Nanos) -> bool {
        due < self.standing.end && self.threshold <= due.until(self.standing.end)
    }

    fn against_the_past(&self) -> (Verdict, Reason) {
        let past = &self.standing.past;
        let usual = past.p99.0.saturating_mul(FAR_BEYOND);
        if past.waits < ENOUGH {
            (Verdict::Waiting, Reason::NoPast)
        } else if usual <= self.age.0 && past.longest.0.saturating_mul(BEYOND_LONGEST) <= self.age.0
        {
            (Verdict::MaybeStuck, Reason::FarBeyond)
        } else {
            (Verdict::Waiting, Reason::Usual)
        }
    }

    /// The latest start of another's run, if that is at least the threshold after `moment`.
    fn others_ran_after(&self, moment: Nanos) -> Option<Nanos> {
        let late = |ran: &Nanos| moment <= *ran && self.threshold <= moment.until(*ran);
        self.standing.others_ran.filter(late)
    }
}

/// What is so of one that has not ended. Without a wake word, "not woken" cannot be known.
fn fact(state: State, wake: Option<WakeStanding>) -> Fact {
    match (state, wake) {
        (State::Born, _) => Fact::NeverRun,
        (State::Running, _) => Fact::Running,
        (_, Some(wake)) if wake.woken => Fact::WokenNotRun,
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
