//! Messages about a snapshot that was taken while the recording continues.

use std::path::Path;
use std::time::Duration;

use super::file::WrittenSnapshot;
use crate::cli::words::{grouped, shell_word, shown, size};
use crate::control::wire::Answer;
use crate::error::TraceError;

/// The lines on standard error. `threshold` is the option for the suggested report, if the report's default threshold is
/// too high to show the snapshot's stuck coroutines as stuck.
pub fn lines(
    path: &Path,
    written: &Result<WrittenSnapshot, TraceError>,
    threshold: Option<Duration>,
) -> String {
    let threshold = threshold.map(|after| format!(" --threshold {}ms", after.as_millis()));
    match written {
        Ok(snapshot) => format!(
            "ctp-record: snapshot: {}\nctp-record: look at it: ctp-report --stuck{} -i {}\n",
            in_words(path, snapshot),
            threshold.unwrap_or_default(),
            shell_word(path)
        ),
        Err(error) => format!("ctp-record: no snapshot: {error}\n"),
    }
}

/// The answer to the client that requested the snapshot.
pub fn answer(path: &Path, written: &Result<WrittenSnapshot, TraceError>) -> Answer {
    let snapshot = written.as_ref().map_err(TraceError::to_string)?;
    let summary = &snapshot.summary;
    let facts = [
        ("snapshot", path.display().to_string()),
        ("bytes", bytes(snapshot).to_string()),
        ("since_ns", summary.since.0.to_string()),
        ("at_ns", summary.end.at.0.to_string()),
        ("events", summary.end.events.to_string()),
        ("earlier", summary.totals.summed_up.to_string()),
        ("lost", summary.end.lost.to_string()),
        ("coroutines", summary.end.coroutines.to_string()),
    ];
    Ok(facts.map(|(name, fact)| (name.to_owned(), fact)).into())
}

fn in_words(path: &Path, snapshot: &WrittenSnapshot) -> String {
    let summary = &snapshot.summary;
    let length = summary.since.until(summary.end.at);
    format!(
        "{} events of the last {:.1} s, {} earlier in totals only, {} lost; wrote {} ({})",
        grouped(summary.end.events),
        length.0 as f64 / 1e9,
        grouped(summary.totals.summed_up),
        grouped(summary.end.lost),
        shown(path),
        size(bytes(snapshot))
    )
}

fn bytes(snapshot: &WrittenSnapshot) -> u64 {
    snapshot
        .file
        .metadata()
        .map_or(0, |metadata| metadata.len())
}
