//! What is seldom meant, though nothing need be stuck for it. The names are those of tokio-console.
//!
//! A new lint is a file like [`lost_waker`] and a line in [`LINTS`]; the page, the JSON document,
//! `--allow` and its help follow. `docs/verdicts.md` describes each.

mod lost_waker;
mod never_yielded;
mod places;
mod self_wakes;
pub mod text;

use ctp_trace::record::{Event, Record, ThreadEvent};
use ctp_trace::trace_model::TraceModel;
use serde::{Serialize, Serializer};

use crate::load::Model;
use crate::names::Names;
use places::Groups;

pub use places::LintPlace;

/// All lints, in the order of a page.
pub const LINTS: [&Lint; 3] = [&self_wakes::LINT, &never_yielded::LINT, &lost_waker::LINT];

/// One lint: what it is called, how it is found, and what a page says of it.
#[derive(Debug)]
pub struct Lint {
    /// Its name, for `--allow`, the page and the JSON document.
    pub name: &'static str,
    /// What it finds, for `--help`.
    pub help: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// The option of the view that says more.
    pub see: Option<&'static str>,
    /// Also looked for in a trace of which parts cannot be read.
    pub of_parts: bool,
    /// Begins to look for it.
    pub start: fn() -> Box<dyn Watch>,
    /// What is so of the coroutines of one place.
    pub message: fn(&LintPlace) -> String,
}

/// Looks for one lint while a trace is read.
pub trait Watch {
    /// Takes note of an event, before the census does.
    fn event(&mut self, _trace_model: &TraceModel, _event: &Event) {}

    /// Takes note of what a thread did, before the census does.
    fn thread_event(&mut self, _trace_model: &TraceModel, _deed: &ThreadEvent) {}

    /// The coroutines that were found, at the end of the trace.
    fn finish(self: Box<Self>, trace_model: &TraceModel) -> Groups;
}

impl Serialize for Lint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Looks for all lints but those that are allowed.
pub struct Watches(Vec<(&'static Lint, Box<dyn Watch>)>);

impl Watches {
    /// Begins to look; `allowed` are names of lints.
    pub fn start(allowed: &[String]) -> Self {
        let lints = LINTS.into_iter();
        let lints = lints.filter(|lint| !allowed.iter().any(|name| name == lint.name));
        Watches(lints.map(|lint| (lint, (lint.start)())).collect())
    }

    /// Takes note of a record, before the census does.
    pub fn see(&mut self, trace_model: &TraceModel, record: &Record) {
        for (_, watch) in &mut self.0 {
            match record {
                Record::Event(event) => watch.event(trace_model, event),
                Record::ThreadEvent(thread_event) => watch.thread_event(trace_model, thread_event),
                _ => {}
            }
        }
    }

    /// The places that were found, by lint, those of most coroutines first.
    pub fn finish(self, model: &Model, names: &Names) -> Vec<LintPlace> {
        let is_whole = model.damage.is_empty();
        let mut found = Vec::new();
        for (lint, watch) in self
            .0
            .into_iter()
            .filter(|pair| is_whole || pair.0.of_parts)
        {
            let mut places = places::named(model, names, lint, watch.finish(&model.trace_model));
            places.sort_by_key(|place| std::cmp::Reverse(place.coroutines));
            found.extend(places);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_lint_is_described() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verdicts.md");
        let text = fs::read_to_string(path).expect("the description of verdicts");
        for lint in LINTS {
            assert!(
                text.contains(&format!("- *{}*:", lint.name)),
                "{}",
                lint.name
            );
        }
    }
}
