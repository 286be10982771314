//! Moments that are marked in a row, and never more than there is room for.

use ctp_trace::record::{Nanos, SiteId};

use super::track::Track;
use crate::time_scale::Scale;

/// A moment, and who made it worth a mark, if that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it happened.
    pub at: Nanos,
    /// Who did it, if that was told.
    pub by: Option<By>,
}

/// A thread, at a place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct By {
    /// Its id.
    pub tid: u64,
    /// Where; 0 if that is not known.
    pub site: SiteId,
}

/// Marks, at most so many: where there are more, of those that stand close only one is kept.
#[derive(Clone, Debug)]
pub struct Marks {
    all: Vec<Mark>,
    thinned: bool,
    separate: u64,
    room: usize,
}

impl Marks {
    /// None yet, and room for so many.
    pub fn new(room: usize) -> Self {
        Marks {
            all: Vec::new(),
            thinned: false,
            separate: 1,
            room: room.max(16),
        }
    }

    /// The marks, in the order in which they were told.
    pub fn all(&self) -> &[Mark] {
        &self.all
    }

    /// Whether some were left out for want of room.
    pub fn is_thinned(&self) -> bool {
        self.thinned
    }

    /// Adds the next one, if it is shown and there is none so near. For want of room, those go
    /// first that stand where the track tells nothing apart.
    pub fn add(&mut self, mark: Mark, scale: &Scale, track: &Track) {
        let near = |last: &Mark| last.at.0.abs_diff(mark.at.0) < self.separate;
        if !scale.has(mark.at) || self.all.last().is_some_and(near) {
            return;
        }
        self.all.push(mark);
        if self.room < self.all.len() {
            self.thinned = true;
            self.all.retain(|mark| track.distinguishes(mark.at));
            self.thin_out(scale.length());
        }
    }

    fn thin_out(&mut self, length: u64) {
        while self.room / 8 * 7 < self.all.len() && self.separate < length {
            self.separate = (2 * self.separate).max(length >> 14);
            let separate = self.separate;
            self.all.dedup_by(|b, a| a.at.0.abs_diff(b.at.0) < separate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::timeline::model::{Activity, Piece};

    fn mark(at: u64) -> Mark {
        Mark {
            at: Nanos(at),
            by: None,
        }
    }

    // CT-19: marks are bounded, too
    #[test]
    fn many_marks_are_thinned_out() {
        let (scale, mut marks) = (Scale::new(Nanos(0), Nanos(1_000_000)), Marks::new(100));
        let track = Track::new(1_000_000, 0, 100);
        (0..1_000_000).for_each(|at| marks.add(mark(at), &scale, &track));
        assert!(marks.is_thinned() && (20..=100).contains(&marks.all().len()));
        assert!(marks.all().windows(2).all(|two| two[0].at < two[1].at));
    }

    // CT-19: what can be told apart keeps its marks, however many there are elsewhere
    #[test]
    fn marks_in_what_is_merged_go_first() {
        let scale = Scale::new(Nanos(0), Nanos(1_000_000));
        let (mut marks, mut track) = (Marks::new(100), Track::new(1_000_000, 50, 100));
        let run = |from, to, thread| Piece {
            from: Nanos(from),
            to: Nanos(to),
            activity: Activity::Runs(thread),
        };
        for at in 0..100_000 {
            track.push(run(at, at + 1, at));
            marks.add(mark(at), &scale, &track);
        }
        for at in 1..10 {
            track.push(run(at * 100_000, (at + 1) * 100_000, at));
            marks.add(mark(at * 100_000 + 50_000), &scale, &track);
        }
        let kept = marks.all().iter().filter(|mark| 100_000 < mark.at.0);
        assert_eq!(kept.count(), 9);
    }
}
