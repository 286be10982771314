//! [`Lives`]: when the tasks of a program lived, by its own log, and whether an inspection found the right tasks.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use super::program::{Event, Program};

/// The longest wait for log entries of tasks that were found: a thread that has spawned a task logs this only when it has a
/// processor again.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// The positions of a task's events in the log. An event that is not logged yet has the largest position.
#[derive(Clone, Copy, Debug)]
struct Life {
    spawned: u64,
    ends: u64,
    ended: u64,
}

impl Life {
    const UNKNOWN: Life = Life {
        spawned: u64::MAX,
        ends: u64::MAX,
        ended: u64::MAX,
    };
}

/// The lives of the tasks, by tokio's ids.
#[derive(Debug, Default)]
pub struct Lives(HashMap<u64, Life>);

/// How the tasks that an inspection found compare with the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of tasks that were found.
    pub found: usize,
    /// The number of tasks that lived when the inspection began, and when it ended.
    pub alive: [usize; 2],
    /// The smallest and the largest number of tasks that are right.
    pub bounds: [usize; 2],
    /// Tasks that lived throughout the inspection and were not found.
    pub missed: Vec<u64>,
    /// Tasks that were found although they had ended before the inspection.
    pub ended: Vec<u64>,
    /// Ids that were found and are in no task's log.
    pub unknown: Vec<u64>,
}

impl Comparison {
    /// Whether the inspection found the right tasks.
    pub fn is_right(&self) -> bool {
        self.missed.is_empty() && self.ended.is_empty() && self.unknown.is_empty()
    }
}

impl Lives {
    /// Compares the tasks that an inspection found with the log. `inspected` has the positions in the log at which the
    /// inspection began and ended. Then forgets the tasks that had ended before.
    pub fn compare(
        &mut self,
        program: &mut Program,
        found: &HashSet<u64>,
        inspected: Range<u64>,
    ) -> Comparison {
        self.read(program);
        let began = Instant::now();
        while !self.has_all(found) && began.elapsed() < MAX_DELAY {
            thread::sleep(Duration::from_millis(1));
            self.read(program);
        }
        let comparison = self.comparison(found, &inspected);
        self.0.retain(|_, life| inspected.start <= life.ended);
        comparison
    }

    fn comparison(&self, found: &HashSet<u64>, inspected: &Range<u64>) -> Comparison {
        let lived_throughout =
            |life: &Life| life.spawned < inspected.start && inspected.end <= life.ends;
        let lived = |life: &Life| life.spawned < inspected.end && inspected.start <= life.ended;
        let alive_at = |position| {
            let alive = self.0.values();
            let alive = alive.filter(|life| life.spawned < position && position <= life.ends);
            alive.count()
        };
        let throughout = self.0.iter().filter(|(_, life)| lived_throughout(life));
        let missed = throughout.clone().map(|(task, _)| *task);
        let known = found
            .iter()
            .filter_map(|task| Some((*task, self.0.get(task)?)));
        let ended = known.filter(|(_, life)| life.ended < inspected.start);
        let unknown = found.iter().filter(|task| !self.0.contains_key(task));
        Comparison {
            found: found.len(),
            alive: [inspected.start, inspected.end].map(alive_at),
            bounds: [
                throughout.clone().count(),
                self.0.values().filter(|life| lived(life)).count(),
            ],
            missed: missed.filter(|task| !found.contains(task)).collect(),
            ended: ended.map(|(task, _)| task).collect(),
            unknown: unknown.copied().collect(),
        }
    }

    /// Whether all these tasks are in the log.
    fn has_all(&self, found: &HashSet<u64>) -> bool {
        found.iter().all(|task| self.0.contains_key(task))
    }

    /// Reads the events that the program has logged since the last call.
    fn read(&mut self, program: &mut Program) {
        for (position, event) in program.events() {
            let (Event::Spawned(task) | Event::Ends(task) | Event::Ended(task)) = event;
            let life = self.0.entry(task).or_insert(Life::UNKNOWN);
            match event {
                Event::Spawned(_) => life.spawned = position,
                Event::Ends(_) => life.ends = position,
                Event::Ended(_) => life.ended = position,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_compared_with_what_was_found() {
        let life = |spawned, ends, ended| Life {
            spawned,
            ends,
            ended,
        };
        let lives = Lives(HashMap::from([
            (1, life(0, u64::MAX, u64::MAX)),
            (2, life(1, 20, 21)),
            (3, life(2, 12, 13)),
            (4, life(3, 4, 5)),
            (5, life(15, u64::MAX, u64::MAX)),
        ]));
        let compare = |found: &[u64]| {
            let found = found.iter().copied().collect();
            lives.comparison(&found, &(10..20))
        };
        let right = compare(&[1, 2, 3]);
        assert!(right.is_right() && compare(&[1, 2, 5]).is_right());
        assert_eq!((right.alive, right.bounds), ([3, 3], [2, 4]));
        let wrong = compare(&[1, 4, 6]);
        assert_eq!(
            (wrong.missed, wrong.ended, wrong.unknown),
            (vec![2], vec![4], vec![6])
        );
    }
}
