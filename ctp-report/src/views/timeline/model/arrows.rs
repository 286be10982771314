//! Wakes from one row to another, and never more than there is room for.

use std::collections::HashMap;

use ctp_trace::record::Nanos;

use crate::time_scale::Scale;

/// So many are kept.
const ROOM: usize = 5_000;

/// A coroutine that is shown woke another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// When the wake came.
    pub at: Nanos,
    /// The row of the one that called `wake()`.
    pub from: usize,
    /// The row of the one that was woken.
    pub to: usize,
}

/// The wakes between rows: where there are more than can be kept, of those between the same two
/// that are close to each other only one is.
#[derive(Clone, Debug, Default)]
pub struct Arrows {
    all: Vec<Arrow>,
    total: u64,
    latest: HashMap<(usize, usize), Nanos>,
    separate: u64,
}

impl Arrows {
    /// Those that are kept, in the order in which they were told.
    pub fn all(&self) -> &[Arrow] {
        &self.all
    }

    /// How many there were at the time that is shown.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds the next one, if it is shown. A wake of oneself goes nowhere.
    pub fn add(&mut self, arrow: Arrow, scale: &Scale) {
        if arrow.from == arrow.to || !scale.has(arrow.at) {
            return;
        }
        self.total += 1;
        self.keep(arrow);
        while ROOM < self.all.len() && self.separate <= scale.length() {
            self.separate = (2 * self.separate).max(scale.length() >> 14).max(1);
            self.latest.clear();
            let all = std::mem::take(&mut self.all);
            all.into_iter().for_each(|arrow| self.keep(arrow));
        }
        self.all.truncate(ROOM);
    }

    fn keep(&mut self, arrow: Arrow) {
        let pair = (arrow.from, arrow.to);
        let near = |last: &Nanos| last.0.abs_diff(arrow.at.0) < self.separate;
        if !self.latest.get(&pair).is_some_and(near) {
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

    // CT-19: few are all kept, but for those that nobody could see
    #[test]
    fn an_arrow_goes_from_one_row_to_another_in_sight() {
        let (scale, mut arrows) = (Scale::new(Nanos(10), Nanos(90)), Arrows::default());
        for other_arrow in [
            arrow(9, 0, 1),
            arrow(20, 0, 1),
            arrow(20, 1, 0),
            arrow(30, 1, 1),
        ] {
            arrows.add(other_arrow, &scale);
        }
        assert_eq!(arrows.all(), [arrow(20, 0, 1), arrow(20, 1, 0)]);
        assert_eq!(arrows.total(), 2);
    }

    // CT-19: of very many the rare ones stay
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
        assert!((500..=ROOM).contains(&arrows.all().len()));
        assert!(arrows.all().contains(&arrow(500_001, 1, 2)));
    }

    // CT-19: also those between a million pairs are bounded
    #[test]
    fn more_pairs_than_there_is_room_for_are_cut() {
        for end in [100, u64::MAX] {
            let scale = Scale::new(Nanos(0), Nanos(end));
            let mut arrows = Arrows::default();
            (0..1_000_000).for_each(|row| arrows.add(arrow(50, row, row + 1), &scale));
            assert_eq!(arrows.all().len(), ROOM);
        }
    }
}
