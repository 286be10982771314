//! The end of a flight recorder's recording: the final snapshot and the closing lines.

use ctp_trace::record::{End, ExitReason, Nanos};

use crate::cli::config::{Config, Launch, Verbosity};
use crate::cli::words::counted;
use crate::closing::{ClosingLines, SnapshotExtent, Written, finish};
use crate::error::TraceError;
use crate::flight::{SnapshotCounts, WrittenSnapshot};
use crate::session::recording;
use crate::session::{EndReason, Session};

/// Takes the final snapshot if one is due, and prints the closing lines.
///
/// # Errors
/// The snapshot could not be written, or none is due and none of the earlier snapshots could be written.
pub fn finish(
    config: &Config,
    launch: &Launch,
    session: &mut Session<'_>,
    end_reason: EndReason,
    at: Nanos,
) -> Result<(), TraceError> {
    let written = session.last_snapshot();
    let before = earlier_snapshots(session);
    if config.verbosity > Verbosity::Quiet {
        let taken = written.as_ref().ok().and_then(Option::as_ref);
        let end = taken.map_or(
            unwritten_end(session, end_reason.exit_reason(), at),
            |snapshot| snapshot.summary.end,
        );
        let mut closing = recording::closing_of(config, launch, session, end);
        let closing = match (&written, taken) {
            (_, Some(snapshot)) => {
                closing.written.is_out_of_time = end_reason.is_out_of_time();
                of_snapshot(closing, snapshot)
            }
            (Ok(_), None) => unwritten(closing, why_none(before)),
            (Err(_), None) => {
                unwritten(closing, "the last snapshot could not be written".to_owned())
            }
        };
        finish::print_closing(&closing, config.verbosity);
    }
    match written? {
        Some(_) => Ok(()),
        None => before.any(),
    }
}

/// The counts of the earlier snapshots, once all of them are written or have failed.
fn earlier_snapshots(session: &mut Session<'_>) -> SnapshotCounts {
    let recorder = session.output.flight();
    recorder.map_or(SnapshotCounts::default(), |recorder| {
        recorder.wait();
        recorder.taken()
    })
}

/// Each earlier snapshot was reported when it was written or failed.
fn why_none(before: SnapshotCounts) -> String {
    let earlier = match before {
        SnapshotCounts { requested: 0, .. } => ", and none was requested before".to_owned(),
        SnapshotCounts {
            requested,
            written: 0,
        } => format!(
            "; of {} that {} requested before, none could be written",
            counted(requested.into(), "snapshot"),
            if requested == 1 { "was" } else { "were" }
        ),
        _ => "; earlier snapshots are listed above".to_owned(),
    };
    format!("no snapshot was due at this exit (--snapshot-on){earlier}")
}

fn unwritten(mut closing: ClosingLines<'_>, why: String) -> ClosingLines<'_> {
    closing.written.unwritten = Some(why);
    closing
}

fn of_snapshot<'c>(closing: ClosingLines<'c>, snapshot: &WrittenSnapshot) -> ClosingLines<'c> {
    let assembled = &snapshot.summary;
    let metadata = snapshot.file.metadata().ok();
    ClosingLines {
        stuck_summary: closing.stuck_summary_within_time(&snapshot.file, assembled.end.events),
        written: Written {
            bytes: metadata.map(|metadata| metadata.len()),
            ..closing.written
        },
        totals: assembled.totals,
        snapshot: SnapshotExtent {
            window: Some(assembled.since.until(assembled.end.at)),
            ended_before: assembled.ended_before,
        },
        ..closing
    }
}

fn unwritten_end(session: &Session<'_>, how: ExitReason, at: Nanos) -> End {
    End {
        at,
        how,
        refused: session.regions.counters().refused.into(),
        coroutines: session.regions.totals().coroutines.into(),
        ..End::default()
    }
}
