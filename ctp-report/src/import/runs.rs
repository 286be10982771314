//! Where one run ends and the next one, appended to the same file, begins.
//!
//! No column says so. Two lines belong to the same run if a coroutine goes on from before the one
//! to after the other, or if a thread does and no long time lies between: thread ids are soon
//! given again, in containers at once.

use std::collections::HashMap;
use std::ops::Range;

use super::line::Line;
use super::sift::DISORDER_NS;

/// No program starts within less after the end of the one before.
const PAUSE_NS: u64 = 1_000_000;

/// A pause after which the id of a thread proves nothing.
const LONG_PAUSE_NS: u64 = 10_000_000_000;

/// A seq up to this one is of the first round, where going on and beginning anew look alike.
const FIRST_ROUND: u64 = 2;

/// Events of a round.
const ROUND: usize = 8;

/// A place where a run may end.
struct Cut {
    /// The first line behind it.
    at: usize,
    /// A thread that is on both sides proves that it is none.
    by_threads: bool,
}

/// The last line of an id so far.
struct Last {
    at: usize,
    line: Line,
    in_round: usize,
}

/// The runs of a file, as ranges of its lines.
pub fn split(lines: &[Line]) -> Vec<Range<usize>> {
    let ends = cuts(lines).into_iter().map(|cut| cut.at);
    let mut from = 0;
    ends.chain([lines.len()])
        .map(|to| std::mem::replace(&mut from, to)..to)
        .filter(|range| !range.is_empty())
        .collect()
}

/// Takes every pause for a cut until something is seen on both of its sides.
fn cuts(lines: &[Line]) -> Vec<Cut> {
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
        if let Some(last) = coroutines.get(&line.probe_id).filter(|it| it.goes_on(line)) {
            cuts.truncate(cuts.partition_point(|cut| cut.at <= last.at));
        }
        if let Some(last) = threads.insert(line.tid, at) {
            cuts.retain(|cut| cut.at <= last || !cut.by_threads);
        }
        remember(&mut coroutines, at, line);
    }
    cuts
}

/// Whether something may end between two moments, and whether threads would disprove it.
fn pause(latest: u64, now: u64) -> Option<bool> {
    let went_back = now.saturating_add(DISORDER_NS) < latest;
    match now.saturating_sub(latest) {
        _ if went_back => Some(false),
        LONG_PAUSE_NS.. => Some(false),
        PAUSE_NS.. => Some(true),
        _ => None,
    }
}

fn remember(coroutines: &mut HashMap<u64, Last>, at: usize, line: &Line) {
    let last = coroutines.get(&line.probe_id);
    let same_round = last.filter(|last| last.line.seq == line.seq && last.in_round < ROUND);
    let in_round = same_round.map_or(1, |last| last.in_round + 1);
    let line = *line;
    coroutines.insert(line.probe_id, Last { at, line, in_round });
}

impl Last {
    /// Whether this line is surely of the same coroutine. In the first round only a resume after
    /// a suspend is: whoever begins anew begins with a suspend.
    fn goes_on(&self, line: &Line) -> bool {
        let resumes = !self.line.is_active && line.is_active;
        let same_round = self.in_round < ROUND && (FIRST_ROUND < line.seq || resumes);
        self.line.ts <= line.ts
            && (self.line.seq < line.seq || (self.line.seq == line.seq && same_round))
    }
}
