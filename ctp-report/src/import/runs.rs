//! Splits a coroTracer file into the runs of the program, which were appended to each other.
//!
//! No column says to which run a line belongs. The lines before and after a pause belong to the same run if a coroutine
//! has lines on both sides and its `seq` goes on. A thread with lines on both sides proves the same, unless the pause
//! is long: thread ids are soon reused, in containers immediately.

use std::collections::HashMap;
use std::ops::Range;

use super::line::ImportLine;
use super::number::ROUND;
use super::sift::DISORDER_NS;

/// Minimum pause between the end of a program and the start of the next.
const PAUSE_NS: u64 = 1_000_000;

/// A pause after which the id of a thread proves nothing.
const LONG_PAUSE_NS: u64 = 10_000_000_000;

/// The seq of the first eight events of a coroutine. Within this round, the next event of a coroutine looks like the
/// first event of a new coroutine with the same id.
const SEQ_OF_FIRST_ROUND: u64 = 2;

/// Growth of the seq from one round to the next.
const SEQ_STEP: u64 = 2;

/// The lines before which a run may end, in the order of the file.
#[derive(Default)]
struct Cuts {
    /// Those that are dropped if a thread has lines on both sides.
    by_threads: Vec<usize>,
    /// Those about which threads prove nothing.
    by_coroutines: Vec<usize>,
}

/// The latest line of a coroutine so far.
struct LatestLine {
    at: usize,
    line: ImportLine,
    in_round: usize,
}

/// The runs of a file, as ranges of its lines.
pub fn split(lines: &[ImportLine]) -> Vec<Range<usize>> {
    let mut starts = Vec::new();
    for block in ranges(&restarts(lines), lines.len()) {
        let from = block.start;
        starts.extend(cuts(&lines[block]).all().map(|cut| from + cut));
        starts.push(from);
    }
    starts.sort_unstable();
    ranges(&starts, lines.len())
}

fn ranges(starts: &[usize], end: usize) -> Vec<Range<usize>> {
    let mut from = 0;
    let all = starts.iter().copied().chain([end]);
    all.map(|to| std::mem::replace(&mut from, to)..to)
        .filter(|range| !range.is_empty())
        .collect()
}

/// The first line of each run that repeats times of an earlier run. Such a run is noticed when both the time and the
/// seq of an id go back, which in a single run happens only among the eight slots of a station, since these are read in
/// sequence. The run begins at the largest step back in time before that.
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
    let is_far = 2 < lines.len() || line.seq + SEQ_STEP < before.seq;
    let seq_may_have_restarted = line.seq < before.seq || before.seq <= SEQ_OF_FIRST_ROUND;
    is_far && seq_may_have_restarted && line.ts.saturating_add(PAUSE_NS) <= before.ts
}

/// The line after `before`, up to `to`, at which time goes back furthest.
fn largest_step_back(lines: &[ImportLine], before: usize, to: usize) -> usize {
    (before + 1..=to)
        .max_by_key(|at| lines[*at - 1].ts.saturating_sub(lines[*at].ts))
        .unwrap_or(to)
}

/// Proposes a cut at every pause and at every step back in time, and drops the cuts that a later line disproves.
fn cuts(lines: &[ImportLine]) -> Cuts {
    let mut cuts = Cuts::default();
    let mut coroutines: HashMap<u64, LatestLine> = HashMap::new();
    let mut threads: HashMap<u64, usize> = HashMap::new();
    let mut latest = lines.first().map_or(0, |line| line.ts);
    for (at, line) in lines.iter().enumerate() {
        let went_back = line.ts.saturating_add(DISORDER_NS) < latest;
        cuts.propose(at, line.ts.abs_diff(latest), went_back, latest < line.ts);
        latest = if went_back {
            line.ts
        } else {
            latest.max(line.ts)
        };
        let previous = coroutines.get(&line.probe_id);
        if let Some(previous) = previous.filter(|previous| previous.continues_with(line)) {
            cuts.drop_after(previous.at);
        }
        if let Some(previous) = threads.insert(line.tid, at) {
            truncate_after(&mut cuts.by_threads, previous);
        }
        remember(&mut coroutines, at, line);
    }
    cuts
}

impl Cuts {
    /// Adds a cut before the line `at`, if a run may end there. `distance_ns` is between the times of this line and
    /// of the latest line so far.
    fn propose(&mut self, at: usize, distance_ns: u64, went_back: bool, is_later: bool) {
        if went_back || (is_later && LONG_PAUSE_NS <= distance_ns) {
            self.by_coroutines.push(at);
        } else if PAUSE_NS <= distance_ns {
            self.by_threads.push(at);
        }
    }

    /// Drops all cuts after a line.
    fn drop_after(&mut self, line: usize) {
        truncate_after(&mut self.by_threads, line);
        truncate_after(&mut self.by_coroutines, line);
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        let by_coroutines = self.by_coroutines.iter();
        self.by_threads.iter().chain(by_coroutines).copied()
    }
}

fn truncate_after(cuts: &mut Vec<usize>, line: usize) {
    cuts.truncate(cuts.partition_point(|cut| *cut <= line));
}

fn remember(coroutines: &mut HashMap<u64, LatestLine>, at: usize, line: &ImportLine) {
    let previous = coroutines.get(&line.probe_id);
    let same_round =
        previous.filter(|previous| previous.line.seq == line.seq && previous.in_round < ROUND);
    let in_round = same_round.map_or(1, |previous| previous.in_round + 1);
    let line = *line;
    coroutines.insert(line.probe_id, LatestLine { at, line, in_round });
}

impl LatestLine {
    /// Whether this line certainly belongs to the same coroutine. In the first round, only a resume after a suspend
    /// proves this, because the first event of a coroutine is a suspend.
    fn continues_with(&self, line: &ImportLine) -> bool {
        let resumes = !self.line.is_active && line.is_active;
        let may_be_same_round = self.in_round < ROUND && (SEQ_OF_FIRST_ROUND < line.seq || resumes);
        self.line.ts <= line.ts
            && (self.line.seq < line.seq || (self.line.seq == line.seq && may_be_same_round))
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

    /// Time is linear in the number of lines: with 400 000 lines, a search through all cuts for each line takes minutes.
    #[test]
    fn many_pauses_of_a_thread_take_little_time() {
        let lines: Vec<ImportLine> = (0..400_000)
            .map(|n| line(n + 1, 7, 0, n * 11_000 * MS))
            .collect();
        assert_eq!(split(&lines).len(), 400_000);
    }

    #[test]
    fn stations_read_in_sequence_are_a_single_run() {
        let lines: Vec<ImportLine> = (1..9)
            .flat_map(|id| (0..8).map(move |n| line(id, 7, n, (8 * n + id) * MS)))
            .collect();
        assert_eq!(split(&lines), vec![0..64]);
    }
}
