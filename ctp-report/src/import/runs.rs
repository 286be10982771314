//! Splits a coroTracer file into the runs of the program, which were appended to each other.
//!
//! No column says to which run a line belongs. Two lines belong to the same run if a coroutine continues from
//! before the first line to after the second. A thread that continues proves the same, unless there is a long
//! pause between the two lines: thread ids are soon reused, in containers immediately.

use std::collections::HashMap;
use std::ops::Range;

use super::line::ImportLine;
use super::sift::DISORDER_NS;

/// Minimum pause between the end of a program and the start of the next.
const PAUSE_NS: u64 = 1_000_000;

/// A pause after which the id of a thread proves nothing.
const LONG_PAUSE_NS: u64 = 10_000_000_000;

/// The largest seq of the first round. All its events have this seq, so a coroutine that continues looks like
/// a new coroutine with the same id.
const FIRST_ROUND: u64 = 2;

/// Events of a round: a coroutine writes its eight slots in turn, and all events of a round have the
/// same seq.
const ROUND: usize = 8;

/// A place where a run may end.
struct Cut {
    /// The first line after the cut.
    at: usize,
    /// Whether the cut is dropped if a thread has lines on both sides.
    by_threads: bool,
}

/// The latest line of a coroutine so far.
struct Last {
    at: usize,
    line: ImportLine,
    in_round: usize,
}

/// The runs of a file, as ranges of its lines.
pub fn split(lines: &[ImportLine]) -> Vec<Range<usize>> {
    let mut ends = Vec::new();
    for block in ranges(&restarts(lines), lines.len()) {
        let from = block.start;
        ends.extend(cuts(&lines[block]).iter().map(|cut| from + cut.at));
        ends.push(from);
    }
    ends.sort_unstable();
    ranges(&ends, lines.len())
}

fn ranges(starts: &[usize], end: usize) -> Vec<Range<usize>> {
    let mut from = 0;
    let ends = starts.iter().copied().chain([end]);
    ends.map(|to| std::mem::replace(&mut from, to)..to)
        .filter(|range| !range.is_empty())
        .collect()
}

/// Lines at which both the time and the seq of an id go back. In a run this happens only among the eight
/// slots of a station, which are read in sequence.
fn restarts(lines: &[ImportLine]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut last: HashMap<u64, usize> = HashMap::new();
    let (mut latest, mut near_latest) = (0, 0);
    for (at, line) in lines.iter().enumerate() {
        let before = last.insert(line.probe_id, at);
        if before.is_some_and(|before| begins_again(&lines[before..=at])) {
            starts.push(largest_step_back(lines, near_latest, at));
            last = HashMap::from([(line.probe_id, at)]);
            latest = line.ts;
        }
        if latest <= line.ts.saturating_add(PAUSE_NS) {
            near_latest = at;
        }
        latest = latest.max(line.ts);
    }
    starts
}

/// Whether an id starts again between two of its lines.
fn begins_again(lines: &[ImportLine]) -> bool {
    let (before, line) = (&lines[0], &lines[lines.len() - 1]);
    let is_far = 2 < lines.len() || line.seq + FIRST_ROUND < before.seq;
    let seq_may_have_restarted = line.seq < before.seq || before.seq <= FIRST_ROUND;
    is_far && seq_may_have_restarted && line.ts.saturating_add(PAUSE_NS) <= before.ts
}

/// The line after `before`, up to `to`, at which time goes back furthest.
fn largest_step_back(lines: &[ImportLine], before: usize, to: usize) -> usize {
    (before + 1..=to)
        .max_by_key(|at| lines[*at - 1].ts.saturating_sub(lines[*at].ts))
        .unwrap_or(to)
}

/// Takes every pause as a cut, until a coroutine or thread continues across the pause.
fn cuts(lines: &[ImportLine]) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    let mut coroutines: HashMap<u64, Last> = HashMap::new();
    let mut threads: HashMap<u64, usize> = HashMap::new();
    let mut latest = lines.first().map_or(0, |line| line.ts);
    for (at, line) in lines.iter().enumerate() {
        cuts.extend(pause(latest, line.ts).map(|by_threads| Cut { at, by_threads }));
        let went_back = line.ts.saturating_add(DISORDER_NS) < latest;
        latest = if went_back {
            line.ts
        } else {
            latest.max(line.ts)
        };
        if let Some(last) = coroutines
            .get(&line.probe_id)
            .filter(|coroutine| coroutine.continues_with(line))
        {
            cuts.truncate(cuts.partition_point(|cut| cut.at <= last.at));
        }
        if let Some(last) = threads.insert(line.tid, at) {
            cuts.retain(|cut| cut.at <= last || !cut.by_threads);
        }
        remember(&mut coroutines, at, line);
    }
    cuts
}

/// Returns `None` if a run cannot end between these times, or else whether a thread with lines on
/// both sides disproves such an end.
fn pause(latest: u64, now: u64) -> Option<bool> {
    let went_back = now.saturating_add(DISORDER_NS) < latest;
    match now.abs_diff(latest) {
        _ if went_back => Some(false),
        LONG_PAUSE_NS.. if latest < now => Some(false),
        PAUSE_NS.. => Some(true),
        _ => None,
    }
}

fn remember(coroutines: &mut HashMap<u64, Last>, at: usize, line: &ImportLine) {
    let last = coroutines.get(&line.probe_id);
    let same_round = last.filter(|last| last.line.seq == line.seq && last.in_round < ROUND);
    let in_round = same_round.map_or(1, |last| last.in_round + 1);
    let line = *line;
    coroutines.insert(line.probe_id, Last { at, line, in_round });
}

impl Last {
    /// Whether this line certainly belongs to the same coroutine. In the first round, only a resume after a
    /// suspend does, because the first event of a coroutine is a suspend.
    fn continues_with(&self, line: &ImportLine) -> bool {
        let resumes = !self.line.is_active && line.is_active;
        let same_round = self.in_round < ROUND && (FIRST_ROUND < line.seq || resumes);
        self.line.ts <= line.ts
            && (self.line.seq < line.seq || (self.line.seq == line.seq && same_round))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(probe_id: u64, tid: u64, n: u64, ts: u64) -> ImportLine {
        ImportLine {
            number: 1,
            probe_id,
            tid,
            addr: 0,
            seq: n / 8 * 2 + 2,
            is_active: n % 2 == 1,
            ts,
        }
    }

    const MS: u64 = 1_000_000;

    /// Three coroutines in turn, every millisecond.
    fn run(tid: u64, from: u64) -> Vec<ImportLine> {
        (0..60)
            .map(|k| line(k % 3 + 1, tid, k / 3, from + k * MS))
            .collect()
    }

    #[test]
    fn runs_of_a_program_are_separated() {
        let ranges = |runs: &[Vec<ImportLine>]| split(&runs.concat());
        let three = [0..60, 60..120, 120..180];
        let later = [run(7, 0), run(8, 90 * MS), run(9, 200 * MS)];
        assert_eq!(ranges(&later), three, "other threads, at once");
        let same_threads = [run(7, 0), run(7, 20_000 * MS), run(7, 90_000 * MS)];
        assert_eq!(ranges(&same_threads), three, "the same threads, later");
        let same_times = [run(7, 0), run(7, 0), run(7, 0)];
        assert_eq!(ranges(&same_times), three, "the same in all");
        let restarted = [run(7, 90_000 * MS), run(7, 60_000 * MS), run(7, 5 * MS)];
        assert_eq!(ranges(&restarted), three, "another clock");
    }

    #[test]
    fn pauses_that_a_thread_or_coroutine_spans_are_no_end() {
        let lines: Vec<ImportLine> = (0..20)
            .map(|n| line(1, 7, n, n.div_ceil(2) * 60_000 * MS + n))
            .collect();
        assert_eq!(split(&lines), vec![0..20]);
    }

    #[test]
    fn stations_read_in_sequence_are_a_single_run() {
        let lines: Vec<ImportLine> = (1..9)
            .flat_map(|id| (0..8).map(move |n| line(id, 7, n, (8 * n + id) * MS)))
            .collect();
        assert_eq!(split(&lines), vec![0..64]);
    }
}
