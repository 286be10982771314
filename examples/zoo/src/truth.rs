//! The waits of coroutines, by the program's own account.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names of coroutines that wait, and the lines where they do.
#[derive(Clone, Debug, Default)]
pub struct GroundTruth(Arc<Mutex<BTreeMap<String, u32>>>);

/// While this value lives, a coroutine is in a wait.
#[derive(Debug)]
pub struct Waiting {
    truth: GroundTruth,
    name: String,
}

impl GroundTruth {
    /// No coroutine waits yet.
    pub fn new() -> Self {
        GroundTruth::default()
    }

    /// Notes that this coroutine begins to wait at a line of its program.
    pub fn enter(&self, name: &str, line: u32) -> Waiting {
        self.all().insert(name.to_owned(), line);
        Waiting {
            truth: self.clone(),
            name: name.to_owned(),
        }
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
        for (name, line) in self.all().iter() {
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

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.truth.all().remove(&self.name);
    }
}
