//! The waits of coroutines, by the program's own account.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Names of coroutines that wait, and the lines where they do.
#[derive(Clone, Debug, Default)]
pub struct GroundTruth(Arc<Mutex<Waits>>);

/// While this value lives, a coroutine is in a wait.
#[derive(Debug)]
pub struct Waiting {
    truth: GroundTruth,
    name: String,
    since: Instant,
}

#[derive(Debug, Default)]
struct Waits {
    lines: BTreeMap<String, u32>,
    /// The longest wait that ended.
    longest: Duration,
}

impl GroundTruth {
    /// No coroutine waits yet.
    pub fn new() -> Self {
        GroundTruth::default()
    }

    /// Notes that this coroutine begins to wait at a line of its program.
    pub fn enter(&self, name: &str, line: u32) -> Waiting {
        self.waits().lines.insert(name.to_owned(), line);
        Waiting {
            truth: self.clone(),
            name: name.to_owned(),
            since: Instant::now(),
        }
    }

    /// Sleeps for at least this long, and for three times the longest wait that has ended, up to 20 s.
    ///
    /// On a busy machine, waits that end may take seconds. Waits that never end are far beyond those
    /// only after more time.
    pub fn let_wait(&self, at_least: Duration) {
        let longest = self.waits().longest;
        std::thread::sleep((3 * longest).min(Duration::from_secs(20)).max(at_least));
    }

    /// Prints the coroutines that never returned: `stuck NAME LINE` if they should have, else
    /// `waits NAME LINE`.
    pub fn record(&self, should_have: impl Fn(&str) -> bool) {
        self.record_with_victims(should_have, |_| false);
    }

    /// As [`record`](Self::record), with `victim NAME LINE` for coroutines that hang because
    /// another one is stuck, where the wait alone does not prove that. A report may name them.
    pub fn record_with_victims(
        &self,
        should_have: impl Fn(&str) -> bool,
        is_victim: impl Fn(&str) -> bool,
    ) {
        for (name, line) in &self.waits().lines {
            let fate = if should_have(name) {
                "stuck"
            } else if is_victim(name) {
                "victim"
            } else {
                "waits"
            };
            println!("{fate} {name} {line}");
        }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waits = self.truth.waits();
        waits.lines.remove(&self.name);
        waits.longest = waits.longest.max(self.since.elapsed());
    }
}
