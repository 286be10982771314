//! Wakes between rows as a limited number of arrows.

use std::collections::HashMap;

use ctp_trace::record::Nanos;

use crate::time_scale::Scale;

/// How many arrows are kept.
const MAX_KEPT: usize = 5_000;

/// A wake of a shown coroutine by another shown coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// When the wake happened.
    pub at: Nanos,
    /// The row of the waker.
    pub from: usize,
    /// The row of the woken coroutine.
    pub to: usize,
}

/// The wakes between rows. Beyond the limit, arrows between the same two rows that are close in time
/// are thinned out.
#[derive(Clone, Debug, Default)]
pub struct Arrows {
    all: Vec<Arrow>,
    total: u64,
    latest: HashMap<(usize, usize), Nanos>,
    separate: u64,
}

impl Arrows {
    /// The kept arrows, in the order of the trace.
    pub fn all(&self) -> &[Arrow] {
        &self.all
    }

    /// How many wakes happened between shown rows in the shown time.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds the next arrow, if it is in the shown time. A coroutine that wakes itself has no arrow.
    pub fn add(&mut self, arrow: Arrow, scale: &Scale) {
        if arrow.from == arrow.to || !scale.has(arrow.at) {
            return;
        }
        self.total += 1;
        self.keep(arrow);
        while MAX_KEPT < self.all.len() && self.separate <= scale.length() {
            self.separate = (2 * self.separate).max(scale.length() >> 14).max(1);
            self.latest.clear();
            let all = std::mem::take(&mut self.all);
            all.into_iter().for_each(|arrow| self.keep(arrow));
        }
        self.all.truncate(MAX_KEPT);
    }

    fn keep(&mut self, arrow: Arrow) {
        let pair = (arrow.from, arrow.to);
        let distance = self
            .latest
            .get(&pair)
            .map(|last| last.0.abs_diff(arrow.at.0));
        if distance.is_none_or(|distance| self.separate <= distance) {
            self.latest.insert(pair, arrow.at);
            self.all.push(arrow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(at: u64, from: usize, to: usize) -> Arrow {
        Arrow {
            at: Nanos(at),
            from,
            to,
        }
    }

    // CT-19: a few arrows are all kept, except invisible ones
    #[test]
    fn arrows_outside_the_window_or_to_the_same_row_are_dropped() {
        let (scale, mut arrows) = (Scale::new(Nanos(10), Nanos(90)), Arrows::default());
        for (at, from, to) in [(9, 0, 1), (20, 0, 1), (20, 1, 0), (30, 1, 1)] {
            arrows.add(arrow(at, from, to), &scale);
        }
        assert_eq!(arrows.all(), [arrow(20, 0, 1), arrow(20, 1, 0)]);
        assert_eq!(arrows.total(), 2);
    }

    // CT-19: rare arrows stay
    #[test]
    fn many_arrows_are_thinned_out_pair_by_pair() {
        let scale = Scale::new(Nanos(0), Nanos(1_000_000));
        let mut arrows = Arrows::default();
        for at in 0..1_000_000 {
            arrows.add(arrow(at, 0, 1), &scale);
            if at == 500_001 {
                arrows.add(arrow(at, 1, 2), &scale);
            }
        }
        assert_eq!(arrows.total(), 1_000_001);
        assert!((500..=MAX_KEPT).contains(&arrows.all().len()));
        assert!(arrows.all().contains(&arrow(500_001, 1, 2)));
    }

    // CT-19: arrows between a million pairs of rows are bounded, too
    #[test]
    fn arrows_of_too_many_pairs_are_cut() {
        for end in [100, u64::MAX] {
            let scale = Scale::new(Nanos(0), Nanos(end));
            let mut arrows = Arrows::default();
            (0..1_000_000).for_each(|row| arrows.add(arrow(50, row, row + 1), &scale));
            assert_eq!(arrows.all().len(), MAX_KEPT);
        }
    }
}
