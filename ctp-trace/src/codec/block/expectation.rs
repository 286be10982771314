//! Predicts a coroutine's next rows, so that only what differs is encoded.

use super::SiteArg;
use crate::record::{Event, EventKind};

/// The prediction of a coroutine's next row. A fully predicted event needs only the fields before
/// `suspend_site_args`, which are in a single cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Expectation {
    n: u64,
    tid: u64,
    suspended: UsualPattern,
    other: UsualPattern,
    suspend_site_args: SiteArgs,
    other_site_args: SiteArgs,
    pub wakes: u32,
}

const _: () = assert!(std::mem::offset_of!(Expectation, suspend_site_args) == 64);

/// The pattern of a coroutine's suspends, or of its other events.
#[derive(Clone, Copy, Default)]
struct UsualPattern {
    /// The predicted site and argument of the next event.
    site_arg: SiteArg,
    /// The predicted wake count of the next event.
    seen: u16,
    /// The step between the wake counts of consecutive events.
    step: u16,
    /// Whether the block has such an event of this coroutine.
    has_occurred: bool,
    /// Whether the latest entries of the site history are all equal.
    is_settled: bool,
}

/// The latest three sites with their arguments, latest first.
type SiteArgs = [SiteArg; 3];

/// The predicted fields of an event.
pub(super) struct Predicted {
    pub n: u64,
    pub tid: u64,
    pub site_arg: SiteArg,
    pub seen: u16,
}

impl Expectation {
    /// The prediction for a new coroutine that is expected to behave like this one.
    pub fn for_new_coroutine(&self) -> Self {
        let mut new = *self;
        for usual_pattern in [&mut new.suspended, &mut new.other] {
            (usual_pattern.has_occurred, usual_pattern.is_settled) = (false, false);
        }
        new
    }

    /// Predicts the next event of this kind.
    #[inline]
    pub fn predict(&self, kind: EventKind, tid_before: u64) -> Predicted {
        let usual_pattern = match kind {
            EventKind::Suspend => &self.suspended,
            _ => &self.other,
        };
        Predicted {
            n: self.n,
            tid: self.tid_of(kind, tid_before),
            site_arg: usual_pattern.site_arg,
            seen: usual_pattern.seen,
        }
    }

    /// Returns the prediction of this event, and learns from the event.
    #[inline(always)]
    pub fn learn(
        &mut self,
        event: &Event,
        kind: EventKind,
        site_arg: SiteArg,
        tid_before: u64,
    ) -> Predicted {
        let predicted = self.predict(kind, tid_before);
        (self.tid, self.n) = (event.tid, event.n.wrapping_add(1));
        let (usual_pattern, site_args) = match kind {
            EventKind::Suspend => (&mut self.suspended, &mut self.suspend_site_args),
            _ => (&mut self.other, &mut self.other_site_args),
        };
        if usual_pattern.is_settled
            && usual_pattern.site_arg == site_arg
            && usual_pattern.seen == event.wake_seen
        {
            usual_pattern.seen = usual_pattern.seen.wrapping_add(usual_pattern.step);
        } else {
            usual_pattern.learn(site_arg, event.wake_seen, site_args);
        }
        predicted
    }

    /// A run may be on any thread; the events after it are on the same thread.
    #[inline]
    fn tid_of(&self, kind: EventKind, tid_before: u64) -> u64 {
        match kind {
            EventKind::Birth | EventKind::Run => tid_before,
            EventKind::Suspend | EventKind::Death => self.tid,
        }
    }
}

impl UsualPattern {
    #[inline]
    fn learn(&mut self, site_arg: SiteArg, seen: u16, site_args: &mut SiteArgs) {
        if self.has_occurred {
            let before = self.seen.wrapping_sub(self.step);
            self.step = seen.wrapping_sub(before);
        }
        // The number of wakes between two runs is usually the same as last time.
        self.seen = seen.wrapping_add(self.step);
        self.has_occurred = true;
        self.learn_site_arg(site_arg, site_args);
    }

    /// Coroutines run in loops: the site that followed this site last time is predicted to follow again.
    #[inline]
    fn learn_site_arg(&mut self, site_arg: SiteArg, site_args: &mut SiteArgs) {
        let [latest, second, third] = *site_args;
        self.site_arg = match site_arg {
            _ if site_arg == latest => site_arg,
            _ if site_arg == second => latest,
            _ if site_arg == third => second,
            _ => site_arg,
        };
        self.is_settled = site_args
            .iter()
            .all(|other_site_arg| *other_site_arg == site_arg);
        *site_args = [site_arg, latest, second];
    }
}

impl Predicted {
    /// Whether all numbers were predicted correctly.
    #[inline]
    pub fn are_numbers_of(&self, event: &Event) -> bool {
        self.n == event.n && self.tid == event.tid && self.seen == event.wake_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The predictions for these suspends, given as argument and wake count.
    fn predicted(suspends: &[(u64, u16)]) -> Vec<(u64, u16)> {
        let mut expectation = Expectation::default();
        suspends
            .iter()
            .map(|&(arg, wake_seen)| {
                let event = Event {
                    kind: EventKind::Suspend,
                    arg,
                    wake_seen,
                    ..Event::default()
                };
                let predicted = expectation.learn(&event, event.kind, SiteArg::of(&event), 0);
                (predicted.site_arg.arg, predicted.seen)
            })
            .collect()
    }

    /// Files of all versions depend on these predictions, which must never change.
    #[test]
    fn loops_of_three_sites_are_predicted_from_round_two() {
        let places = |args: &[u64]| {
            let suspends: Vec<_> = args.iter().map(|arg| (*arg, 0)).collect();
            predicted(&suspends)
                .iter()
                .map(|(arg, _)| *arg)
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&[7, 7, 7, 7, 7, 7]), [0, 7, 7, 7, 7, 7]);
        assert_eq!(places(&[1, 2, 1, 2, 1, 2]), [0, 1, 2, 2, 1, 2]);
        assert_eq!(places(&[1, 2, 3, 1, 2, 3, 1]), [0, 1, 2, 3, 2, 3, 1]);
        assert_eq!(places(&[1, 2, 3, 4, 1, 2, 3]), [0, 1, 2, 3, 4, 1, 2]);
        assert_eq!(places(&[5, 5, 5, 5, 6, 5, 5]), [0, 5, 5, 5, 5, 6, 6]);
    }

    #[test]
    fn wake_counts_are_predicted_to_keep_their_step() {
        let seen = |all: [u16; 6]| {
            predicted(&all.map(|seen| (0, seen)))
                .into_iter()
                .map(|pair| pair.1)
        };
        assert!(seen([3, 3, 3, 3, 3, 3]).eq([0, 3, 3, 3, 3, 3]));
        assert!(seen([3, 5, 7, 9, 11, 11]).eq([0, 3, 7, 9, 11, 13]));
        assert!(seen([65_534, 65_535, 0, 1, 1, 1]).eq([0, 65_534, 0, 1, 2, 1]));
    }
}
