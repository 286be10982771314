//! Marked moments of a row, limited in number.

use ctp_trace::record::{Nanos, SiteId};

use super::track::PieceTrack;
use crate::time_scale::Scale;

/// A marked moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMark {
    /// The moment.
    pub at: Nanos,
    /// The thread that caused the mark, if recorded.
    pub by: Option<MarkAuthor>,
}

/// A thread at a place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarkAuthor {
    /// The thread id.
    pub tid: u64,
    /// The place, or 0 if unknown.
    pub site: SiteId,
}

/// A limited number of marks. Beyond the limit, marks that are close in time are thinned out.
#[derive(Clone, Debug)]
pub struct Marks {
    all: Vec<RowMark>,
    thinned: bool,
    separate: u64,
    room: usize,
}

impl Marks {
    /// Creates an empty list for `room` marks.
    pub fn new(room: usize) -> Self {
        Marks {
            all: Vec::new(),
            thinned: false,
            separate: 1,
            room: room.max(16),
        }
    }

    /// The marks, in the order of the trace.
    pub fn all(&self) -> &[RowMark] {
        &self.all
    }

    /// Whether marks were dropped because of the limit.
    pub fn is_thinned(&self) -> bool {
        self.thinned
    }

    /// Adds the next mark, unless it lies outside of the shown time or too close to another mark.
    /// Beyond the limit, marks in merged pieces of the track are dropped first.
    pub fn add(&mut self, mark: RowMark, scale: &Scale, track: &PieceTrack) {
        let distance = self.all.last().map(|last| last.at.0.abs_diff(mark.at.0));
        if !scale.has(mark.at) || distance.is_some_and(|distance| distance < self.separate) {
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
    use crate::views::timeline::model::{Piece, PieceKind};

    fn mark(at: u64) -> RowMark {
        RowMark {
            at: Nanos(at),
            by: None,
        }
    }

    // CT-19: the number of marks is bounded, too
    #[test]
    fn many_marks_are_thinned_out() {
        let (scale, mut marks) = (Scale::new(Nanos(0), Nanos(1_000_000)), Marks::new(100));
        let track = PieceTrack::new(1_000_000, 0, 100);
        (0..1_000_000).for_each(|at| marks.add(mark(at), &scale, &track));
        assert!(marks.is_thinned() && (20..=100).contains(&marks.all().len()));
        assert!(marks.all().windows(2).all(|two| two[0].at < two[1].at));
    }

    // CT-19: separate pieces keep their marks, however many marks there are elsewhere
    #[test]
    fn marks_in_merged_pieces_are_dropped_first() {
        let scale = Scale::new(Nanos(0), Nanos(1_000_000));
        let (mut marks, mut track) = (Marks::new(100), PieceTrack::new(1_000_000, 50, 100));
        let run = |from, to, thread| Piece {
            from: Nanos(from),
            to: Nanos(to),
            activity: PieceKind::Runs(thread),
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
