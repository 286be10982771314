//! [`Lives`]: the tasks of a program by its own log, and whether a look found the right ones.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use super::program::{Event, Program};

/// A thread that has just spawned a task logs that when it next has a processor.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// The positions of a task's events in the log. What is not logged yet comes later.
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

/// The tasks, by tokio's ids.
#[derive(Debug, Default)]
pub struct Lives(HashMap<u64, Life>);

/// How what was found compares with the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Tasks that were found.
    pub found: usize,
    /// Tasks that lived before the look, and after.
    pub alive: [usize; 2],
    /// At least this many tasks had to be found, and at most.
    pub bounds: [usize; 2],
    /// Tasks that lived throughout and were not found.
    pub missed: Vec<u64>,
    /// Tasks that were found, and had ended before.
    pub ended: Vec<u64>,
    /// What was found and is no task.
    pub unknown: Vec<u64>,
}

impl Comparison {
    /// Whether all is right.
    pub fn is_right(&self) -> bool {
        self.missed.is_empty() && self.ended.is_empty() && self.unknown.is_empty()
    }
}

impl Lives {
    /// Compares what a look found, which took from one position in the log until another. Forgets the
    /// tasks that had ended before.
    pub fn compare(
        &mut self,
        program: &mut Program,
        found: &HashSet<u64>,
        look: Range<u64>,
    ) -> Comparison {
        self.read(program);
        let began = Instant::now();
        while !self.know(found) && began.elapsed() < MAX_DELAY {
            thread::sleep(Duration::from_millis(1));
            self.read(program);
        }
        let comparison = self.comparison(found, &look);
        self.0.retain(|_, life| look.start <= life.ended);
        comparison
    }

    fn comparison(&self, found: &HashSet<u64>, look: &Range<u64>) -> Comparison {
        let lived_throughout = |life: &Life| life.spawned < look.start && look.end <= life.ends;
        let lived = |life: &Life| life.spawned < look.end && look.start <= life.ended;
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
        let ended = known.filter(|(_, life)| life.ended < look.start);
        let unknown = found.iter().filter(|task| !self.0.contains_key(task));
        Comparison {
            found: found.len(),
            alive: [look.start, look.end].map(alive_at),
            bounds: [
                throughout.clone().count(),
                self.0.values().filter(|life| lived(life)).count(),
            ],
            missed: missed.filter(|task| !found.contains(task)).collect(),
            ended: ended.map(|(task, _)| task).collect(),
            unknown: unknown.copied().collect(),
        }
    }

    fn know(&self, found: &HashSet<u64>) -> bool {
        found.iter().all(|task| self.0.contains_key(task))
    }

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
