//! Coroutines that were alive when the program exited successfully. This is not a verdict.

use std::collections::BTreeMap;
use std::io;

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, ExitReason, ProcessExit, ProcessId, SiteId};
use ctp_trace::verdict::State;
use serde::Serialize;

use crate::evidence::selection::Selection;
use crate::findings::Finding;
use crate::load::Model;
use crate::names::{Names, duplicates, label};
use crate::text::{Page, units};

/// Coroutines that were alive at a clean end, in the same state at the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// `suspended`, `running` or `never started`.
    pub state: &'static str,
    /// The function of their current or last place. If that is not known: their name, or the
    /// spawning function.
    pub function: String,
    /// The names that the program gave to them. Empty if `function` already has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The source file.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// Column in that line.
    pub column: Option<u32>,
    /// The place as text, even without a source position.
    pub at: Option<String>,
    /// The number of coroutines.
    pub count: usize,
    /// Their ids.
    pub ids: Vec<u32>,
}

impl Finding for Vec<Leak> {
    const NAME: &'static str = "leaks";

    /// Finds the groups, largest first. There are none unless the program exited with status 0.
    fn find(model: &Model, names: &Names) -> Self {
        if model.exit_reason() != Some(ExitReason::Exited(0)) {
            return Vec::new();
        }
        let mut found: BTreeMap<(&str, String, SiteId), Vec<&Coroutine>> = BTreeMap::new();
        let mut all = model.trace_model.coroutines();
        all.retain(|coroutine| ended_cleanly(model, coroutine.process));
        for coroutine in all {
            if let Some(key) = key(model, names, coroutine) {
                found.entry(key).or_default().push(coroutine);
            }
        }
        let mut leaks: Vec<Leak> = found
            .into_iter()
            .map(|((state, ..), all)| leak(model, names, state, &all))
            .collect();
        duplicates::distinguish(
            &mut leaks,
            |leak| (leak.at.clone(), leak.function.clone(), leak.state),
            |leak| leak.column,
            |leak| &mut leak.at,
        );
        leaks.sort_by_key(|leak| std::cmp::Reverse(leak.count));
        leaks
    }

    /// Lists the groups.
    fn write(&self, page: &mut Page) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let count: usize = self.iter().map(|leak| leak.count).sum();
        page.gap()?;
        page.line(&format!(
            "LEAKS {} alive at a clean end (ctp-report --stuck lists those that could not continue)",
            units::counted(count as u64, "coroutine")
        ))?;
        self.iter().try_for_each(|leak| {
            let function = &leak.function;
            let count = units::grouped(leak.count as u64);
            let named = label::few_names(&leak.names);
            let named = named.map(|named| format!(", as {named}"));
            let named = named.unwrap_or_default();
            let left = format!("  {count} x {function}  ({}{named})", leak.state);
            let at = leak.at.as_deref().unwrap_or("(place not recorded)");
            page.spread(&left, at)
        })
    }
}

/// Leaves only the selected coroutines.
pub fn select(leaks: &mut Vec<Leak>, selection: &Selection) {
    for leak in leaks.iter_mut() {
        leak.ids.retain(|id| selection.has(CoroutineId(*id)));
        leak.count = leak.ids.len();
    }
    leaks.retain(|leak| 0 < leak.count);
}

/// Whether the process exited successfully, as far as known. Killed processes always leave coroutines.
fn ended_cleanly(model: &Model, process: ProcessId) -> bool {
    let early = model.trace_model.ended_early(process);
    early.is_none_or(|end| end.how == ProcessExit::Exited(0))
}

fn key(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
) -> Option<(&'static str, String, SiteId)> {
    let state = match coroutine.state().0 {
        State::Born => "never started",
        State::Running => "running",
        State::Suspended => "suspended",
        State::Cancelled | State::Dead => return None,
    };
    let site = model.trace_model.place_of(coroutine);
    Some((state, names.name_of_row(model, site, coroutine), site))
}

fn leak(model: &Model, names: &Names, state: &'static str, all: &[&Coroutine]) -> Leak {
    let site = model.trace_model.place_of(all[0]);
    let label = names.of(site).cloned().unwrap_or_default();
    let function = names.of_all(model, site, all.iter().copied());
    Leak {
        state,
        names: names.given_to_all(model, all.iter().copied(), &function),
        function,
        at: label.at(),
        file: label.file,
        line: label.line,
        column: label.column,
        count: all.len(),
        ids: all.iter().map(|coroutine| coroutine.id.0).collect(),
    }
}
