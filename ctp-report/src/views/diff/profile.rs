//! The waits and runs at each site of a trace, with the identity by which the site is found in another trace.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ctp_trace::record::{Nanos, SiteId, WaitKind};
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::document::json;
use crate::document::selected_trace::{self, SelectedTrace};
use crate::evidence::resource;
use crate::findings::notes;
use crate::load::{self, Model};
use crate::names::{CodePlace, Names};
use crate::views::diff::collector::SpanCollector;
use crate::views::diff::series::Series;

/// A trace, by site and name.
pub struct Profile {
    /// The sites, each once.
    pub sites: BTreeMap<SiteIdentity, Series>,
    /// The trace.
    pub about: ProfileFacts,
}

/// Facts about a trace.
#[derive(Default)]
pub struct ProfileFacts {
    /// The id of the recording.
    pub trace_id: [u8; 16],
    /// The program, without directories.
    pub program: String,
    /// When the recording began, as nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The start of the time that was kept: 0, except for a flight recorder.
    pub since: Nanos,
    /// How much time was kept.
    pub duration: Nanos,
    /// The number of events.
    pub events: u64,
    /// Lost events.
    pub lost: u64,
    /// What a filter left out.
    pub filtered: Vec<String>,
    /// Notes about what is missing.
    pub notes: Vec<String>,
    /// Waits at sites beyond those that are compared.
    pub left_out: u64,
    /// The `trace` field of documents.
    pub json: Value,
}

impl ProfileFacts {
    /// Whether both are the same recording.
    pub fn is_recording_of(&self, other: &ProfileFacts) -> bool {
        let key = |about: &ProfileFacts| (about.trace_id, about.started_unix_ns, about.events);
        key(self) == key(other)
    }
}

/// A site and the name of the coroutines that wait there, by what is the same in another recording of the
/// program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SiteIdentity {
    /// The function that waits.
    pub function: String,
    /// The source file.
    pub file: Option<String>,
    /// The kind of resource, as a word.
    pub waits_for: &'static str,
    /// The name that the program gave, with `*` for a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The function that awaits this function, if found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<String>,
    /// The line in the file.
    pub line: Option<u32>,
    /// Module and offset, if there is no source position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

impl SiteIdentity {
    fn of(names: &Names, (site, wait): (SiteId, WaitKind), name: &str) -> Self {
        let label = names.of(site).cloned().unwrap_or_default();
        let function = names.function(site, name);
        let place = CodePlace::new(function, label);
        SiteIdentity {
            function: place.function,
            file: place.shown,
            waits_for: resource::word(wait),
            name: names.given(name),
            awaited_by: names.awaiter(site),
            line: place.line,
            module: place.module,
        }
    }

    /// File and line, or module and offset.
    pub fn at(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => self
                .module
                .clone()
                .unwrap_or_else(|| "(not recorded)".to_owned()),
        }
    }

    /// The identity without the line, by which a site is found after the file was edited above it.
    pub fn without_line(&self) -> Self {
        SiteIdentity {
            line: None,
            module: None,
            ..self.clone()
        }
    }

    /// The identity without functions, which are not known if the file of the program was replaced.
    pub fn without_functions(&self) -> Self {
        SiteIdentity {
            function: String::new(),
            awaited_by: None,
            module: None,
            ..self.clone()
        }
    }

    /// The identity by what the program itself named, if lines are not known.
    pub fn without_file(&self) -> Self {
        SiteIdentity {
            file: None,
            awaited_by: None,
            ..self.without_line()
        }
    }
}

/// Reads a trace.
///
/// # Errors
/// If the trace cannot be read, has no coroutine, or has totals only.
pub fn read(config: &Config, path: &Path) -> Result<Profile> {
    let input = load::open_file(config, path)?;
    let mut collector = SpanCollector::default();
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::read_any(
        config,
        &input,
        |_, _| {},
        |trace_model, span| collector.add(trace_model, span),
    )?;
    model
        .check_not_empty()
        .with_context(|| path.display().to_string())?;
    if model.is_by_name() {
        bail!(
            "{}: the trace has only totals, from which noise cannot be told: record without --summary",
            path.display()
        );
    }
    let about = ProfileFacts {
        filtered: selection.notes("coroutines are compared"),
        ..about(&model, &names, collector.left_out)
    };
    let mut sites: BTreeMap<SiteIdentity, Series> = BTreeMap::new();
    for (site, wait, name, series) in collector.finish() {
        let identity = SiteIdentity::of(&names, (site, wait), &name);
        sites
            .entry(identity)
            .and_modify(|known| known.merge(&series))
            .or_insert(series);
    }
    Ok(Profile { sites, about })
}

fn about(model: &Model, names: &Names, left_out: u64) -> ProfileFacts {
    let window = model.trace_model.window();
    let since = window.map_or(Nanos(0), |window| window.since);
    ProfileFacts {
        trace_id: model.start.trace_id,
        program: model.program_name(),
        started_unix_ns: model.start.started_unix_ns,
        since,
        duration: since.until(model.duration()),
        events: model.trace_model.totals().events,
        lost: model.lost(),
        filtered: Vec::new(),
        notes: notes::notes(model, names),
        left_out,
        json: json::trace(model, names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::{End, Record, Window};

    #[test]
    fn duration_is_the_time_that_a_flight_recorder_kept() {
        let mut model = Model::default();
        let (since, at) = (Nanos(70), Nanos(100));
        let window = Window {
            since,
            ..Window::default()
        };
        let end = End {
            at,
            ..End::default()
        };
        model.trace_model.consume(&Record::End(end));
        assert_eq!(about(&model, &Names::default(), 0).duration, Nanos(100));
        model.trace_model.consume(&Record::Window(window));
        let about = about(&model, &Names::default(), 0);
        assert_eq!((about.since, about.duration), (since, Nanos(30)));
    }
}
