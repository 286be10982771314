//! The header of pages about a process without a probe, or about its core file.

use std::collections::BTreeSet;
use std::io;

use ctp_trace::model::InspectedProcess;
use ctp_trace::record::{Nanos, ProcessId};

use crate::findings::notes;
use crate::load::Model;
use crate::names::Names;
use crate::text::{self, Page, units};

/// Writes the header lines.
pub fn write(page: &mut Page, model: &Model, names: &Names) -> io::Result<()> {
    for (id, process) in model.trace_model.inspected() {
        let about = about(model, id, process);
        page.list("# ", "#   ", "   ", &about)?;
    }
    page.sentence("# ", "#   ", &reading_method(model))?;
    let all = model.trace_model.inspected();
    let gaps: BTreeSet<String> = all
        .flat_map(|(_, process)| process.gaps.iter().cloned())
        .chain(names.misses())
        .collect();
    for gap in gaps {
        page.sentence("# note: ", "#   ", &text::escape(&gap))?;
    }
    for note in notes::unread(model) {
        page.sentence("# note: ", "#   ", &note.to_string())?;
    }
    page.gap()
}

fn about(model: &Model, id: ProcessId, process: &InspectedProcess) -> Vec<String> {
    let pid = model
        .processes
        .iter()
        .find(|process| process.id == id)
        .map_or(0, |found| found.pid);
    let runtimes = match process.runtimes.len() {
        0 => "no known runtime".to_owned(),
        _ => text::escape(&process.runtimes.join(", ")),
    };
    let found = [
        format!("found: {runtimes}"),
        units::counted(process.tasks.len() as u64, "task"),
        units::counted(process.threads.len() as u64, "thread"),
    ];
    let origin = if process.is_core_file() {
        origin_of_core(model, pid, process)
    } else {
        origin(model, pid, process)
    };
    origin.into_iter().chain(found).collect()
}

fn origin(model: &Model, pid: u32, process: &InspectedProcess) -> Vec<String> {
    vec![
        format!("process: {pid} {}", program(model)),
        format!("host: {}", text::escape(&model.start.host)),
        format!("date: {}", units::date(model.start.started_unix_ns)),
        format!("inspected: {}", inspected(process)),
    ]
}

/// Leaves out the host and the date, because those of the trace are not those of the core file.
fn origin_of_core(model: &Model, pid: u32, process: &InspectedProcess) -> Vec<String> {
    let file = text::escape_bytes(&process.core_file);
    vec![
        format!("core file: {file}"),
        format!("process: {pid} {}", program(model)),
    ]
}

/// The file name of the program.
fn program(model: &Model) -> String {
    let program = model.program();
    program.rsplit('/').next().unwrap_or_default().to_owned()
}

/// When the inspections were made, counted from the first: `+0.0 s, +1.0 s`.
fn inspected(process: &InspectedProcess) -> String {
    let first = process.times.first().map_or(Nanos(0), |time| time.began);
    let moments = process.times.iter().map(|time| {
        let since = first.until(time.began).0 / 100_000_000;
        format!("+{}.{} s", since / 10, since % 10)
    });
    text::few(&moments.collect::<Vec<_>>())
}

fn reading_method(model: &Model) -> String {
    if model.is_core_file() {
        return "a single moment at an unknown time, without history: nothing says which timers were due, or for \
                how long a thread was in a call"
            .to_owned();
    }
    let how_often = how_often(model);
    format!("no probe, so no history: everything below was read from memory{how_often}")
}

fn how_often(model: &Model) -> String {
    let all = model.trace_model.inspected();
    match all.map(|(_, process)| process.times.len()).max() {
        None | Some(0 | 1) => ", once".to_owned(),
        Some(2) => ", twice".to_owned(),
        Some(times) => format!(", {} times", units::grouped(times as u64)),
    }
}
