//! When, and for how long, filters kept events out.

use crate::record::{Control, Nanos};

/// The changes of the filter during a recording.
#[derive(Clone, Debug, Default)]
pub struct Filtering {
    /// The changes in order; if there are very many, the first and the latest.
    pub changes: Vec<Control>,
    /// The number of changes missing before the latest.
    pub forgotten: u64,
    /// The latest filter of each process, and of all processes.
    current: Vec<Control>,
    /// How long recording was stopped, until the latest change.
    stopped: Nanos,
}

/// Maximum number of remembered changes: a file must not consume unbounded memory.
const MAX_CHANGES: usize = 4096;

impl Filtering {
    /// Takes a change.
    pub(in crate::model) fn note(&mut self, control: &Control) {
        self.stopped = self.stopped_until(control.at);
        if self.changes.len() == MAX_CHANGES {
            self.changes.pop();
            self.forgotten += 1;
        }
        self.changes.push(*control);
        self.current
            .retain(|old| control.pid != 0 && old.pid != control.pid);
        if self.current.len() < MAX_CHANGES {
            self.current.push(*control);
        }
    }

    /// Whether any filter is in force at the point that was read last.
    pub fn is_in_force(&self) -> bool {
        self.current.iter().any(Control::is_in_force)
    }

    /// Whether a filter may have kept events out since this time.
    pub(in crate::model) fn was_in_force_since(&self, since: Nanos) -> bool {
        let changed = self.changes.last().is_some_and(|last| since <= last.at);
        changed || self.is_in_force()
    }

    /// The changes that had an effect; a command may be repeated.
    pub fn turns(&self) -> Vec<Control> {
        let mut before = Filtering::default();
        let mut turns = self.changes.clone();
        turns.retain(|change| {
            let is_effective = before.differs_after(change);
            before.note(change);
            is_effective
        });
        turns
    }

    /// Whether this change alters what is kept, for any process that it concerns.
    fn differs_after(&self, change: &Control) -> bool {
        let kept = what_is_kept(change);
        let before = match change.pid {
            0 if self.current.iter().any(|old| what_is_kept(old) != kept) => return true,
            0 => self.of(0),
            pid => self.of(pid).or_else(|| self.of(0)),
        };
        what_is_kept(&before.copied().unwrap_or_default()) != kept
    }

    /// The latest change for this process, or for all (0).
    fn of(&self, pid: u32) -> Option<&Control> {
        self.current.iter().find(|control| control.pid == pid)
    }

    /// Whether recording was stopped during this time, for any process.
    pub(in crate::model) fn was_stopped_between(&self, from: Nanos, to: Nanos) -> bool {
        self.changes
            .iter()
            .any(|control| control.stopped && from <= control.at && control.at <= to)
    }

    /// How long recording was stopped, for any process.
    pub fn stopped_until(&self, end: Nanos) -> Nanos {
        let is_stopped = self.current.iter().any(|control| control.stopped);
        let since = self.changes.last().filter(|_| is_stopped);
        let more = since.map_or(Nanos(0), |latest| latest.at.until(end));
        Nanos(self.stopped.0.saturating_add(more.0))
    }
}

/// The effective part of a filter: while recording is stopped, the rest does not matter.
fn what_is_kept(control: &Control) -> Control {
    let stopped = control.stopped;
    let kept = Some(*control).filter(|_| !stopped).unwrap_or_default();
    Control {
        at: Nanos(0),
        generation: 0,
        pid: 0,
        stopped,
        ..kept
    }
}
