//! The sentence about coroutines whose resource was closed and that nobody resumed.

use std::collections::BTreeSet;

use ctp_trace::verdict::{Caveat, NO_CAVEAT};

use crate::text::units;
use crate::views::stuck::model::{Group, coroutines};

/// What is waited for by a join.
const JOINED: &str = "coroutine";

/// `their fds were closed at reactor.rs:140 without resuming them`.
pub fn what(groups: &[&Group]) -> String {
    let count = coroutines(groups);
    let (thing, place) = (thing(groups), place(groups));
    match count {
        1 if thing == JOINED => "the one whose end it waits for ended without resuming it".into(),
        _ if thing == JOINED => "those whose end they wait for ended without resuming them".into(),
        1 => format!("its {thing} was closed{place} without resuming it"),
        _ => format!("their {thing}s were closed{place} without resuming them"),
    }
}

/// What all of them waited for, in one word.
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

/// What speaks against it, or that nothing does.
pub fn sureness(groups: &[&Group], caveat: Option<Caveat>) -> String {
    let closings = groups.iter().flat_map(|group| &group.evidence.closed_by);
    let oldest = closings.map(|by| by.oldest_ns).max().unwrap_or_default();
    let ago = units::duration_ns(oldest);
    let clause = caveat.map_or(NO_CAVEAT, Caveat::of_resource);
    clause.replace("{ago}", &ago)
}
