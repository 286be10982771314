//! Words for what tasks wait for, what holds their wakers, and which locks they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ctp_trace::record::{HeldLock, InspectedTask, Nanos, Resource, WakerHolder};

use crate::text::{self, units};

/// A resource as text. `now` is the time of the last inspection, if known.
pub fn resource(resource: Resource, now: Option<Nanos>) -> Option<String> {
    Some(match resource {
        Resource::Readable(fd) => format!("fd {fd} readable"),
        Resource::Writable(fd) => format!("fd {fd} writable"),
        Resource::Timer(deadline) => timer(deadline, now),
        Resource::Mutex(at) => format!("mutex {at:#x}"),
        Resource::RwLock(at) => format!("rwlock {at:#x}"),
        Resource::Semaphore(at) => format!("semaphore {at:#x}"),
        Resource::Channel(at) => format!("channel {at:#x}"),
        Resource::Room(at) => format!("room in channel {at:#x}"),
        Resource::Notify(at) => format!("notify {at:#x}"),
        Resource::Task(task) => format!("the end of task {}", task.0),
        _ => return None,
    })
}

fn timer(deadline: Nanos, now: Option<Nanos>) -> String {
    match now {
        None => "a timer".to_owned(),
        Some(now) if deadline < now => {
            format!("a timer, due {} ago", units::duration(deadline.until(now)))
        }
        Some(now) => format!("a timer, due in {}", units::duration(now.until(deadline))),
    }
}

/// The word for the kind of a resource.
pub fn resource_kind(resource: Resource) -> &'static str {
    match resource {
        Resource::Readable(_) => "readable",
        Resource::Writable(_) => "writable",
        Resource::Timer(_) => "timer",
        Resource::Mutex(_) => "mutex",
        Resource::RwLock(_) => "rwlock",
        Resource::Semaphore(_) => "semaphore",
        Resource::Channel(_) => "channel",
        Resource::Room(_) => "room",
        Resource::Notify(_) => "notify",
        Resource::Task(_) => "task",
        _ => "unknown",
    }
}

/// The number that identifies a resource among those of its kind.
pub fn resource_number(resource: Resource) -> Option<u64> {
    match resource {
        Resource::Readable(fd) | Resource::Writable(fd) => Some(fd.into()),
        Resource::Mutex(at)
        | Resource::RwLock(at)
        | Resource::Semaphore(at)
        | Resource::Channel(at)
        | Resource::Room(at)
        | Resource::Notify(at) => Some(at),
        Resource::Task(task) => Some(task.0.into()),
        _ => None,
    }
}

/// What several tasks wait for, an item for each kind, such as `fd 17, 19, 20 .. 66 readable` or
/// `3 mutexes`.
pub fn waits(tasks: &[&InspectedTask], now: Option<Nanos>) -> Vec<String> {
    waits_within(tasks, &(0..usize::MAX), now)
}

/// Like [`waits`], but only for the futures in a range of frames.
pub fn waits_within(
    tasks: &[&InspectedTask],
    frames: &Range<usize>,
    now: Option<Nanos>,
) -> Vec<String> {
    let mut kinds: BTreeMap<&str, BTreeSet<Resource>> = BTreeMap::new();
    let waits = tasks.iter().flat_map(|task| &task.waits);
    for wait in waits.filter(|wait| frames.contains(&(wait.frame as usize))) {
        let kind = resource_kind(wait.resource);
        kinds.entry(kind).or_default().insert(wait.resource);
    }
    kinds
        .into_iter()
        .filter_map(|(kind, all)| describe_kind(kind, &Vec::from_iter(all), now))
        .collect()
}

fn describe_kind(kind: &str, all: &[Resource], now: Option<Nanos>) -> Option<String> {
    let [first, _, ..] = all else {
        return resource(*all.first()?, now);
    };
    let numbers = all.iter().filter_map(|member| resource_number(*member));
    let numbers: Vec<u64> = numbers.collect();
    match first {
        Resource::Readable(_) | Resource::Writable(_) => {
            Some(format!("fd {} {kind}", text::few(&numbers)))
        }
        Resource::Task(_) => Some(format!("the end of tasks {}", text::few(&numbers))),
        Resource::Timer(_) => Some(match now {
            Some(now) => timers(all, now),
            None => units::counted(all.len() as u64, "timer"),
        }),
        Resource::Mutex(_) => Some(format!("{} mutexes", units::grouped(all.len() as u64))),
        Resource::Room(_) => Some(format!(
            "room in {} channels",
            units::grouped(all.len() as u64)
        )),
        Resource::Notify(_) => Some(format!(
            "{} Notify objects",
            units::grouped(all.len() as u64)
        )),
        _ => Some(units::counted(all.len() as u64, kind)),
    }
}

/// `3 timers, due in 12.0 s .. 58.0 min`
fn timers(all: &[Resource], now: Nanos) -> String {
    let deadlines = all.iter().filter_map(|member| match member {
        Resource::Timer(deadline) => Some(*deadline),
        _ => None,
    });
    let [first, last] = [deadlines.clone().min(), deadlines.max()].map(Option::unwrap_or_default);
    let [due_first, due_last] = [first, last].map(|deadline| units::duration(now.until(deadline)));
    let timers = units::counted(all.len() as u64, "timer");
    match (first < now, last < now) {
        (true, true) => {
            let overdue = units::range(last.until(now), first.until(now));
            format!("{timers}, due {overdue} ago")
        }
        (true, false) => format!("{timers}, some due, the last in {due_last}"),
        _ if due_first == due_last => format!("{timers}, due in {due_last}"),
        _ => format!("{timers}, due in {due_first} .. {due_last}"),
    }
}

/// The word for what holds a waker.
pub fn holder_word(holder: &WakerHolder) -> &'static str {
    match holder {
        WakerHolder::Io(_) => "I/O interest",
        WakerHolder::Timer => "timer",
        WakerHolder::Sync(_) => "list of waiters",
        WakerHolder::Task(_) => "other task",
        WakerHolder::Own => "waker of its own",
        WakerHolder::Thread(_) => "thread",
        WakerHolder::Memory(_) => "object of unknown type",
        _ => "unknown holder",
    }
}

/// How many wakers a task has left, at most.
pub fn wakers(wakers: u32) -> String {
    match wakers {
        0 => "no waker left".to_owned(),
        wakers => format!("at most {} left", units::counted(wakers.into(), "waker")),
    }
}

/// `mutex 0x5578 (guard `to`, :33)`
pub fn held(hold: &HeldLock) -> String {
    let lock = resource(hold.resource, None);
    let lock = lock.unwrap_or_else(|| "a lock".to_owned());
    format!("{lock} ({})", guard(hold))
}

/// `guard `to`, :33`, or `receiver `jobs`, :12`
pub fn guard(hold: &HeldLock) -> String {
    let what = if matches!(hold.resource, Resource::Room(_)) {
        "receiver"
    } else {
        "guard"
    };
    let line = match hold.line {
        0 => String::new(),
        line => format!(", :{line}"),
    };
    match hold.variable.as_str() {
        "" => format!("a {what}{line}"),
        variable => format!("{what} `{}`{line}", text::escape(variable)),
    }
}
