//! What is said of a snapshot that was taken while the recording goes on.

use std::path::Path;
use std::time::Duration;

use super::file::Snapshot;
use crate::cli::words::{grouped, shell_word, shown, size};
use crate::control::wire::Answer;
use crate::error::TraceError;

/// The lines on stderr; with `threshold` for a snapshot that is taken of what the report would still
/// take for young.
pub fn sentence(
    path: &Path,
    written: &Result<Snapshot, TraceError>,
    threshold: Option<Duration>,
) -> String {
    let threshold = threshold.map(|it| format!(" --threshold {}ms", it.as_millis()));
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

/// What the one who asked is told.
pub fn answer(path: &Path, written: &Result<Snapshot, TraceError>) -> Answer {
    let snapshot = written.as_ref().map_err(TraceError::to_string)?;
    let composed = &snapshot.composed;
    let facts = [
        ("snapshot", path.display().to_string()),
        ("bytes", bytes(snapshot).to_string()),
        ("since_ns", composed.since.0.to_string()),
        ("at_ns", composed.end.at.0.to_string()),
        ("events", composed.end.events.to_string()),
        ("earlier", composed.totals.summed_up.to_string()),
        ("lost", composed.end.lost.to_string()),
        ("coroutines", composed.end.coroutines.to_string()),
    ];
    Ok(facts.map(|(name, fact)| (name.to_owned(), fact)).into())
}

fn in_words(path: &Path, snapshot: &Snapshot) -> String {
    let composed = &snapshot.composed;
    let length = composed.since.until(composed.end.at);
    format!(
        "{} events of the last {:.1} s, {} earlier in totals only, {} lost; wrote {} ({})",
        grouped(composed.end.events),
        length.0 as f64 / 1e9,
        grouped(composed.totals.summed_up),
        grouped(composed.end.lost),
        shown(path),
        size(bytes(snapshot))
    )
}

fn bytes(snapshot: &Snapshot) -> u64 {
    snapshot
        .file
        .metadata()
        .map_or(0, |metadata| metadata.len())
}
