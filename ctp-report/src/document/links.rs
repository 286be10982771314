//! Links from the places of a page to their files.

use std::env;
use std::path::Path;

use rustix::system::uname;

use crate::evidence::inspected::site::label_of;
use crate::load::Model;
use crate::names::{Label, Names};
use crate::text::Links;

/// The files of all places of a trace.
pub fn of(model: &Model, names: &Names) -> Links {
    let host = uname().nodename().to_string_lossy().into_owned();
    let mut links = Links::new(&host);
    for label in names.labels() {
        add(&mut links, names, label);
    }
    let processes = model.trace_model.inspected();
    let tasks = processes.flat_map(|(_, process)| process.tasks.values());
    let stacks = tasks.filter_map(|task| model.trace_model.await_stack(task.latest.stack));
    for frame in stacks.flat_map(|stack| &stack.frames) {
        add(&mut links, names, &label_of(frame));
    }
    links
}

fn add(links: &mut Links, names: &Names, label: &Label) {
    let recorded = label.file.as_deref().map(Path::new);
    let Some(file) = label.absolute.as_deref().or(recorded) else {
        return;
    };
    let here = env::current_dir().unwrap_or_default();
    let file = here.join(names.sources().search_paths.file(file));
    for place in [label.at(), label.short()].into_iter().flatten() {
        links.add(place, &file);
    }
}
