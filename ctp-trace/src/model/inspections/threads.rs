//! The threads of a process, by all inspections: those that read tasks and threads, and those that read only
//! threads.

use std::collections::BTreeMap;

use super::InspectionTime;
use crate::record::{InspectedThread, Nanos, ThreadRole};
use crate::verdict::MIN_OBSERVATION_GAP;

/// The threads of a process.
#[derive(Clone, Debug, Default)]
pub struct KnownThreads {
    /// When each inspection was made.
    pub times: Vec<InspectionTime>,
    /// The threads at the last inspection, by the kernel's id.
    pub threads: BTreeMap<u32, KnownThread>,
    /// What the last inspection could not read or understand.
    pub gaps: Vec<String>,
}

/// A thread at the last inspection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownThread {
    /// What the last inspection found.
    pub latest: InspectedThread,
    /// The index of the first inspection since which the thread has not left its system call.
    unmoved_since: usize,
    /// The index of the first inspection since which every inspection found the thread in the same
    /// system call, or in none.
    alike_since: usize,
}

/// What a thread did from a time on, by the inspections since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadFacts<'m> {
    /// What the last inspection found.
    pub thread: &'m InspectedThread,
    /// What the thread did.
    pub activity: ThreadActivity,
    /// When the first inspection began that agrees with the last.
    pub first: Nanos,
    /// When the last inspection began.
    pub last: Nanos,
    /// The number of these inspections.
    pub inspections: usize,
}

/// What a thread was found to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadActivity {
    /// Blocked in a system call that it has not left between the first and the last inspection.
    Blocked,
    /// In a system call at the last inspection. It may have been elsewhere before.
    InCall,
    /// Running, or ready to run, at every inspection.
    Running,
    /// Anything else.
    Unknown,
}

impl KnownThreads {
    /// Adds an inspection, by the threads that are new or have changed, and those that have ended.
    pub(super) fn add(
        &mut self,
        time: InspectionTime,
        changed: Vec<InspectedThread>,
        ended: &[u32],
        gaps: &[String],
    ) {
        let number = self.times.len();
        self.times.push(time);
        self.gaps = gaps.to_vec();
        for tid in ended {
            self.threads.remove(tid);
        }
        for thread in changed {
            let before = self.threads.get(&thread.tid);
            let known = KnownThread::after(before, thread, number);
            self.threads.insert(known.latest.tid, known);
        }
    }

    /// What a thread has done since a time; `None` if no inspection since then found the thread.
    pub fn facts(&self, tid: u32, since: Nanos) -> Option<ThreadFacts<'_>> {
        let known = self.threads.get(&tid)?;
        let last = self.times.last()?;
        if last.began < since {
            return None;
        }
        let start = self.times.partition_point(|time| time.began < since);
        let unmoved = known.unmoved_since.max(start);
        let alike = known.alike_since.max(start);
        let is_long = self.times.get(unmoved)?.ended.until(last.began) >= MIN_OBSERVATION_GAP;
        let (activity, from) = match known.latest.syscall {
            Some(_) if is_long => (ThreadActivity::Blocked, unmoved),
            Some(_) => (ThreadActivity::InCall, alike),
            None if known.latest.is_running => (ThreadActivity::Running, alike),
            None => (ThreadActivity::Unknown, alike),
        };
        Some(ThreadFacts {
            thread: &known.latest,
            activity,
            first: self.times.get(from)?.began,
            last: last.began,
            inspections: self.times.len() - from,
        })
    }

    /// Whether the thread polls a task, and is blocked in the same call as at an earlier inspection.
    pub fn is_blocked_poll(&self, known: &KnownThread) -> bool {
        let facts = self.facts(known.latest.tid, Nanos(0));
        known.latest.role == ThreadRole::Polling
            && facts.is_some_and(|facts| facts.activity == ThreadActivity::Blocked)
    }
}

impl KnownThread {
    fn after(before: Option<&Self>, latest: InspectedThread, number: usize) -> Self {
        let alike = before.filter(|Self { latest: before, .. }| {
            (before.syscall, before.is_running) == (latest.syscall, latest.is_running)
        });
        let unmoved = alike.filter(|before| before.latest.switches == latest.switches);
        KnownThread {
            unmoved_since: unmoved.map_or(number, |before| before.unmoved_since),
            alike_since: alike.map_or(number, |before| before.alike_since),
            latest,
        }
    }
}
