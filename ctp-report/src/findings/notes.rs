//! Notes about a recording: what is missing from the trace, and what else a reader of a page should know.

use ctp_trace::record::{Control, Nanos, SiteId};
use ctp_trace::verdict::THRESHOLD;

use crate::import::Imported;
use crate::load::Model;
use crate::names::Names;
use crate::text::units;

/// All notes, as sentences.
pub fn notes(model: &Model, names: &Names) -> Vec<String> {
    unread(model)
        .into_iter()
        .chain(refused(model))
        .chain((model.unrecorded() > 0).then(|| model.missing_coroutines()))
        .chain(filtered(model))
        .chain(unattributed(model))
        .chain(torn(model))
        .chain(not_permitted(model))
        .chain(left_out(model))
        .chain(unnamed(model))
        .chain(cancelled(model, names))
        .chain(contradictions(model))
        .chain(names.misses())
        .collect()
}

/// Notes about missing and unreadable parts, and about a newer recording.
pub fn unread(model: &Model) -> Vec<String> {
    let cut = model.truncated_at.map(|offset| {
        if model.goes_on {
            format!(
                "the recording is still running: this page shows what was written so far, up to {}",
                units::duration(model.duration())
            )
        } else {
            format!(
                "the recorder did not finish; the trace is cut off at byte {offset}, and what came \
             after that is missing"
            )
        }
    });
    let parts = model.damage.iter().cloned().chain(cut);
    let parts = parts.chain(behind(model));
    parts.chain(overtaken(model)).collect()
}

/// Notes how far the recorder was behind, unless the delay is usual.
fn behind(model: &Model) -> Option<String> {
    let incomplete_tail = model.trace_model.incomplete_tail();
    (incomplete_tail >= THRESHOLD).then(|| {
        format!(
            "the recorder was {} behind: after {}, only births and wakes are recorded",
            units::duration(incomplete_tail),
            units::duration(model.duration())
        )
    })
}

/// Notes that a flight recorder runs, so that the file still has an earlier recording.
fn overtaken(model: &Model) -> Option<String> {
    let pid = model.underway.as_ref()?;
    Some(format!(
        "a flight recorder is running with this output file, which still has an earlier recording: \
         ctp-record control {pid} snapshot writes the current events"
    ))
}

/// The line numbers of an imported file that were left out, by fault.
pub fn line_numbers(imported: &Imported) -> Vec<String> {
    let faults = imported.left_out.iter().map(|(fault, lines)| {
        let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
        format!("{}: lines {}", fault.word(), numbers.join(", "))
    });
    faults.collect()
}

/// Notes coroutines that got no station, so that none of their events were recorded.
fn refused(model: &Model) -> Option<String> {
    let refused = (model.refused() > 0).then(|| units::counted(model.refused(), "coroutine"))?;
    let room = model.how_to_have_room();
    Some(format!("{refused} found no station; {room} to see them"))
}

/// Notes how many events were filtered out on purpose, and when the filter changed.
fn filtered(model: &Model) -> Option<String> {
    let filtering = model.trace_model.filtering();
    let turns = filtering.turns();
    let last = turns.last()?;
    let mut changes: Vec<String> = turns.iter().map(change).collect();
    let more = (changes.len() - 1).saturating_sub(MAX_CHANGES) as u64 + filtering.forgotten;
    if more > 0 {
        changes.truncate(MAX_CHANGES);
        changes.push(units::counted(more, "more change"));
        changes.push(change(last));
    }
    let events = units::counted(model.trace_model.totals().filtered, "event");
    let stopped = match filtering.stopped_until(model.duration()) {
        Nanos(0) => String::new(),
        ns => format!(", recording stopped for {} in all", units::duration(ns)),
    };
    Some(format!(
        "{events} filtered by ctp-record control{stopped}: {}",
        changes.join("; ")
    ))
}

/// The maximum number of changes that are listed before the last change, which was in force until the end.
const MAX_CHANGES: usize = 3;

fn change(control: &Control) -> String {
    let kinds = match (control.without_runs, control.without_suspends) {
        (false, false) => "",
        (true, false) => " without runs",
        (false, true) => " without suspends",
        (true, true) => " without runs and suspends",
    };
    let id = |what, id| match id {
        0 => String::new(),
        id => format!(" {what} {id}"),
    };
    let what = match (control.stopped, control.is_in_force()) {
        (true, _) => "stopped".to_owned(),
        (false, false) => "everything kept".to_owned(),
        (false, true) => format!(
            "kept{}{}{kinds}",
            id("of process", control.only_process),
            id("on thread", control.only_thread)
        ),
    };
    let owner = id("(process", control.pid);
    let close = if control.pid == 0 { "" } else { ")" };
    format!(
        "from {} on {what}{owner}{close}",
        units::duration(control.at)
    )
}

/// Notes records that a flight recorder could not attribute to coroutines.
fn unattributed(model: &Model) -> Option<String> {
    let window = model.trace_model.window()?;
    (window.unattributed > 0).then(|| {
        format!(
            "{} of this time left out: their coroutines ended so long ago that the recorder has \
             forgotten them",
            units::counted(window.unattributed, "record")
        )
    })
}

/// Notes events that are incomplete because the program died while writing them.
fn torn(model: &Model) -> Option<String> {
    let coroutines = model.trace_model.coroutines().into_iter();
    let torn = coroutines.filter_map(|coroutine| Some((coroutine.account.torn()?, coroutine.id.0)));
    let tails: Vec<String> = torn
        .map(|(n, id)| format!("n={n} of coroutine {id}"))
        .collect();
    let ended = "the recording ended during";
    match &tails[..] {
        [] => None,
        [text] => Some(format!(
            "torn tail, {text}: {ended} that event, which is not shown"
        )),
        [first, rest @ ..] => {
            let more = units::grouped(rest.len() as u64);
            Some(format!(
                "torn tails, {first} and {more} more: {ended} those events, which are not shown"
            ))
        }
    }
}

/// Notes that the kernel refused the observation of descriptors.
fn not_permitted(model: &Model) -> Option<String> {
    model.trace_model.were_looks_refused().then(|| {
        "descriptors could not be observed from outside (another user, or hidepid): whether \
         they were closed or readable is known only if the program recorded this"
            .to_owned()
    })
}

/// Notes records that were left out because they are invalid, and the limits of an imported file.
fn left_out(model: &Model) -> Vec<String> {
    let quarantined = model.trace_model.end().map_or(0, |end| end.quarantined);
    match &model.imported {
        Some(imported) => about_the_file(imported),
        None if quarantined > 0 => {
            let records = units::counted(quarantined, "record");
            vec![format!("{records} made no sense and were left out")]
        }
        None => Vec::new(),
    }
}

/// Notes about an imported file.
fn about_the_file(imported: &Imported) -> Vec<String> {
    let Imported { run, runs, .. } = *imported;
    let mut notes = vec![
        "JSON lines have neither ends nor places: a coroutine that was dropped while waiting looks \
         suspended for ever, and no site is known"
            .to_owned(),
    ];
    if runs > 1 {
        let which = if run == runs { "the last" } else { "one" };
        notes.push(format!(
            "the file has {runs} runs, and this is {which} of them: --run N shows another"
        ));
    }
    if !imported.left_out.is_empty() {
        let lines = units::counted(imported.broken_lines() as u64, "line");
        let reasons: Vec<String> = imported
            .left_out
            .iter()
            .map(|(fault, lines)| {
                format!("{} {}", units::grouped(lines.len() as u64), fault.word())
            })
            .collect();
        notes.push(format!(
            "{lines} of the file left out: {}",
            reasons.join(", ")
        ));
    }
    notes
}

/// Notes sites and names that found no room in the shared tables.
fn unnamed(model: &Model) -> Option<String> {
    match model.trace_model.end()?.unnamed {
        0 => None,
        1 => Some("1 site or name found no room in its table and is not shown by name".to_owned()),
        many => Some(format!(
            "{} sites or names found no room in their table and are not shown by name",
            units::grouped(many)
        )),
    }
}

fn longest_of_cancelled(model: &Model, names: &Names) -> Option<String> {
    let (length, site) = longest_cancelled(model)?;
    let (length, at) = (units::duration(length), names.at(site)?);
    Some(format!(
        "; the longest of these waits took {length}, at {at}"
    ))
}

/// Notes how many coroutines were cancelled, and the longest wait among them. A clean exit also cancels
/// coroutines that hang.
fn cancelled(model: &Model, names: &Names) -> Option<String> {
    let count = model.trace_model.totals().cancelled;
    let cancelled = (0 < count).then(|| units::counted(count, "coroutine"))?;
    let more = if model.is_by_name() {
        Some("; the totals of the program do not include these waits".to_owned())
    } else {
        longest_of_cancelled(model, names)
    };
    Some(format!(
        "{cancelled} cancelled while waiting: over, so never listed as stuck{}",
        more.unwrap_or_default()
    ))
}

/// The longest wait that ended in a cancellation, if it reached the threshold.
fn longest_cancelled(model: &Model) -> Option<(Nanos, SiteId)> {
    let sites = model.trace_model.sites().into_iter();
    let longest = sites.filter_map(|site| Some((site.cancelled.max()?, site.site)));
    longest
        .filter(|(length, _)| THRESHOLD <= *length)
        .max_by_key(|(length, _)| *length)
}

/// Notes contradictions of coroutines that the page does not list.
fn contradictions(model: &Model) -> Option<String> {
    let others = model.trace_model.more_violations();
    (others > 0).then(|| {
        let more = units::counted(others, "contradiction");
        format!("{more} of further coroutines, which are not listed as BROKEN")
    })
}
