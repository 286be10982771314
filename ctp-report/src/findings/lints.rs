//! Lints: behaviour that is rarely intended, even if nothing is stuck. Three of the names are those of
//! tokio-console.
//!
//! A new lint is a file like [`lost_waker`] and a line in [`LINTS`]; the page, the JSON document,
//! `--allow` and its help need no change. `docs/verdicts.md` describes each.

mod lost_waker;
mod never_yielded;
mod places;
mod self_wakes;
pub mod text;
mod unregistered;

use ctp_trace::model::TraceModel;
use ctp_trace::record::{Event, Record, ThreadEvent};
use serde::{Serialize, Serializer};

use crate::evidence::selection::Selection;
use crate::load::Model;
use crate::names::Names;
use places::Groups;

pub use places::LintPlace;

/// All lints, in the order of a page.
pub const LINTS: [&Lint; 4] = [
    &self_wakes::LINT,
    &never_yielded::LINT,
    &lost_waker::LINT,
    &unregistered::LINT,
];

/// A lint: its name, its detection and its texts.
#[derive(Debug)]
pub struct Lint {
    /// The name for `--allow`, pages and JSON documents.
    pub name: &'static str,
    /// The description for `--help`.
    pub help: &'static str,
    /// What the coroutines do and what helps. On a page, this text stands between the name and the
    /// command of [`see`](Self::see).
    pub advice: &'static str,
    /// The option of the view with more details.
    pub see: Option<&'static str>,
    /// Whether the lint also applies to a trace with unreadable parts.
    pub of_parts: bool,
    /// How the coroutines are found.
    pub detection: Detection,
    /// Describes the coroutines of a place.
    pub message: fn(&LintPlace) -> String,
}

/// How the coroutines of a lint are found.
#[derive(Debug)]
pub enum Detection {
    /// By the records of the coroutines, while the trace is read.
    WhileReading(fn() -> Box<dyn LintWatch>),
    /// By the trace model at the end.
    AtTheEnd(fn(&TraceModel, &Selection) -> Groups),
}

/// Detects a lint while a trace is read.
pub trait LintWatch {
    /// Takes an event, before the trace model does.
    fn event(&mut self, _trace_model: &TraceModel, _event: &Event) {}

    /// Takes a thread event, before the trace model does.
    fn thread_event(&mut self, _trace_model: &TraceModel, _thread_event: &ThreadEvent) {}

    /// Returns the coroutines that were found, at the end of the trace.
    fn finish(self: Box<Self>, trace_model: &TraceModel) -> Groups;
}

impl Serialize for Lint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Detects all lints except the allowed lints.
pub struct Watches {
    lints: Vec<&'static Lint>,
    while_reading: Vec<(&'static str, Box<dyn LintWatch>)>,
}

impl Watches {
    /// Starts the detection. `allowed` are names of lints.
    pub fn start(allowed: &[String]) -> Self {
        let lints = LINTS.into_iter();
        let lints = lints.filter(|lint| !allowed.iter().any(|name| name == lint.name));
        let lints: Vec<_> = lints.collect();
        let while_reading = lints.iter().filter_map(|lint| match lint.detection {
            Detection::WhileReading(start) => Some((lint.name, start())),
            Detection::AtTheEnd(_) => None,
        });
        Watches {
            while_reading: while_reading.collect(),
            lints,
        }
    }

    /// Takes a record, before the trace model does.
    pub fn see(&mut self, trace_model: &TraceModel, record: &Record) {
        for (_, watch) in &mut self.while_reading {
            match record {
                Record::Event(event) => watch.event(trace_model, event),
                Record::ThreadEvent(thread_event) => watch.thread_event(trace_model, thread_event),
                _ => {}
            }
        }
    }

    /// The places that were found, by lint, those with most coroutines first. Only records of selected
    /// coroutines were taken.
    pub fn finish(
        mut self,
        (model, names): (&Model, &Names),
        selection: &Selection,
    ) -> Vec<LintPlace> {
        let is_whole = model.damage.is_empty();
        let mut found = Vec::new();
        for lint in std::mem::take(&mut self.lints) {
            if !is_whole && !lint.of_parts {
                continue;
            }
            let groups = self.groups(lint, &model.trace_model, selection);
            let mut places = places::named(model, names, lint, groups);
            places.sort_by_key(|place| std::cmp::Reverse(place.coroutines));
            found.extend(places);
        }
        found
    }

    /// Takes the coroutines that the lint found. Called once for each lint.
    fn groups(&mut self, lint: &Lint, trace_model: &TraceModel, selection: &Selection) -> Groups {
        if let Detection::AtTheEnd(find) = lint.detection {
            return find(trace_model, selection);
        }
        let mut watches = self.while_reading.iter();
        let place = watches.position(|(name, _)| *name == lint.name);
        let watch = place.map(|place| self.while_reading.swap_remove(place).1);
        watch.map_or_else(Groups::default, |watch| watch.finish(trace_model))
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
