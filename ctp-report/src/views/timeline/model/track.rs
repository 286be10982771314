//! The activities of a coroutine as a limited number of pieces.

use ctp_trace::record::{Nanos, SiteId, WaitKind};

/// A span of time in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The start.
    pub from: Nanos,
    /// The end.
    pub to: Nanos,
    /// What the coroutine did.
    pub activity: PieceKind,
}

/// What a coroutine did in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// The coroutine was born, and had not run yet.
    Born,
    /// The coroutine ran on a thread with this id.
    Runs(u64),
    /// The coroutine waited at a site, for a resource with this kind and number.
    Waits(SiteId, WaitKind, u64),
    /// This many events are lost.
    Lost(u64),
    /// Several merged pieces.
    Mixed {
        /// How many pieces were merged.
        pieces: u64,
        /// Nanoseconds in which the coroutine ran.
        ran: u64,
        /// How many events are lost.
        lost: u64,
    },
}

/// The pieces of a row, by time.
#[derive(Clone, Debug)]
pub struct PieceTrack {
    pieces: Vec<Piece>,
    /// Adjacent pieces are merged while together they are shorter than this number of nanoseconds.
    grain: u64,
    length: u64,
    room: usize,
}

impl PieceTrack {
    /// Creates an empty track for a time axis of this length. Keeps at most `room` pieces. Pieces
    /// shorter than `grain` nanoseconds are always merged.
    pub fn new(length: u64, grain: u64, room: usize) -> Self {
        PieceTrack {
            pieces: Vec::new(),
            grain,
            length,
            room: room.max(16),
        }
    }

    /// The pieces so far.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether a moment lies outside of merged pieces.
    pub fn distinguishes(&self, at: Nanos) -> bool {
        let place = self.pieces.partition_point(|piece| piece.to < at);
        !self
            .pieces
            .get(place)
            .is_some_and(|piece| matches!(piece.activity, PieceKind::Mixed { .. }))
    }

    /// Adds the next piece.
    pub fn push(&mut self, piece: Piece) {
        add(&mut self.pieces, piece, self.grain);
        while self.room < self.pieces.len() && self.grain <= self.length {
            self.grain = (2 * self.grain).max(self.length >> 14).max(1);
            let pieces = std::mem::take(&mut self.pieces);
            for piece in pieces {
                add(&mut self.pieces, piece, self.grain);
            }
        }
    }
}

impl Piece {
    /// The length in nanoseconds.
    pub fn length(&self) -> u64 {
        self.from.until(self.to).0
    }

    fn counts(&self) -> (u64, u64, u64) {
        match self.activity {
            PieceKind::Runs(_) => (1, self.length(), 0),
            PieceKind::Lost(lost) => (1, 0, lost),
            PieceKind::Mixed { pieces, ran, lost } => (pieces, ran, lost),
            PieceKind::Born | PieceKind::Waits(..) => (1, 0, 0),
        }
    }
}

fn add(pieces: &mut Vec<Piece>, piece: Piece, grain: u64) {
    match pieces.last_mut() {
        Some(last)
            if last.activity == piece.activity && last.to == piece.from && is_run(&piece) =>
        {
            last.to = piece.to;
        }
        Some(last) if last.from.until(piece.to).0 < grain => merge(last, &piece),
        _ => pieces.push(piece),
    }
}

fn is_run(piece: &Piece) -> bool {
    matches!(piece.activity, PieceKind::Runs(_))
}

fn merge(into: &mut Piece, piece: &Piece) {
    let ((a, ran, lost), (b, more_ran, more_lost)) = (into.counts(), piece.counts());
    into.to = piece.to;
    into.activity = PieceKind::Mixed {
        pieces: a + b,
        ran: ran.saturating_add(more_ran),
        lost: lost.saturating_add(more_lost),
    };
}

#[cfg(test)]
impl Piece {
    /// Creates a piece between two moments in nanoseconds.
    pub fn new(from: u64, to: u64, activity: PieceKind) -> Self {
        let (from, to) = (Nanos(from), Nanos(to));
        Piece { from, to, activity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_scale::Scale;

    const WAIT: PieceKind = PieceKind::Waits(SiteId(1), WaitKind::Timer, 0);

    // CT-19
    #[test]
    fn few_pieces_are_kept_unchanged() {
        let mut track = PieceTrack::new(1_000, 0, 16);
        track.push(Piece::new(0, 10, PieceKind::Born));
        track.push(Piece::new(10, 11, PieceKind::Runs(7)));
        track.push(Piece::new(11, 12, PieceKind::Runs(7)));
        track.push(Piece::new(12, 1_000, WAIT));
        let expected = [
            Piece::new(0, 10, PieceKind::Born),
            Piece::new(10, 12, PieceKind::Runs(7)),
            Piece::new(12, 1_000, WAIT),
        ];
        assert_eq!(track.pieces(), expected);
    }

    // CT-19: a row is bounded however long the trace is, and keeps all time and losses
    #[test]
    fn many_pieces_are_merged_up_to_the_limit() {
        let mut track = PieceTrack::new(3_000_000, 0, 100);
        for i in 0..1_000_000 {
            track.push(Piece::new(3 * i, 3 * i + 1, PieceKind::Runs(7)));
            track.push(Piece::new(3 * i + 1, 3 * i + 3, WAIT));
        }
        let counts = track.pieces().iter().map(Piece::counts);
        let sum = counts.fold((0, 0), |sum, entry| (sum.0 + entry.0, sum.1 + entry.1));
        assert!((20..=100).contains(&track.pieces().len()));
        assert_eq!(sum, (2_000_000, 1_000_000));
        assert!(
            track
                .pieces()
                .windows(2)
                .all(|two| two[0].to == two[1].from)
        );
    }

    // CT-19: in a damaged trace, time may repeatedly go from the beginning to the end
    #[test]
    fn rows_of_a_damaged_trace_are_bounded() {
        let scale = Scale::new(Nanos(0), Nanos(u64::MAX));
        let mut track = PieceTrack::new(scale.length(), 0, 16);
        for tid in 0..100 {
            track.push(Piece::new(0, scale.to.0, PieceKind::Runs(tid)));
        }
        assert!(track.pieces().len() <= 16);
    }

    // CT-19: a long piece between short pieces is kept
    #[test]
    fn long_waits_are_never_merged() {
        let mut track = PieceTrack::new(10_000, 100, 1_000);
        for i in 0..10 {
            track.push(Piece::new(i, i + 1, PieceKind::Runs(i)));
        }
        track.push(Piece::new(10, 9_000, WAIT));
        track.push(Piece::new(9_000, 9_001, PieceKind::Lost(4)));
        assert_eq!(track.pieces().len(), 3);
        assert_eq!(track.pieces()[1].activity, WAIT);
        assert!(!track.distinguishes(Nanos(5)) && track.distinguishes(Nanos(50)));
        assert!(track.distinguishes(Nanos(9_900)), "not merged yet");
    }
}
