//! Finds lines that contradict neighbouring lines.

use std::collections::HashMap;

use super::line::{ImportLine, LineFault};
use super::number::{Numbering, numbering};

/// Number of neighbours that are compared on each side.
const NEIGHBOURS: usize = 8;

/// How far apart in time neighbouring lines may be in the wrong order, in nanoseconds. coroTracer writes
/// lines in the order in which it finds them.
pub const DISORDER_NS: u64 = 10_000_000_000;

/// One or two lines at the beginning or end of a run are not plausible if at least this many nanoseconds
/// separate them from all others.
const EDGE_NS: u64 = 1_000_000_000_000;
const EDGE_LINES: usize = 2;

/// Removes lines that contradict most of their neighbours in time, and are close in time to at most
/// one.
pub fn against_neighbours(lines: &mut Vec<ImportLine>, faults: &mut Vec<(usize, LineFault)>) {
    let stray: Vec<bool> = (0..lines.len()).map(|at| is_stray(lines, at)).collect();
    let mut stray = stray.into_iter();
    lines.retain(|line| {
        let bad = stray.next().unwrap_or(false);
        if bad {
            faults.push((line.number, LineFault::TimeImplausible));
        }
        !bad
    });
}

fn is_stray(lines: &[ImportLine], at: usize) -> bool {
    let before = &lines[at.saturating_sub(NEIGHBOURS)..at];
    let after = &lines[at + 1..lines.len().min(at + 1 + NEIGHBOURS)];
    let ts = lines[at].ts;
    let near = before.iter().chain(after);
    let near = near.filter(|line| line.ts.abs_diff(ts) <= DISORDER_NS);
    near.count() < 2
        && (are_most(before, |line| ts.saturating_add(DISORDER_NS) < line.ts)
            || are_most(after, |line| line.ts.saturating_add(DISORDER_NS) < ts))
}

/// Whether most of the lines satisfy the predicate.
fn are_most(lines: &[ImportLine], predicate: impl Fn(&ImportLine) -> bool) -> bool {
    lines.len() < 2 * lines.iter().filter(|line| predicate(line)).count()
}

/// The consistent lines of a run.
pub fn within_run(run: &[ImportLine], faults: &mut Vec<(usize, LineFault)>) -> Vec<ImportLine> {
    let mut lines = without_edges(run, faults);
    let numbering = numbering(&lines);
    let mut reject = |line: &ImportLine, fault| {
        faults.push((line.number, fault));
        false
    };
    lines.retain(|line| numbering.allows(line.seq) || reject(line, LineFault::SeqOdd));
    let bad = out_of_line(&lines, numbering);
    lines.retain(|line| {
        bad.binary_search(&line.number).is_err() || reject(line, LineFault::SeqImplausible)
    });
    lines
}

/// Removes a line or two at either end that are far in time from all others.
fn without_edges(run: &[ImportLine], faults: &mut Vec<(usize, LineFault)>) -> Vec<ImportLine> {
    let mut by_time: Vec<ImportLine> = run.to_vec();
    by_time.sort_by_key(|line| line.ts);
    let first = by_time.windows(2).take(EDGE_LINES).rposition(have_gap);
    let mut pairs = by_time.windows(2).rev().take(EDGE_LINES);
    let last = pairs.rposition(have_gap);
    let (head, tail) = (first.map_or(0, |at| at + 1), last.map_or(0, |at| at + 1));
    if by_time.len() <= 2 * (head + tail) {
        return run.to_vec();
    }
    let (from, to) = (by_time[head].ts, by_time[by_time.len() - 1 - tail].ts);
    let (inside, outside): (Vec<ImportLine>, Vec<ImportLine>) =
        run.iter().partition(|line| (from..=to).contains(&line.ts));
    faults.extend(
        outside
            .iter()
            .map(|line| (line.number, LineFault::TimeImplausible)),
    );
    inside
}

fn have_gap(pair: &[ImportLine]) -> bool {
    EDGE_NS < pair[0].ts.abs_diff(pair[1].ts)
}

/// Line numbers of the lines whose seq is not between those of the previous and the next line of the same
/// id, although those two are in order.
fn out_of_line(lines: &[ImportLine], numbering: Numbering) -> Vec<usize> {
    let mut bad: Vec<usize> = by_id(lines)
        .iter()
        .flat_map(|of_id| of_id.windows(3))
        .filter(|three| numbering.contradicts([three[0].seq, three[1].seq, three[2].seq]))
        .map(|three| three[1].number)
        .collect();
    bad.sort_unstable();
    bad
}

/// The lines of each id in the order of time. Ids are in the order of their first lines.
pub fn by_id(lines: &[ImportLine]) -> Vec<Vec<ImportLine>> {
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut ids: Vec<Vec<ImportLine>> = Vec::new();
    for line in lines {
        let place = *places.entry(line.probe_id).or_insert(ids.len());
        if place == ids.len() {
            ids.push(Vec::new());
        }
        ids[place].push(*line);
    }
    ids.iter_mut()
        .for_each(|of_id| of_id.sort_by_key(|line| (line.ts, line.seq)));
    ids
}
