//! Moments that are marked in a row, and never more than there is room for.

use ctp_trace::record::Nanos;

use super::scale::Scale;
use super::track::Track;

/// Moments, at most so many: where there are more, of those that stand close only one is kept.
#[derive(Clone, Debug)]
pub struct Marks {
    at: Vec<Nanos>,
    apart: u64,
    room: usize,
}

impl Marks {
    /// None yet, and room for so many.
    pub fn new(room: usize) -> Self {
        Marks {
            at: Vec::new(),
            apart: 1,
            room: room.max(16),
        }
    }

    /// The moments, in the order in which they were told.
    pub fn moments(&self) -> &[Nanos] {
        &self.at
    }

    /// Adds the next one, if it is shown and there is none so near. For want of room, those go
    /// first that stand where the track tells nothing apart.
    pub fn add(&mut self, at: Nanos, scale: &Scale, track: &Track) {
        let near = |last: &Nanos| last.0.abs_diff(at.0) < self.apart;
        if !scale.has(at) || self.at.last().is_some_and(near) {
            return;
        }
        self.at.push(at);
        if self.room < self.at.len() {
            self.at.retain(|at| track.tells_apart(*at));
            self.thin_out(scale.length());
        }
    }

    fn thin_out(&mut self, length: u64) {
        while self.room / 8 * 7 < self.at.len() && self.apart < length {
            self.apart = (2 * self.apart).max(length >> 14);
            let apart = self.apart;
            self.at.dedup_by(|b, a| a.0.abs_diff(b.0) < apart);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Doing, Piece};

    // CT-19: marks are bounded, too
    #[test]
    fn many_marks_are_thinned_out() {
        let (scale, mut marks) = (Scale::new(Nanos(0), Nanos(1_000_000)), Marks::new(100));
        let track = Track::new(1_000_000, 0, 100);
        (0..1_000_000).for_each(|at| marks.add(Nanos(at), &scale, &track));
        let moments = marks.moments();
        assert!((20..=100).contains(&moments.len()));
        assert!(moments.windows(2).all(|two| two[0] < two[1]));
    }

    // CT-19: what can be told apart keeps its marks, however many there are elsewhere
    #[test]
    fn marks_in_what_is_merged_go_first() {
        let scale = Scale::new(Nanos(0), Nanos(1_000_000));
        let (mut marks, mut track) = (Marks::new(100), Track::new(1_000_000, 50, 100));
        let run = |from, to, thread| Piece {
            from: Nanos(from),
            to: Nanos(to),
            doing: Doing::Runs(thread),
        };
        for at in 0..100_000 {
            track.push(run(at, at + 1, at));
            marks.add(Nanos(at), &scale, &track);
        }
        for at in 1..10 {
            track.push(run(at * 100_000, (at + 1) * 100_000, at));
            marks.add(Nanos(at * 100_000 + 50_000), &scale, &track);
        }
        let kept = marks.moments().iter().filter(|at| 100_000 < at.0);
        assert_eq!(kept.count(), 9);
    }
}
