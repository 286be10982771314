//! Maps the `seq` of lines to event indices.

use ctp_trace::record::Dialect;

use super::line::ImportLine;

/// Number of events in a round, which equals the number of slots of a station: a coroutine writes its slots in turn, and
/// all events of a round have the same seq.
pub(super) const ROUND: usize = 8;

/// If at least one line in this many has an odd seq, odd seqs are valid.
const ODD_ONE_IN: usize = 4;

/// Meaning of the seq numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Each of the eight slots counts separately, by two. All events of a round have the same seq.
    PerSlot,
    /// The station counts its events.
    PerStation,
}

/// The numbering that a run uses.
pub fn numbering(lines: &[ImportLine]) -> Numbering {
    let odd = lines.iter().filter(|line| line.seq % 2 == 1).count();
    if lines.len() <= odd * ODD_ONE_IN {
        Numbering::PerStation
    } else {
        Numbering::PerSlot
    }
}

impl Numbering {
    /// Whether a complete event can have this seq.
    pub fn allows(self, seq: u64) -> bool {
        self == Numbering::PerStation || seq.is_multiple_of(2)
    }

    /// The dialect in the trace.
    pub fn dialect(self) -> Dialect {
        match self {
            Numbering::PerSlot => Dialect::V1PerSlot,
            Numbering::PerStation => Dialect::V1PerStation,
        }
    }

    /// Maximum number of events of a coroutine with the same seq.
    fn events_of_a_seq(self) -> usize {
        match self {
            Numbering::PerSlot => ROUND,
            Numbering::PerStation => 1,
        }
    }

    /// Growth of the seq in a round, which is also the largest seq of the first round.
    fn round(self) -> u64 {
        match self {
            Numbering::PerSlot => 2,
            Numbering::PerStation => ROUND as u64,
        }
    }

    /// Whether the middle of three seqs, in the order of time, is wrong: the middle is out of order, the other
    /// two are in order, and the last does not begin another coroutine with the same id.
    pub fn contradicts(self, [before, number, after]: [u64; 3]) -> bool {
        let leaps = before.saturating_add(self.round()) < number;
        let begins_again = after <= self.round() && !leaps;
        before <= after && (number < before || (after < number && !begins_again))
    }
}

/// Splits the lines of an id, in the order of time, into coroutines. An id is reused after its coroutine
/// ended, and then the numbers start again.
pub fn lives(lines: &[ImportLine], numbering: Numbering) -> Vec<&[ImportLine]> {
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

/// The index of each event of a coroutine.
pub fn indices(life: &[ImportLine], numbering: Numbering) -> Vec<u64> {
    match numbering {
        Numbering::PerStation => life.iter().map(|line| line.seq - 1).collect(),
        Numbering::PerSlot => per_slot(life),
    }
}

fn per_slot(life: &[ImportLine]) -> Vec<u64> {
    let mut indices = Vec::with_capacity(life.len());
    for round in life.chunk_by(|a, b| a.seq == b.seq) {
        let first = (round[0].seq / 2 - 1) * ROUND as u64;
        let (here, end) = (indices.len(), indices.len() + round.len());
        let missing = if end < life.len() {
            ROUND - round.len()
        } else {
            // Missing events of the last round have not happened yet.
            0
        };
        let gap = widest(life, here, end);
        indices.extend((0..round.len()).map(|i| {
            let skipped = if gap <= here + i { missing } else { 0 };
            first + (i + skipped) as u64
        }));
    }
    indices
}

/// The index of the line that follows the longest gap of a round. Missing events are assumed to be in
/// this gap, so that they do not lengthen any span.
fn widest(life: &[ImportLine], here: usize, end: usize) -> usize {
    (here..=end)
        .max_by_key(|at| match at.checked_sub(1) {
            Some(last) if *at < life.len() => life[*at].ts - life[last].ts,
            _ => 0,
        })
        .unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64, ts: u64) -> ImportLine {
        ImportLine {
            number: 1,
            probe_id: 1,
            tid: 1,
            addr: 0,
            seq,
            is_active: true,
            ts,
        }
    }

    fn life(rows: &[(u64, u64)]) -> Vec<ImportLine> {
        rows.iter().map(|&(seq, ts)| line(seq, ts)).collect()
    }

    #[test]
    fn whole_rounds_give_exact_indices() {
        let lines: Vec<ImportLine> = (0..20).map(|n| line(2 * (n / 8) + 2, n)).collect();
        let indices = indices(&lines, Numbering::PerSlot);
        assert_eq!(indices, (0..20).collect::<Vec<u64>>());
    }

    #[test]
    fn missing_events_are_in_the_longest_gap() {
        let lines = life(&[(2, 10), (2, 11), (2, 90), (2, 91), (4, 92)]);
        assert_eq!(indices(&lines, Numbering::PerSlot), [0, 1, 6, 7, 8]);
        let lines = life(&[(2, 10), (2, 11), (4, 92), (4, 93)]);
        assert_eq!(indices(&lines, Numbering::PerSlot), [0, 1, 8, 9]);
    }

    #[test]
    fn reused_ids_are_other_coroutines() {
        let lengths = |lines: &[ImportLine]| -> Vec<usize> {
            lives(lines, Numbering::PerSlot)
                .iter()
                .map(|life| life.len())
                .collect()
        };
        assert_eq!(lengths(&life(&[(2, 1), (4, 2), (2, 3), (2, 4)])), [2, 2]);
        let nine: Vec<ImportLine> = (0..9).map(|ts| line(2, ts)).collect();
        assert_eq!(lengths(&nine), [8, 1]);
    }

    #[test]
    fn seqs_that_fit_neither_neighbour_are_wrong() {
        let bad = |three| Numbering::PerSlot.contradicts(three);
        assert!(bad([4, 2, 4]) && bad([4, 90, 6]) && bad([2, 90, 2]));
        assert!(!bad([2, 4, 6]) && !bad([4, 4, 4]) && !bad([40, 2, 2]) && !bad([2, 4, 2]));
    }
}
