//! What a coroutine waits for, in words.

use ctp_trace::record::{Nanos, WaitKind};
use serde::Serialize;

use crate::text;

/// Things of one sort that coroutines wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitsFor {
    /// Which sort.
    pub kind: &'static str,
    /// Which ones, as the program numbers them.
    pub resources: Vec<u64>,
}

/// The sort, for programs.
pub fn word(wait: WaitKind) -> &'static str {
    match wait {
        WaitKind::Readable => "readable",
        WaitKind::Writable => "writable",
        WaitKind::Timer => "timer",
        WaitKind::Lock => "lock",
        WaitKind::Channel => "channel",
        WaitKind::Coroutine => "coroutine",
        WaitKind::User => "user",
        WaitKind::Yield => "yield",
        _ => "unknown",
    }
}

/// All that a group waits for.
pub fn waits_for(waits: impl Iterator<Item = (WaitKind, u64)>) -> Vec<WaitsFor> {
    let mut all: Vec<(WaitKind, u64)> = waits.collect();
    all.sort_unstable();
    all.dedup();
    let same = |a: &(WaitKind, u64), b: &(WaitKind, u64)| a.0 == b.0;
    let of = |group: &[(WaitKind, u64)]| WaitsFor {
        kind: word(group[0].0),
        resources: resources(group),
    };
    all.chunk_by(same)
        .filter(|group| group[0].0 != WaitKind::Unknown)
        .map(of)
        .collect()
}

/// A deadline is no thing that could be listed.
fn resources(group: &[(WaitKind, u64)]) -> Vec<u64> {
    let countable = !matches!(group[0].0, WaitKind::Timer | WaitKind::Yield);
    group
        .iter()
        .filter(|_| countable)
        .map(|(_, arg)| *arg)
        .collect()
}

impl WaitsFor {
    /// `fd readable: 17, 19, 20 .. 66`.
    pub fn describe(&self) -> String {
        match self.kind {
            "readable" | "writable" => format!("fd {}: {}", self.kind, text::few(&self.resources)),
            "lock" | "channel" => format!("{}: {}", self.kind, text::few(&self.addresses())),
            "coroutine" | "user" => format!("{}: {}", self.kind, text::few(&self.resources)),
            kind => kind.to_owned(),
        }
    }

    fn addresses(&self) -> Vec<String> {
        self.resources
            .iter()
            .map(|address| format!("{address:#x}"))
            .collect()
    }
}

/// What can be closed: `fd 17`.
pub fn thing(wait: WaitKind, arg: u64) -> String {
    match wait {
        WaitKind::Readable | WaitKind::Writable => format!("fd {arg}"),
        wait => one(wait, arg, None),
    }
}

/// What one coroutine waits for: `fd 17 readable`.
pub fn one(wait: WaitKind, arg: u64, deadline: Option<Nanos>) -> String {
    match (wait, deadline) {
        (WaitKind::Readable | WaitKind::Writable, _) => format!("fd {arg} {}", word(wait)),
        (WaitKind::Lock | WaitKind::Channel, _) => format!("{} {arg:#x}", word(wait)),
        (WaitKind::Coroutine | WaitKind::User, _) => format!("{} {arg}", word(wait)),
        (WaitKind::Timer, Some(due)) => format!("timer due at {}", crate::units::moment(due)),
        (WaitKind::Timer, None) => "timer".to_owned(),
        (WaitKind::Yield, _) => "its turn".to_owned(),
        _ => "what it did not tell".to_owned(),
    }
}

/// The sort, for people.
pub fn sort(wait: WaitKind) -> &'static str {
    match wait {
        WaitKind::Readable => "a readable fd",
        WaitKind::Writable => "a writable fd",
        WaitKind::Timer => "a timer",
        WaitKind::Lock => "a lock",
        WaitKind::Channel => "a channel",
        WaitKind::Coroutine => "a coroutine",
        WaitKind::User => "something of its own",
        WaitKind::Yield => "its turn",
        _ => "what it did not tell",
    }
}
