//! The header of every page: what was recorded, how the recording ended, and what is missing.

mod inspection;

use std::io;

use crate::config::Detail;
use crate::evidence::missing_wakes::Losses;
use crate::findings::notes;
use crate::import::Imported;
use crate::load::Model;
use crate::load::exit_reason::exit_description;
use crate::names::Names;
use crate::text::{self, Page, units};

/// Writes the header lines.
pub fn write(page: &mut Page, model: &Model, names: &Names, detail: Detail) -> io::Result<()> {
    if model.is_inspection() {
        return inspection::write(page, model, names);
    }
    let run = match &model.imported {
        Some(imported) => about_the_import(model, imported),
        None => about_the_run(model),
    };
    page.list("# ", "#   ", "   ", &run)?;
    page.list("# ", "#   ", ", ", &about_the_trace(model))?;
    about_the_window(model)
        .iter()
        .chain(&about_the_totals(model))
        .try_for_each(|line| page.line(line))?;
    if detail == Detail::Verbose && model.imported.is_none() {
        page.list("# ", "#   ", "   ", &about_the_recorder(model))?;
    }
    let mut notes = notes::notes(model, names);
    if detail == Detail::Verbose {
        notes.extend(model.imported.iter().flat_map(notes::line_numbers));
    }
    notes
        .iter()
        .try_for_each(|note| page.sentence("# note: ", "#   ", note))?;
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
        format!("command: {command}"),
        format!("host: {}", text::escape(&model.start.host)),
        format!("date: {}", units::date(model.start.started_unix_ns)),
        format!("duration: {}", units::duration(model.duration())),
        format!("ended: {}", exit_description(model)),
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
    let totals = model.trace_model.totals();
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

/// The number of events, including those that only totals count.
fn events(model: &Model) -> String {
    let in_the_trace = model.trace_model.totals().events;
    match model.trace_model.summed_up() {
        0 => units::counted(in_the_trace, "event"),
        more => format!(
            "{} ({} in the trace)",
            units::counted(in_the_trace.saturating_add(more), "event"),
            units::grouped(in_the_trace)
        ),
    }
}

/// Which part of the recording a flight recorder kept.
fn about_the_window(model: &Model) -> Option<String> {
    let window = model.trace_model.window()?;
    let length = units::duration(window.since.until(model.duration()));
    let earlier = match model.trace_model.summed_up() {
        0 => "nothing came before".to_owned(),
        more => format!(
            "{} in the totals only",
            units::counted(more, "earlier event")
        ),
    };
    Some(format!("# flight recorder: the last {length}; {earlier}"))
}

/// The origin of totals that the program itself kept.
fn about_the_totals(model: &Model) -> Option<String> {
    model.trace_model.has_aggregates().then(|| {
        let (of, exact) = if model.is_by_name() {
            ("totals", "exact, even if events are missing from the trace")
        } else {
            ("totals (--histogram)", "exact since the start")
        };
        let caveat = if model.is_exact() {
            exact
        } else {
            "exact except where marked ~"
        };
        format!("# {of}: by name, as summed up by the program; {caveat}")
    })
}

fn missing(model: &Model) -> Vec<String> {
    let reported = losses_by_thread(model);
    let exact = match (model.refused(), model.is_exact()) {
        _ if model.trace_model.totals().filtered > 0 => "figures cover what was kept",
        (1.., _) => "figures cover the recorded coroutines",
        _ if model.unrecorded() > 0 => "figures cover the recorded processes",
        (0, true) if is_cut(model) => "figures by site cover the window only",
        (0, true) if reported.is_some() => "every other figure below is exact",
        (0, true) => "every figure below is exact",
        (0, false) => "figures marked ~ are approximate",
    };
    let refused = format!("refused {}", units::grouped(model.refused()));
    let lost = format!("lost {}", units::grouped(model.lost()));
    match reported {
        None => vec![lost, format!("{refused} ({exact})")],
        Some(reported) => vec![
            lost,
            refused,
            reported,
            format!("possibly wakes, closings or locks ({exact})"),
        ],
    }
}

/// How many records other than events the threads lost.
fn losses_by_thread(model: &Model) -> Option<String> {
    let lost = Losses::of_all(model)?;
    Some(format!("threads lost {}", lost.in_words()))
}

/// Whether a flight recorder kept only a part of the events.
fn is_cut(model: &Model) -> bool {
    model.trace_model.window().is_some() && model.trace_model.summed_up() > 0
}

fn missing_of_an_import(model: &Model) -> Vec<String> {
    let lost = units::grouped(model.lost());
    vec![format!(
        "lost {lost} or more (losses unknown: no figure is exact)"
    )]
}

fn about_the_recorder(model: &Model) -> Vec<String> {
    let start = &model.start;
    let trace_id = units::hex(&start.trace_id);
    let pids: Vec<u32> = model.processes.iter().map(|process| process.pid).collect();
    vec![
        format!("recorder: {}", text::escape(&start.recorder)),
        format!("trace id: {trace_id}"),
        format!("stations: {}", units::grouped(u64::from(start.capacity))),
        format!("processes: {}", text::few(&pids)),
        format!("modules: {}", units::grouped(model.modules.len() as u64)),
    ]
}
