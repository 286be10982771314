//! Describes what a coroutine waits for.

use ctp_trace::record::{CoroutineId, Event, SiteId, WaitKind};
use serde::Serialize;

use crate::evidence::leaf_wait;
use crate::load::Model;
use crate::text::{self, units};

/// Resources of a kind that coroutines wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitsFor {
    /// The kind.
    #[serde(skip)]
    pub wait: WaitKind,
    /// The kind, as a word.
    pub kind: &'static str,
    /// The numbers by which the program identifies the resources.
    pub resources: Vec<u64>,
    /// The ids of awaited coroutines that are known, as printed on pages.
    #[serde(skip)]
    pub ids: Vec<u32>,
}

/// The kind in JSON documents.
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

/// The resources that a group waits for.
pub fn waits_for<'e>(model: &Model, waits: impl Iterator<Item = &'e Event>) -> Vec<WaitsFor> {
    let mut all: Vec<ResourceKey> = waits
        .map(|event| {
            (
                event.wait,
                event.arg,
                awaited(model, Some(event.coroutine), event.wait, event.arg),
            )
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all.chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group[0].0 != WaitKind::Unknown)
        .map(|group| WaitsFor {
            wait: group[0].0,
            kind: word(group[0].0),
            resources: match group[0].0 {
                // Deadlines are not resources.
                WaitKind::Timer | WaitKind::Yield => Vec::new(),
                _ => group.iter().map(|(_, arg, _)| *arg).collect(),
            },
            ids: group.iter().filter_map(|entry| Some(entry.2?.0)).collect(),
        })
        .collect()
}

/// The kind of a resource, its number in the program, and its id if the resource is a known
/// coroutine.
type ResourceKey = (WaitKind, u64, Option<CoroutineId>);

impl WaitsFor {
    /// The kind on pages, as `a readable fd`.
    pub fn phrase(&self) -> &'static str {
        phrase(self.wait)
    }

    /// Formats `fd readable: 17, 19, 20 .. 66`.
    pub fn describe(&self) -> String {
        match self.kind {
            "readable" | "writable" => format!("fd {}: {}", self.kind, text::few(&self.resources)),
            "lock" | "channel" => {
                let addresses = self
                    .resources
                    .iter()
                    .map(|resource| format!("{resource:#x}"));
                format!(
                    "{}: {}",
                    self.kind,
                    text::few(&addresses.collect::<Vec<_>>())
                )
            }
            "user" => format!("{}: {}", self.kind, text::few(&self.resources)),
            "coroutine" => self.coroutines(),
            kind => kind.to_owned(),
        }
    }

    /// Formats `coroutine: ids 4, 5, and 1 that is not known`.
    fn coroutines(&self) -> String {
        let ids = text::few(&self.ids);
        let listed = match self.ids.len() {
            1 => format!("coroutine: id {ids}"),
            _ => format!("coroutine: ids {ids}"),
        };
        match (self.ids.len(), self.resources.len() - self.ids.len()) {
            (0, 1) => UNKNOWN.to_owned(),
            (0, _) => "coroutines that are not known".to_owned(),
            (_, 0) => listed,
            (_, 1) => format!("{listed}, and 1 that is not known"),
            (_, more) => format!(
                "{listed}, and {} that are not known",
                units::grouped(more as u64)
            ),
        }
    }
}

/// Formats a resource that can be closed, as `fd 17`.
pub fn thing(model: &Model, wait: &Event) -> String {
    match wait.wait {
        WaitKind::Readable | WaitKind::Writable => format!("fd {}", wait.arg),
        _ => of(model, wait),
    }
}

/// Describes what a coroutine waits for, without the deadline of a timer.
/// The kind of an unannounced wait is that of its leaf future, if known.
pub fn of(model: &Model, wait: &Event) -> String {
    if wait.wait == WaitKind::Unknown {
        return phrase_at(model, wait.site, wait.wait).to_owned();
    }
    describe(model, Some(wait.coroutine), (wait.wait, wait.arg))
}

/// Like [`of`], but `None` if nothing is known of the resource.
pub fn of_known(model: &Model, wait: &Event) -> Option<String> {
    Some(of(model, wait)).filter(|what| what != UNNAMED)
}

/// Describes an awaited coroutine that is not in the trace.
const UNKNOWN: &str = "a coroutine that is not known";
/// Describes a resource that the coroutine did not announce.
const UNNAMED: &str = "something it did not name";

fn awaited(
    model: &Model,
    by: Option<CoroutineId>,
    wait: WaitKind,
    arg: u64,
) -> Option<CoroutineId> {
    let is_join = wait == WaitKind::Coroutine;
    is_join.then(|| model.awaited(by, arg)).flatten()
}

/// Describes what a coroutine waits for, with the deadline of a timer.
pub fn with_deadline(
    model: &Model,
    by: Option<CoroutineId>,
    (wait, arg): (WaitKind, u64),
) -> String {
    if wait == WaitKind::Timer && arg != 0 {
        let due = arg.saturating_sub(model.start.started_monotonic_ns);
        return format!("timer due at {}", units::moment_ns(due));
    }
    describe(model, by, (wait, arg))
}

/// Formats what a coroutine (`by`, if known) waits for, as `fd 17 readable`.
pub fn describe(model: &Model, by: Option<CoroutineId>, (wait, arg): (WaitKind, u64)) -> String {
    match wait {
        WaitKind::Readable | WaitKind::Writable => format!("fd {arg} {}", word(wait)),
        WaitKind::Lock | WaitKind::Channel => format!("{} {arg:#x}", word(wait)),
        WaitKind::User => format!("{} {arg}", word(wait)),
        WaitKind::Coroutine => match awaited(model, by, wait, arg) {
            Some(id) => format!("coroutine id {}", id.0),
            None => UNKNOWN.to_owned(),
        },
        WaitKind::Timer => "timer".to_owned(),
        WaitKind::Yield => "its turn".to_owned(),
        _ => UNNAMED.to_owned(),
    }
}

/// The kind on pages, of a wait at a site. The kind of an unannounced wait is that of its leaf future, if known.
pub fn phrase_at(model: &Model, site: SiteId, wait: WaitKind) -> &'static str {
    match wait {
        WaitKind::Unknown => leaf_wait::phrase(model.trace_model.leaf_kind_at(site)),
        wait => phrase(wait),
    }
}

/// The kind on pages.
pub fn phrase(wait: WaitKind) -> &'static str {
    match wait {
        WaitKind::Readable => "a readable fd",
        WaitKind::Writable => "a writable fd",
        WaitKind::Timer => "a timer",
        WaitKind::Lock => "a lock",
        WaitKind::Channel => "a channel",
        WaitKind::Coroutine => "a coroutine",
        WaitKind::User => "a user-defined resource",
        WaitKind::Yield => "its turn",
        _ => UNNAMED,
    }
}
