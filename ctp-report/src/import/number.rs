//! From the seq of a line to the index of its event.

use ctp_trace::record::Dialect;

use super::line::Line;

/// Events of a round: a station has as many slots.
const ROUND: usize = 8;

/// If at least one line in so many has an odd seq, odd ones are no accident.
const ODD_ONE_IN: usize = 4;

/// How a run's seqs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Each of eight slots counts for itself, by twos: all events of a round have the same seq.
    PerSlot,
    /// A station counts its events.
    PerStation,
}

/// Which of the two a run uses.
pub fn numbering(lines: &[Line]) -> Numbering {
    let odd = lines.iter().filter(|line| line.seq % 2 == 1).count();
    if lines.len() <= odd * ODD_ONE_IN {
        Numbering::PerStation
    } else {
        Numbering::PerSlot
    }
}

impl Numbering {
    /// Whether a whole event can have this seq.
    pub fn allows(self, seq: u64) -> bool {
        self == Numbering::PerStation || seq.is_multiple_of(2)
    }

    /// How the trace calls it.
    pub fn dialect(self) -> Dialect {
        match self {
            Numbering::PerSlot => Dialect::V1PerSlot,
            Numbering::PerStation => Dialect::V1PerStation,
        }
    }

    /// How many events of a coroutine have the same seq at most.
    fn events_of_a_seq(self) -> usize {
        match self {
            Numbering::PerSlot => ROUND,
            Numbering::PerStation => 1,
        }
    }

    /// By how much a seq grows in a round; the seqs of a first round are no larger.
    fn round(self) -> u64 {
        match self {
            Numbering::PerSlot => 2,
            Numbering::PerStation => ROUND as u64,
        }
    }

    /// Whether the middle one of three seqs, in the order of time, is wrong: the two around it are
    /// in order without it, and none of them begins another coroutine with the same id.
    pub fn contradicts(self, [before, number, after]: [u64; 3]) -> bool {
        let leaps = before.saturating_add(self.round()) < number;
        let begins_again = after <= self.round() && !leaps;
        before <= after && (number < before || (after < number && !begins_again))
    }
}

/// Splits the lines of one id, in the order of time, into coroutines: an id is given again when
/// its owner is gone, and then its numbers begin anew.
pub fn lives(lines: &[Line], numbering: Numbering) -> Vec<&[Line]> {
    let (mut lives, mut from, mut in_round) = (Vec::new(), 0, 1);
    for at in 1..lines.len() {
        let same_round = lines[at].seq == lines[at - 1].seq;
        in_round = if same_round { in_round + 1 } else { 1 };
        if lines[at].seq < lines[at - 1].seq || numbering.events_of_a_seq() < in_round {
            lives.push(&lines[from..at]);
            (from, in_round) = (at, 1);
        }
    }
    lives.push(&lines[from..]);
    lives
}

/// The index of each event of one coroutine.
pub fn indices(life: &[Line], numbering: Numbering) -> Vec<u64> {
    match numbering {
        Numbering::PerStation => life.iter().map(|line| line.seq - 1).collect(),
        Numbering::PerSlot => per_slot(life),
    }
}

fn per_slot(life: &[Line]) -> Vec<u64> {
    let mut indices = Vec::with_capacity(life.len());
    for round in life.chunk_by(|a, b| a.seq == b.seq) {
        let first = (round[0].seq / 2 - 1) * ROUND as u64;
        let (here, end) = (indices.len(), indices.len() + round.len());
        let missing = match end < life.len() {
            true => ROUND - round.len(),
            // Events of the last round that are not there did not happen.
            false => 0,
        };
        let gap = widest(life, here, end);
        indices.extend((0..round.len()).map(|i| {
            let behind_the_gap = if gap <= here + i { missing } else { 0 };
            first + (i + behind_the_gap) as u64
        }));
    }
    indices
}

/// Before which line of a round most time went by: where its missing events are taken to be, so
/// that no stretch of time is made longer by them.
fn widest(life: &[Line], here: usize, end: usize) -> usize {
    let before = |at: &usize| match at.checked_sub(1) {
        Some(last) if *at < life.len() => life[*at].ts - life[last].ts,
        _ => 0,
    };
    (here..=end).max_by_key(before).unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64, ts: u64) -> Line {
        Line {
            number: 1,
            probe_id: 1,
            tid: 1,
            addr: 0,
            seq,
            is_active: true,
            ts,
        }
    }

    fn life(rows: &[(u64, u64)]) -> Vec<Line> {
        rows.iter().map(|&(seq, ts)| line(seq, ts)).collect()
    }

    #[test]
    fn whole_rounds_give_exact_indices() {
        let lines: Vec<Line> = (0..20).map(|n| line(2 * (n / 8) + 2, n)).collect();
        let indices = indices(&lines, Numbering::PerSlot);
        assert_eq!(indices, (0..20).collect::<Vec<u64>>());
    }

    #[test]
    fn what_is_missing_of_a_round_lies_where_most_time_went_by() {
        let lines = life(&[(2, 10), (2, 11), (2, 90), (2, 91), (4, 92)]);
        assert_eq!(indices(&lines, Numbering::PerSlot), [0, 1, 6, 7, 8]);
        let lines = life(&[(2, 10), (2, 11), (4, 92), (4, 93)]);
        assert_eq!(indices(&lines, Numbering::PerSlot), [0, 1, 8, 9]);
    }

    #[test]
    fn an_id_given_again_is_another_coroutine() {
        let lengths = |lines: &[Line]| -> Vec<usize> {
            lives(lines, Numbering::PerSlot)
                .iter()
                .map(|life| life.len())
                .collect()
        };
        assert_eq!(lengths(&life(&[(2, 1), (4, 2), (2, 3), (2, 4)])), [2, 2]);
        let nine: Vec<Line> = (0..9).map(|ts| line(2, ts)).collect();
        assert_eq!(lengths(&nine), [8, 1]);
    }

    #[test]
    fn a_seq_that_fits_neither_side_is_wrong() {
        let bad = |three| Numbering::PerSlot.contradicts(three);
        assert!(bad([4, 2, 4]) && bad([4, 90, 6]) && bad([2, 90, 2]));
        assert!(!bad([2, 4, 6]) && !bad([4, 4, 4]) && !bad([40, 2, 2]) && !bad([2, 4, 2]));
    }
}
