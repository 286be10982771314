//! The sentence about coroutines that were not resumed when their resource was closed.

use std::collections::BTreeSet;

use ctp_trace::verdict::{Caveat, NO_CAVEAT};

use crate::text::units;
use crate::views::stuck::model::{self, Group};

/// The kind of resource that a join waits for.
const JOINED: &str = "coroutine";

/// Describes the closing: `their fds were closed at reactor.rs:140 without resuming them`.
pub fn describe(groups: &[&Group]) -> String {
    let (thing, place) = (thing(groups), place(groups));
    match model::count(groups) {
        1 if thing == JOINED => "the coroutine that it joins ended without resuming it".into(),
        _ if thing == JOINED => "the coroutines that they join ended without resuming them".into(),
        1 => format!("its {thing} was closed{place} without resuming it"),
        _ => format!("their {thing}s were closed{place} without resuming them"),
    }
}

/// The kind of resource that all groups wait for, as a word.
fn thing(groups: &[&Group]) -> &'static str {
    let waits = groups.iter().flat_map(|group| &group.members.waits_for);
    let words: BTreeSet<&str> = waits.map(|waits| word(waits.kind)).collect();
    match words.into_iter().collect::<Vec<_>>()[..] {
        [word] => word,
        _ => "resource",
    }
}

fn word(kind: &'static str) -> &'static str {
    match kind {
        "readable" | "writable" => "fd",
        "lock" | "channel" | JOINED => kind,
        _ => "resource",
    }
}

fn place(groups: &[&Group]) -> String {
    let closers = groups.iter().flat_map(|group| &group.evidence.closed_by);
    let places: BTreeSet<_> = closers.map(|by| by.at.as_deref()).collect();
    match places.into_iter().collect::<Vec<_>>()[..] {
        [Some(at)] => format!(" at {at}"),
        [] | [None] => String::new(),
        ref several => format!(" at {} places", several.len()),
    }
}

/// Says how certain the verdict is.
pub fn sureness(groups: &[&Group], caveat: Option<Caveat>) -> String {
    let closings = groups.iter().flat_map(|group| &group.evidence.closed_by);
    let oldest = closings.map(|by| by.oldest_ns).max().unwrap_or_default();
    let ago = units::duration_ns(oldest);
    let clause = caveat.map_or(NO_CAVEAT, Caveat::of_resource);
    clause.replace("{ago}", &ago)
}
