//! The end of a flight recorder's recording: the last snapshot, and the closing lines.

use ctp_trace::record::{End, Ending, Nanos};

use crate::closing::{Closing, write};
use crate::config::{Config, Launch, Verbosity};
use crate::error::TraceError;
use crate::flight::Snapshot;
use crate::session::Session;
use crate::{hindsight, recording};

/// Takes the last snapshot, if there is to be one, and says what came of it all.
///
/// # Errors
/// It could not be written.
pub fn land(
    config: &Config,
    launch: &Launch,
    session: &mut Session<'_>,
    ending: Ending,
    at: Nanos,
) -> Result<(), TraceError> {
    let written = session.last_snapshot(ending, at);
    if let Some(recorder) = session.output.flight() {
        recorder.wait();
    }
    if config.verbosity > Verbosity::Quiet {
        let taken = written.as_ref().ok().and_then(Option::as_ref);
        let end = taken.map_or(unwritten_end(session, ending, at), |it| it.composed.end);
        let closing = recording::closing_of(config, launch, session, end);
        let closing = match (&written, taken) {
            (_, Some(snapshot)) => of_snapshot(closing, snapshot),
            (Ok(_), None) => Closing {
                unwritten: Some(none_at_this_end(session.so_far.snapshots)),
                ..closing
            },
            (Err(_), None) => Closing {
                unwritten: Some("the last snapshot could not be written".to_owned()),
                ..closing
            },
        };
        write::say(&closing, config.verbosity);
    }
    written.map(drop)
}

/// Each of those taken before was told of when it was written, or could not be.
fn none_at_this_end(before: u32) -> String {
    let those_before = match before {
        0 => ", and none was asked for before",
        _ => "; those taken before are named above",
    };
    format!("no snapshot at this end, as --snapshot-on says{those_before}")
}

fn of_snapshot<'c>(closing: Closing<'c>, snapshot: &Snapshot) -> Closing<'c> {
    let composed = &snapshot.composed;
    let metadata = snapshot.file.metadata().ok();
    Closing {
        bytes: metadata.map(|metadata| metadata.len()),
        outlook: hindsight::outlook(&snapshot.file, composed.end.events),
        lanes: (composed.lanes, 0),
        damaged_lanes: composed.damaged_lanes,
        doubtful: composed.doubtful,
        filtered: composed.filtered,
        summed_up: composed.earlier,
        ended_before: composed.ended_before,
        window: Some(composed.since.until(composed.end.at)),
        ..closing
    }
}

fn unwritten_end(session: &Session<'_>, how: Ending, at: Nanos) -> End {
    End {
        at,
        how,
        refused: session.memories.counters().refused.into(),
        coroutines: session.memories.totals().coroutines.into(),
        ..End::default()
    }
}
