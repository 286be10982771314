//! The facts above the table: the program, how far the recording is, and how many coroutines there are.

use std::time::Duration;

use ctp_trace::record::Nanos;
use serde::Serialize;

use super::row::per_second;
use super::rows::RowCounts;
use super::session::Session;
use crate::load::Model;
use crate::load::exit_reason::exit_description;
use crate::load::follow::TraceProgress;
use crate::text::{self, units};

/// The facts above the table.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The program, without its directories.
    pub program: String,
    /// The processes.
    pub pids: Vec<u32>,
    /// Whether the recording goes on, or how it ended.
    pub ended: String,
    /// Whether the recording goes on.
    pub goes_on: bool,
    /// The time up to which the trace is complete.
    pub complete_until_ns: u64,
    /// The length of the interval of all rates.
    pub interval_ns: u64,
    /// Events in the interval, per second.
    pub events_per_s: f64,
    /// Coroutines and tasks by state.
    #[serde(flatten)]
    pub counts: RowCounts,
    /// Coroutines that have ended.
    pub over: u64,
    /// Events that are missing.
    pub lost: u64,
    /// What cannot be read, or is known to be missing.
    pub notes: Vec<String>,
    /// How old the verdicts are, if newer records came since.
    #[serde(skip)]
    pub verdict_age: Option<Duration>,
}

impl Summary {
    /// The facts as of the last refresh.
    pub fn of(session: &Session) -> Self {
        let model = &session.followed().model;
        let interval = session.interval();
        let totals = model.trace_model.totals();
        let counts = session.rows().counts();
        let alive = session.recorded() as u64;
        Summary {
            program: model.program_name(),
            pids: model.processes.iter().map(|process| process.pid).collect(),
            ended: ended(model, session.followed().progress()),
            goes_on: model.goes_on,
            complete_until_ns: interval.end.0,
            interval_ns: interval.length.0,
            events_per_s: per_second(session.new_events(), interval.length),
            counts,
            over: totals.coroutines.saturating_sub(alive),
            lost: session.lost(),
            notes: notes(model, session.followed().progress()),
            verdict_age: session.verdict_age(),
        }
    }

    /// The numbers of coroutines by state, such as `47 stuck`. Those that are zero are left out.
    pub fn states(&self) -> Vec<String> {
        let RowCounts {
            stuck,
            running,
            woken,
            never_run,
            waiting,
            ..
        } = self.counts;
        let counts = [
            (stuck, "stuck"),
            (running, "running"),
            (woken, "woken"),
            (never_run, "never run"),
            (waiting, "waiting"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| 0 < *count);
        let words = counts.map(|(count, word)| format!("{} {word}", units::grouped(count as u64)));
        words.collect()
    }

    /// The time up to which the trace is complete.
    pub fn complete_until(&self) -> String {
        units::duration_ns(self.complete_until_ns)
    }

    /// Events per second.
    pub fn events(&self) -> String {
        format!("{} events/s", rate(self.events_per_s))
    }
}

fn ended(model: &Model, progress: TraceProgress) -> String {
    match progress {
        TraceProgress::Truncated => "the file was truncated".to_owned(),
        _ => exit_description(model),
    }
}

fn notes(model: &Model, progress: TraceProgress) -> Vec<String> {
    let mut notes = Vec::new();
    let damaged = model.damage.len() as u64;
    if let Some(first) = model.damage.first() {
        let parts = units::counted(damaged, "part");
        notes.push(format!("{parts} of the trace cannot be read: {first}"));
    }
    if progress == TraceProgress::CutOff {
        notes.push("the recorder did not finish; later events are missing".to_owned());
    }
    if progress == TraceProgress::Finished && !model.trace_model.shutdowns().is_empty() {
        notes.push(
            "the program dropped waiting coroutines when it ended: --stuck shows them".to_owned(),
        );
    }
    let behind = model.trace_model.incomplete_tail();
    if Nanos(1_000_000_000) <= behind {
        notes.push(format!(
            "the recorder is {} behind",
            units::duration(behind)
        ));
    }
    notes.into_iter().map(|note| text::escape(&note)).collect()
}

/// A rate with two or three digits.
pub fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        ..0.05 => "<0.1".to_owned(),
        ..9.95 => format!("{per_second:.1}"),
        _ => whole(per_second),
    }
}

/// A rate without decimals. A rate that is too large is shown as the largest number.
fn whole(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    units::grouped(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_few_digits() {
        let texts = [0.0, 0.01, 0.5, 9.94, 9.96, 123.4, 1e6, f64::INFINITY].map(rate);
        let expected = ["0", "<0.1", "0.5", "9.9", "10", "123", "1 000 000"];
        assert_eq!(texts[..7], expected);
        assert_eq!(texts[7], units::grouped(u64::MAX));
    }
}
