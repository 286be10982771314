//! The lines above every page: what was recorded, how it ended, and what is missing.

use std::io;

use ctp_trace::census::LostRecords;
use ctp_trace::record::{Control, Ending, Nanos, SiteId};
use ctp_trace::verdict::THRESHOLD;

use crate::config::Detail;
use crate::import::{Fault, Imported};
use crate::model::Model;
use crate::names::Names;
use crate::page::Page;
use crate::text;
use crate::units;

/// Writes the header lines.
pub fn write(page: &mut Page, model: &Model, names: &Names, detail: Detail) -> io::Result<()> {
    let run = match &model.imported {
        Some(imported) => about_the_import(model, imported),
        None => about_the_run(model),
    };
    page.lines(&text::flow("# ", "#   ", "   ", &run))?;
    page.lines(&text::flow("# ", "#   ", ", ", &about_the_trace(model)))?;
    about_the_window(model)
        .iter()
        .chain(&about_the_totals(model))
        .try_for_each(|line| page.line(line))?;
    if detail == Detail::Verbose && model.imported.is_none() {
        page.lines(&text::flow("# ", "#   ", "   ", &about_the_recorder(model)))?;
    }
    let mut notes = notes(model, names);
    if detail == Detail::Verbose {
        notes.extend(model.imported.iter().flat_map(line_numbers));
    }
    notes.iter().try_for_each(|note| {
        page.lines(&text::flow("# note: ", "#   ", " ", &text::words(note)))
    })?;
    page.gap()
}

fn about_the_run(model: &Model) -> Vec<String> {
    let words: Vec<String> = model
        .start
        .argv
        .iter()
        .map(|word| text::shell_word(word))
        .collect();
    let command = if words.is_empty() {
        "(memory image)".to_owned()
    } else {
        words.join(" ")
    };
    vec![
        format!("command: {}", text::cut(&command, 80)),
        format!("host: {}", text::cut(&text::escape(&model.start.host), 40)),
        format!("date: {}", units::date(model.start.started_unix_ns)),
        format!("duration: {}", units::duration(model.duration())),
        format!("ended: {}", how_it_ended(model)),
    ]
}

fn about_the_import(model: &Model, imported: &Imported) -> Vec<String> {
    vec![
        format!("imported: {} JSON lines", model.start.recorder),
        format!("run: {} of {}", imported.run, imported.runs),
        format!("duration: {}", units::duration(model.duration())),
        "ended: not recorded".to_owned(),
    ]
}

fn about_the_trace(model: &Model) -> Vec<String> {
    let totals = model.census.totals();
    let mut about = vec![
        format!(
            "recorded: {}",
            units::counted(totals.coroutines, "coroutine")
        ),
        events(model),
    ];
    about.extend(match model.imported {
        Some(_) => missing_of_an_import(model),
        None => missing(model),
    });
    about
}

/// Those in the trace and those that are in totals only.
fn events(model: &Model) -> String {
    let in_the_trace = model.census.totals().events;
    match model.census.summed_up() {
        0 => units::counted(in_the_trace, "event"),
        more => format!(
            "{} ({} in the trace)",
            units::counted(in_the_trace.saturating_add(more), "event"),
            units::count(in_the_trace)
        ),
    }
}

/// What of the recording a flight recorder kept.
fn about_the_window(model: &Model) -> Option<String> {
    let window = model.census.window()?;
    let length = units::duration(window.since.until(model.duration()));
    let earlier = match model.census.summed_up() {
        0 => "nothing came before".to_owned(),
        more => format!(
            "{} in the totals only",
            units::counted(more, "earlier event")
        ),
    };
    Some(format!("# flight recorder: the last {length}; {earlier}"))
}

/// Where totals come from, if the program itself kept them.
fn about_the_totals(model: &Model) -> Option<String> {
    model.census.has_aggregates().then(|| {
        let (of, exact) = match model.is_by_name() {
            true => ("totals", "exact, whatever events are not in the trace"),
            false => ("totals (--histogram)", "exact since the start"),
        };
        let doubt = match model.is_exact() {
            true => exact,
            false => "exact but where marked ~",
        };
        format!("# {of}: by name, as the program summed them up; {doubt}")
    })
}

fn missing(model: &Model) -> Vec<String> {
    let told = told_by_threads(model);
    let exact = match (model.refused(), model.is_exact()) {
        _ if model.census.filtered() > 0 => "figures are of what was kept",
        (1.., _) => "figures are of those recorded",
        _ if model.unrecorded() > 0 => "figures are of the processes recorded",
        (0, true) if is_cut(model) => "figures by site are of the window only",
        (0, true) if told.is_some() => "every other figure below is exact",
        (0, true) => "every figure below is exact",
        (0, false) => "figures marked ~ are approximate",
    };
    let refused = format!("refused {}", units::count(model.refused()));
    let lost = format!("lost {}", units::count(model.lost()));
    match told {
        None => vec![lost, format!("{refused} ({exact})")],
        Some(told) => vec![
            lost,
            refused,
            told,
            format!("perhaps of wakes, closings or locks ({exact})"),
        ],
    }
}

/// What is lost besides events, from which come figures of their own.
fn told_by_threads(model: &Model) -> Option<String> {
    let LostRecords { known, or_more } = model.census.lost_records();
    let records = match (known, or_more) {
        (0, false) => return None,
        (0, true) => "records without number".to_owned(),
        (known, false) => units::counted(known, "record"),
        (known, true) => format!("{} or more", units::counted(known, "record")),
    };
    Some(format!("threads lost {records}"))
}

/// Did a flight recorder keep less than all?
fn is_cut(model: &Model) -> bool {
    model.census.window().is_some() && model.census.summed_up() > 0
}

fn missing_of_an_import(model: &Model) -> Vec<String> {
    let lost = units::count(model.lost());
    vec![format!(
        "lost {lost} or more (JSON lines do not tell: no figure is exact)"
    )]
}

fn about_the_recorder(model: &Model) -> Vec<String> {
    let start = &model.start;
    let trace_id: String = start
        .trace_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let pids: Vec<u32> = model.processes.iter().map(|process| process.pid).collect();
    vec![
        format!("recorder: {}", text::escape(&start.recorder)),
        format!("trace id: {trace_id}"),
        format!("stations: {}", units::count(u64::from(start.capacity))),
        format!("processes: {}", text::few(&pids)),
        format!("modules: {}", units::count(model.modules.len() as u64)),
    ]
}

/// The same of this one: a snapshot is none.
pub fn how_it_ended(model: &Model) -> String {
    match model.census.window() {
        Some(window) if window.goes_on => "it goes on (a snapshot)".to_owned(),
        _ if model.goes_on => "it goes on (still recorded)".to_owned(),
        _ => ended(model.ending()),
    }
}

/// How a recording ended, in words.
pub fn ended(ending: Option<Ending>) -> String {
    match ending {
        Some(Ending::Exited(status)) => format!("exit {status}"),
        Some(Ending::Signalled(signal)) => signal_name(signal),
        Some(Ending::Stopped) => "recorder stopped".to_owned(),
        Some(Ending::Image) => "memory image".to_owned(),
        _ => "recorder did not finish".to_owned(),
    }
}

/// What a signal is called.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        16 => "SIGSTKFLT",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        26 => "SIGVTALRM",
        27 => "SIGPROF",
        29 => "SIGIO",
        30 => "SIGPWR",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// A program that ends in order cancels those that hang, too: so the longest such wait is told.
fn cancelled(model: &Model, names: &Names) -> Option<String> {
    let count = model.census.totals().cancelled;
    let cancelled = (0 < count).then(|| units::counted(count, "coroutine"))?;
    let longest = || {
        let (length, site) = longest_cancelled(model)?;
        let (length, at) = (units::duration(length), names.of(site)?.at()?);
        Some(format!(
            "; the longest of these waits took {length}, at {at}"
        ))
    };
    let more = match model.is_by_name() {
        true => Some("; what the program summed up has no such waits".to_owned()),
        false => longest(),
    };
    Some(format!(
        "{cancelled} cancelled while waiting: over, so never listed as stuck{}",
        more.unwrap_or_default()
    ))
}

/// If it is worth a word.
fn longest_cancelled(model: &Model) -> Option<(Nanos, SiteId)> {
    let sites = model.census.sites().into_iter();
    let longest = sites.filter_map(|site| Some((site.cancelled.max()?, site.site)));
    longest
        .filter(|(length, _)| THRESHOLD <= *length)
        .max_by_key(|(length, _)| *length)
}

/// Which parts of the trace are not there, or cannot be read.
pub fn unread(model: &Model) -> Vec<String> {
    let cut = model.truncated_at.map(|offset| match model.goes_on {
        true => format!(
            "it is still recorded: this is what was written by then, up to {}",
            units::duration(model.duration())
        ),
        false => format!(
            "the recorder did not finish; the trace is cut off at byte {offset}, and what came \
             after that is missing"
        ),
    });
    model.damage.iter().cloned().chain(cut).collect()
}

/// What the reader of any figure should know.
pub fn notes(model: &Model, names: &Names) -> Vec<String> {
    let mut notes = unread(model);
    if model.refused() > 0 {
        let refused = units::counted(model.refused(), "coroutine");
        notes.push(format!(
            "{refused} found no station; {} to see them",
            model.how_to_have_room()
        ));
    }
    if model.unrecorded() > 0 {
        notes.push(model.who_is_missing());
    }
    notes.extend(filtered(model));
    notes.extend(unattributed(model));
    notes.extend(torn(model));
    if model.census.were_looks_refused() {
        notes.push(
            "descriptors could not be looked at from outside (another user, or hidepid): whether \
             they were closed or readable is known only where the program told"
                .to_owned(),
        );
    }
    let end = model.census.end().copied().unwrap_or_default();
    if let Some(imported) = &model.imported {
        notes.extend(about_the_file(imported));
    } else if end.quarantined > 0 {
        let records = units::counted(end.quarantined, "record");
        notes.push(format!("{records} made no sense and were left out"));
    }
    if end.unnamed > 0 {
        let said = match end.unnamed {
            1 => "1 site or name found no room in its table and is not shown by name".to_owned(),
            many => format!(
                "{} sites or names found no room in their table and are not shown by name",
                units::count(many)
            ),
        };
        notes.push(said);
    }
    notes.extend(cancelled(model, names));
    if 0 < model.census.broken_besides() {
        let more = units::counted(model.census.broken_besides(), "contradiction");
        notes.push(format!(
            "{more} of coroutines that are not listed as BROKEN, for they are many"
        ));
    }
    notes.extend(names.misses().map(str::to_owned));
    notes
}

/// What a flight recorder had and could not tell.
fn unattributed(model: &Model) -> Option<String> {
    let window = model.census.window()?;
    (window.unattributed > 0).then(|| {
        format!(
            "{} of this time left out: their coroutines ended, and so many others did since that \
             they are not known any more",
            units::counted(window.unattributed, "record")
        )
    })
}

/// What was kept out on purpose, and when.
fn filtered(model: &Model) -> Option<String> {
    let filtering = model.census.filtering();
    let mut changes = filtering.changes().iter().map(change).collect::<Vec<_>>();
    if changes.is_empty() {
        return None;
    }
    let more = changes.len().saturating_sub(MOST_CHANGES);
    changes.truncate(MOST_CHANGES);
    if more > 0 {
        changes.push(format!("{} more changes", units::count(more as u64)));
    }
    let events = units::counted(model.census.filtered(), "event");
    let stopped = match filtering.stopped_until(model.duration()) {
        Nanos(0) => String::new(),
        ns => format!(", recording stopped for {} in all", units::duration(ns)),
    };
    Some(format!(
        "{events} filtered by ctp-record control{stopped}: {}",
        changes.join("; ")
    ))
}

/// Changes that are listed.
const MOST_CHANGES: usize = 4;

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
    let whose = id("(process", control.pid);
    let close = if control.pid == 0 { "" } else { ")" };
    format!(
        "from {} on {what}{whose}{close}",
        units::duration(control.at)
    )
}

/// The events that nobody will ever read, since their writer died amid them.
fn torn(model: &Model) -> Option<String> {
    let tails: Vec<String> = model
        .census
        .coroutines()
        .iter()
        .filter_map(|one| Some(format!("n={} of coroutine {}", one.torn?, one.id.0)))
        .collect();
    let ended = "the recording ended amid";
    match &tails[..] {
        [] => None,
        [one] => Some(format!(
            "torn tail, {one}: {ended} that event, which is not shown"
        )),
        [first, rest @ ..] => {
            let more = units::count(rest.len() as u64);
            Some(format!(
                "torn tails, {first} and {more} more: {ended} those events, which are not shown"
            ))
        }
    }
}

/// What the file that was imported has beside the run that is shown.
fn about_the_file(imported: &Imported) -> Vec<String> {
    let Imported { run, runs, .. } = *imported;
    let mut notes = vec![
        "JSON lines tell neither ends nor places: one that was dropped while it waited looks \
         suspended for ever, and no site is known"
            .to_owned(),
    ];
    if runs > 1 {
        let which = if run == runs { "the last" } else { "one" };
        notes.push(format!(
            "the file holds {runs} runs, one behind the other; this is {which} of them: --run N \
             shows another"
        ));
    }
    if !imported.left_out.is_empty() {
        let lines = units::counted(imported.broken_lines() as u64, "line");
        let reasons: Vec<String> = imported
            .left_out
            .iter()
            .map(|(fault, lines)| format!("{} {}", units::count(lines.len() as u64), fault.word()))
            .collect();
        notes.push(format!(
            "{lines} of the file left out: {}",
            reasons.join(", ")
        ));
    }
    notes
}

/// Which lines those are.
fn line_numbers(imported: &Imported) -> Vec<String> {
    let of_one = |(fault, lines): (&Fault, &Vec<usize>)| {
        let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
        format!("{}: lines {}", fault.word(), numbers.join(", "))
    };
    imported.left_out.iter().map(of_one).collect()
}
