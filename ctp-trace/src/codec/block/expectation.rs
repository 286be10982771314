//! What the coming rows of a coroutine are expected to say.

use super::SiteArg;
use crate::record::{Event, EventKind};

/// What is expected of the next row of a coroutine. An event at which all is as always asks only for what
/// comes before `suspend_site_args`, a cache line.
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

/// What a coroutine's suspends have in common, or its other events.
#[derive(Clone, Copy, Default)]
struct UsualPattern {
    /// What the next one will say.
    site_arg: SiteArg,
    seen: u16,
    /// How much more each has seen than the one before.
    step: u16,
    /// The block has such an event of this coroutine.
    met: bool,
    /// It has, and the latest spots are all the same.
    is_settled: bool,
}

/// The latest first.
type SiteArgs = [SiteArg; 3];

/// What an event is expected to say.
pub(super) struct Predicted {
    pub n: u64,
    pub tid: u64,
    pub site_arg: SiteArg,
    pub seen: u16,
}

impl Expectation {
    pub fn of_a_stranger(&self) -> Self {
        let mut like_this = *self;
        for usual_pattern in [&mut like_this.suspended, &mut like_this.other] {
            (usual_pattern.met, usual_pattern.is_settled) = (false, false);
        }
        like_this
    }

    /// What the next event of this kind will say.
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

    /// An event of this kind has come. Gives what was foretold.
    #[inline(always)]
    pub fn meet(
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
            usual_pattern.meet(site_arg, event.wake_seen, site_args);
        }
        predicted
    }

    /// A run may be on any thread; what follows it is on the same one.
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
    fn meet(&mut self, site_arg: SiteArg, seen: u16, site_args: &mut SiteArgs) {
        if self.met {
            let before = self.seen.wrapping_sub(self.step);
            self.step = seen.wrapping_sub(before);
        }
        // Wakes between two runs are most often as many as the last time.
        self.seen = seen.wrapping_add(self.step);
        self.met = true;
        self.meet_site_arg(site_arg, site_args);
    }

    /// Coroutines go round in loops: what came after this spot the last time comes again.
    #[inline]
    fn meet_site_arg(&mut self, site_arg: SiteArg, site_args: &mut SiteArgs) {
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
    /// Have its numbers all come true?
    #[inline]
    pub fn are_numbers_of(&self, event: &Event) -> bool {
        self.n == event.n && self.tid == event.tid && self.seen == event.wake_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was foretold of each of these suspends: where it is, and how many wakes it has seen.
    fn predicted(suspends: &[(u64, u16)]) -> Vec<(u64, u16)> {
        let mut expectation = Expectation::default();
        let meet = |&(arg, wake_seen): &(u64, u16)| {
            let event = Event {
                kind: EventKind::Suspend,
                arg,
                wake_seen,
                ..Event::default()
            };
            let predicted = expectation.meet(&event, event.kind, SiteArg::of(&event), 0);
            (predicted.site_arg.arg, predicted.seen)
        };
        suspends.iter().map(meet).collect()
    }

    /// Files of all versions are read by what is foretold: none of this may ever change.
    #[test]
    fn loops_of_up_to_three_spots_are_foretold_from_their_second_round_on() {
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
    fn wakes_are_expected_to_go_on_as_they_did() {
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
