//! Lines about the blockers of a coroutine, and about the coroutines that a stuck coroutine blocks.

use ctp_trace::verdict::{Caveat, NO_CAVEAT};

use crate::evidence::blockers::{CurrentActivity, PREVIOUS_HOLDER, ShownBlocker, UNKNOWN_HOLDER};
use crate::evidence::last_waker::LastWaker;
use crate::text::{self, units};

/// Maximum number of blockers on a page.
pub const MAX_SHOWN: usize = 3;

/// A field and its text.
pub type Field = (&'static str, String);

/// The fields for the blockers and for the number of `others`. With `says_more`, they include the
/// activity of each blocker.
pub fn fields(all: &[ShownBlocker], others: usize, says_more: bool) -> Vec<Field> {
    let mut fields = Vec::new();
    for blocker in all.iter().take(MAX_SHOWN) {
        fields.push((field(blocker), subject(blocker)));
        let more = does(blocker).filter(|_| says_more);
        fields.extend(more.map(|more| ("", more)));
    }
    fields.extend(and_others(all, MAX_SHOWN, others).map(|others| ("", others)));
    fields
}

fn field(blocker: &ShownBlocker) -> &'static str {
    match blocker.how {
        "holder" | UNKNOWN_HOLDER => "held by",
        "host" => "polled by",
        "inside" => "it polls",
        "ahead" => "behind",
        PREVIOUS_HOLDER => "released",
        _ => "that is",
    }
}

/// Formats `id 7 main_loop, taken at main.rs:40, 2.9 s ago`. For a released lock: `by id 7 main_loop at
/// main.rs:40, 2.9 s ago`.
fn subject(blocker: &ShownBlocker) -> String {
    let subject = match (blocker.id, blocker.tid) {
        (Some(id), _) => format!("id {id} {}", blocker.name).trim_end().to_owned(),
        (None, Some(tid)) if blocker.how != UNKNOWN_HOLDER => {
            format!("tid {tid}, which ran no coroutine")
        }
        (None, _) => "an unknown coroutine".to_owned(),
    };
    let on = blocker.tid.filter(|_| blocker.how == UNKNOWN_HOLDER);
    let on = on.map(|tid| format!(" on tid {tid}")).unwrap_or_default();
    let ago = blocker
        .taken_ns
        .map(|ns| format!(", {} ago", units::duration_ns(ns)));
    let ago = ago.unwrap_or_default();
    let at = blocker.taken_at.as_ref();
    if blocker.how == PREVIOUS_HOLDER {
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        return format!("by {subject}{at}{ago}");
    }
    let at = at.map(|at| format!(", taken at {at}{on}"));
    subject + &at.unwrap_or_default() + &ago
}

/// Formats the first blocker as `; held by id 7 main_loop, taken at main.rs:40, 2.9 s ago, which has
/// run for 2.9 s`.
pub fn in_a_clause(all: &[ShownBlocker], others: usize) -> String {
    let first = all.first().map(|blocker| format!("; {}", clause(blocker)));
    let others = and_others(all, 1, others).map(|others| format!("; {others}"));
    first.unwrap_or_default() + &others.unwrap_or_default()
}

/// Formats `and by 1 other` for blockers that are not listed.
fn and_others(all: &[ShownBlocker], reported: usize, others: usize) -> Option<String> {
    let more = all.len().saturating_sub(reported) + others;
    let first = all.first()?;
    let by = if first.how == PREVIOUS_HOLDER || field(first).ends_with("by") {
        "and by"
    } else {
        "and"
    };
    (0 < more).then(|| format!("{by} {}", units::counted(more as u64, "other")))
}

/// A line for each blocker.
pub fn lines(all: &[ShownBlocker]) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(MAX_SHOWN).map(clause).collect();
    lines.extend(and_others(all, MAX_SHOWN, 0));
    lines
}

fn clause(blocker: &ShownBlocker) -> String {
    let does = does(blocker)
        .map(|does| format!(", {does}"))
        .unwrap_or_default();
    format!("{} {}{does}", field(blocker), subject(blocker))
}

/// The name of the field for a blocker, and the text of the blocker.
pub fn reported(blocker: &ShownBlocker) -> (&'static str, String) {
    (field(blocker), subject(blocker))
}

/// Why the blocker is not certain, unless the caveat is only about timing.
pub fn caveat(caveat: Option<Caveat>) -> Option<&'static str> {
    let caveat = caveat.filter(|caveat| !matches!(caveat, Caveat::CloseCall | Caveat::Recent));
    caveat.map(|caveat| sureness(Some(caveat)))
}

/// The activity of a blocker.
pub fn does(blocker: &ShownBlocker) -> Option<String> {
    if let Some(ns) = blocker.ended_ns {
        let ago = units::duration_ns(ns);
        return Some(format!("which ended {ago} ago without releasing it"));
    }
    activity(&blocker.activity)
}

/// Formats `which waits for user: 3 at main.rs:40, for 2.9 s`.
pub fn activity(activity: &CurrentActivity) -> Option<String> {
    if activity.does == Some("woke") {
        return Some(
            "after which this waiter was woken and ran, but did not take the lock".to_owned(),
        );
    }
    let long = units::duration_ns(activity.does_ns?);
    let at = activity.waits_at.as_ref();
    let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
    Some(match (activity.does?, &activity.waits_for) {
        ("runs", _) => format!("which has run for {long}"),
        ("born", _) => format!("which was born {long} ago and never ran"),
        (_, None) => format!("which has waited{at} for {long}"),
        (_, Some(what)) => format!("which waits for {what}{at}, for {long}"),
    })
}

/// The activity of the last waker.
pub fn done_by(waker: &LastWaker) -> String {
    let activity = activity(&waker.activity).filter(|_| !waker.has_ended);
    activity.unwrap_or_else(|| "which has ended".to_owned())
}

/// Formats `3 coroutines: ids 4, 5, 6`.
pub fn blocked(ids: &[u32], is_fully_described: bool) -> Option<String> {
    let listed = if is_fully_described {
        ids.iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    } else {
        text::few(ids)
    };
    let count = units::counted(ids.len() as u64, "coroutine");
    let id = if ids.len() == 1 { "id" } else { "ids" };
    (!ids.is_empty()).then(|| format!("{count}: {id} {listed}"))
}

/// How certain it is that the blocked coroutines cannot continue.
pub fn sureness(caveat: Option<Caveat>) -> &'static str {
    caveat.map_or(NO_CAVEAT, Caveat::of_blocker)
}
