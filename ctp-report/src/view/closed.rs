//! The sentence about coroutines whose resource was closed and that nobody resumed.

use std::collections::BTreeSet;

use ctp_trace::record::{Nanos, Seen};
use ctp_trace::verdict::Doubt;

use crate::figures::groups::Group;
use crate::units;

/// What is waited for by a join.
const JOINED: &str = "coroutine";

/// `their fds were closed at reactor.rs:140 without resuming them; no wake since (exact)`.
pub fn section(groups: &[&Group], doubt: Option<Doubt>) -> String {
    let count: usize = groups.iter().map(|group| group.members.count).sum();
    let (thing, place) = (thing(groups), place(groups));
    let what = match count {
        1 if thing == JOINED => "the one whose end it waits for ended without resuming it".into(),
        _ if thing == JOINED => "those whose end they wait for ended without resuming them".into(),
        1 => format!("its {thing} was closed{place} without resuming it"),
        _ => format!("their {thing}s were closed{place} without resuming them"),
    };
    format!("lost wakeup: {what}; {}", sureness(groups, doubt))
}

/// `seen from outside: their fds were closed, and nobody resumed them; no wake since (exact)`.
pub fn seen_from_outside(groups: &[&Group], seen: Seen, doubt: Option<Doubt>) -> String {
    let count: usize = groups.iter().map(|group| group.members.count).sum();
    let [fds, them] = match count {
        1 => ["its fd", "it"],
        _ => ["their fds", "them"],
    };
    let be = if count == 1 { "is" } else { "are" };
    let what = match seen {
        Seen::Closed | Seen::NumberClosed => {
            format!("{fds} {be} closed, and nobody resumed {them}")
        }
        Seen::Replaced => format!("{fds} {be} used for something else by now"),
        Seen::Unwatched(_) => {
            format!("no epoll tells when {fds} {be} ready, as it does for others that wait")
        }
        _ => format!("{fds} could be read, and nobody resumed {them}, while others went on"),
    };
    format!("seen from outside: {what}; {}", sureness(groups, doubt))
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

fn sureness(groups: &[&Group], doubt: Option<Doubt>) -> String {
    match doubt {
        None => "no wake since (exact)".to_owned(),
        Some(Doubt::WakesNotTold) => "the runtime does not tell of wakes".to_owned(),
        Some(Doubt::Incomplete) => {
            "no wake counted since, but records of that time are missing".to_owned()
        }
        Some(Doubt::OneOfSeveral | Doubt::SeveralWakers) => {
            "no wake since, but it may wait for something else too".to_owned()
        }
        Some(Doubt::Recent) => {
            let closings = groups.iter().flat_map(|group| &group.evidence.closed_by);
            let oldest = closings.map(|by| by.oldest_ns).max().unwrap_or_default();
            format!(
                "no wake since, but that was only {} ago",
                units::duration(Nanos(oldest))
            )
        }
        Some(Doubt::UsedAgain) => {
            "no wake counted since, but the program may have put it there".to_owned()
        }
        Some(Doubt::OtherNumber) => {
            "no wake counted since, but it may be open under another number".to_owned()
        }
        Some(Doubt::WatchedElsewhere) => {
            "no wake since, but a thread, or another process, may watch in another way".to_owned()
        }
        Some(Doubt::HeldUp) => {
            "whoever resumes may be held up, or there may be too little to read".to_owned()
        }
        Some(_) => "no wake counted since".to_owned(),
    }
}
