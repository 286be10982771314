//! Since when, and for how long, events were kept out on purpose.

use crate::record::{Control, Nanos};

/// What the changes of control come to.
#[derive(Clone, Debug, Default)]
pub struct Filtering {
    /// The changes, in their order; of very many, the first and the latest.
    pub changes: Vec<Control>,
    /// So many changes before the latest are not among the others.
    pub forgotten: u64,
    /// The latest of each process, and of all.
    current: Vec<Control>,
    /// For how long recording was stopped, until the latest change.
    stopped: Nanos,
}

/// So many changes are remembered, so that a file cannot take memory without end.
const MOST: usize = 4096;

impl Filtering {
    /// One more change.
    pub(in crate::model) fn note(&mut self, control: &Control) {
        self.stopped = self.stopped_until(control.at);
        if self.changes.len() == MOST {
            self.changes.pop();
            self.forgotten += 1;
        }
        self.changes.push(*control);
        let is_replaced = |old: &Control| control.pid == 0 || old.pid == control.pid;
        self.current.retain(|old| !is_replaced(old));
        if self.current.len() < MOST {
            self.current.push(*control);
        }
    }

    /// May events be kept out, as far as has been read?
    pub fn is_in_force(&self) -> bool {
        self.current.iter().any(Control::is_in_force)
    }

    /// May anything have been kept out since then?
    pub(in crate::model) fn was_in_force_since(&self, since: Nanos) -> bool {
        let changed = self.changes.last().is_some_and(|last| since <= last.at);
        changed || self.is_in_force()
    }

    /// Those of them that made a difference: a command may be given twice.
    pub fn turns(&self) -> Vec<Control> {
        let mut before = Filtering::default();
        let mut turns = self.changes.clone();
        turns.retain(|change| {
            let is_one = before.differs_after(change);
            before.note(change);
            is_one
        });
        turns
    }

    /// Is other than before kept, of any process that is meant?
    fn differs_after(&self, change: &Control) -> bool {
        let differs = |before: &Control| what_is_kept(before) != what_is_kept(change);
        let of_all = || self.of(0).copied().unwrap_or_default();
        match change.pid {
            0 => differs(&of_all()) || self.current.iter().any(differs),
            pid => differs(&self.of(pid).copied().unwrap_or_else(of_all)),
        }
    }

    /// The latest change of this process, or of all together.
    fn of(&self, pid: u32) -> Option<&Control> {
        self.current.iter().find(|control| control.pid == pid)
    }

    /// Was recording stopped within this time, of all processes or of some?
    pub(in crate::model) fn was_stopped_between(&self, from: Nanos, to: Nanos) -> bool {
        let is_within =
            |control: &Control| control.stopped && from <= control.at && control.at <= to;
        self.changes.iter().any(is_within)
    }

    /// For how long recording was stopped, of all processes or of some.
    pub fn stopped_until(&self, end: Nanos) -> Nanos {
        let is_stopped = self.current.iter().any(|control| control.stopped);
        let since = self.changes.last().filter(|_| is_stopped);
        let more = since.map_or(Nanos(0), |latest| latest.at.until(end));
        Nanos(self.stopped.0.saturating_add(more.0))
    }
}

/// Whatever the filter is, while recording is stopped.
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
