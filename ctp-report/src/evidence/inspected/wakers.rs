//! Words for what can still wake tasks.

use ctp_trace::record::{InspectedTask, WakerHolder};

use crate::text::{self, units};

/// The holders of the wakers of several tasks, by kind.
#[derive(Default)]
struct WakerHolders {
    fds: Vec<u64>,
    unknown_fds: u64,
    tasks: Vec<u64>,
    threads: Vec<u64>,
    timers: u64,
    lists: u64,
    own: u64,
    /// Addresses of wakers in objects of unknown types.
    objects: Vec<u64>,
    /// The number of wakers for which several places in memory are possible.
    ambiguous: u64,
    missing: u64,
}

/// What holds the wakers of several tasks, with counts.
pub fn holders(tasks: &[&InspectedTask]) -> Vec<String> {
    let mut holders = WakerHolders::default();
    for task in tasks {
        holders.add(task);
    }
    holders.describe()
}

impl WakerHolders {
    fn add(&mut self, task: &InspectedTask) {
        for holder in &task.waker_holders {
            match *holder {
                WakerHolder::Io(Some(fd)) => self.fds.push(fd.into()),
                WakerHolder::Io(None) => self.unknown_fds += 1,
                WakerHolder::Timer => self.timers += 1,
                WakerHolder::Sync(_) => self.lists += 1,
                WakerHolder::Task(id) => self.tasks.push(id.0.into()),
                WakerHolder::Own => self.own += 1,
                WakerHolder::Thread(tid) => self.threads.push(tid.into()),
                WakerHolder::Memory(at) => self.objects.push(at),
                _ => self.ambiguous += 1,
            }
        }
        let found = task.waker_holders.len() as u64;
        let wakers = u64::from(task.wakers.unwrap_or_default());
        self.missing += wakers.saturating_sub(found);
    }

    fn describe(self) -> Vec<String> {
        let has_identified = !self.fds.is_empty()
            || !self.tasks.is_empty()
            || !self.threads.is_empty()
            || 0 < self.unknown_fds + self.timers + self.lists + self.own;
        let more = if has_identified { "more " } else { "" };
        let all = [
            numbered("the interest in fd", self.fds),
            counted(
                self.unknown_fds,
                "interest in an unknown fd",
                "interests in unknown fds",
            ),
            counted(self.timers, "timer", "timers"),
            counted(self.lists, "list of waiters", "lists of waiters"),
            numbered("task", self.tasks),
            numbered("the stack of thread", self.threads),
            counted(self.own, "waker of its own", "wakers of their own"),
            objects(more, &self.objects),
            (0 < self.ambiguous).then(|| {
                let wakers = wakers(more, self.ambiguous);
                format!("{wakers} in memory, at one of several possible addresses")
            }),
            (0 < self.missing).then(|| {
                let wakers = wakers(more, self.missing);
                format!("{wakers} not found, or an abort handle")
            }),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Formats `task 3, 4`.
fn numbered(name: &str, mut numbers: Vec<u64>) -> Option<String> {
    numbers.sort_unstable();
    numbers.dedup();
    (!numbers.is_empty()).then(|| format!("{name} {}", text::few(&numbers)))
}

fn counted(count: u64, singular: &str, plural: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {singular}")),
        _ => Some(format!("{} {plural}", units::grouped(count))),
    }
}

/// Formats `1 more waker`.
fn wakers(more: &str, count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {more}waker{plural}", units::grouped(count))
}

/// Formats `1 more waker in the heap, at 0x7f00 in an object of unknown type`.
fn objects(more: &str, addresses: &[u64]) -> Option<String> {
    let first = addresses.first()?;
    let wakers = wakers(more, addresses.len() as u64);
    let place = if addresses.len() == 1 {
        format!("at {first:#x} in an object")
    } else {
        format!("at {first:#x} and elsewhere, in objects")
    };
    Some(format!("{wakers} in the heap, {place} of unknown type"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::TaskId;

    fn task(wakers: u32, holders: &[WakerHolder]) -> InspectedTask {
        InspectedTask {
            wakers: Some(wakers),
            waker_holders: holders.to_vec(),
            ..InspectedTask::default()
        }
    }

    #[test]
    fn every_waker_is_accounted_for() {
        let known = task(2, &[WakerHolder::Sync(8), WakerHolder::Sync(16)]);
        assert_eq!(holders(&[&known]), ["2 lists of waiters"]);
        let partly = task(
            4,
            &[
                WakerHolder::Task(TaskId(7)),
                WakerHolder::Memory(0x7f10),
                WakerHolder::Unknown,
            ],
        );
        let expected = [
            "task 7",
            "1 more waker in the heap, at 0x7f10 in an object of unknown type",
            "1 more waker in memory, at one of several possible addresses",
            "1 more waker not found, or an abort handle",
        ];
        assert_eq!(holders(&[&partly]), expected);
        assert_eq!(
            holders(&[&task(2, &[])]),
            ["2 wakers not found, or an abort handle"]
        );
    }
}
