//! What looks stuck or busy, by the trace that was just written: the same records and the same rule
//! as in the report, so that both always agree.
//!
//! It is read back rather than counted along the way, because a model of every coroutine would
//! cost the recorder time and memory while the program runs.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _};

use ctp_trace::trace_model::{Gap, gaps};
use ctp_trace::verdict::{THRESHOLD, Verdict};
use ctp_trace::{Reader, TraceModel};

use crate::cli::words::grouped;

/// A larger trace is left to the report, so that the prompt comes back soon.
const MOST_BYTES: u64 = 32 << 20;

/// So is one of more events, which may take little room.
const MOST_EVENTS: u64 = 10_000_000;

/// What the report will say of how many coroutines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StuckSummary {
    /// They look stuck.
    pub stuck: usize,
    /// They keep a thread.
    pub busy: usize,
    /// What is missing that would tell whether others are stuck.
    pub gaps: Vec<Gap>,
}

/// What is to be said of a trace of so many events; nothing if that is not worth the time, or it
/// cannot be read back (a pipe).
pub fn stuck_summary(mut trace: &File, events: u64) -> Option<StuckSummary> {
    let metadata = trace.metadata().ok()?;
    let is_large = MOST_BYTES < metadata.len() || MOST_EVENTS < events;
    if !metadata.is_file() || is_large {
        return None;
    }
    let mut bytes = Vec::new();
    trace.rewind().ok()?;
    trace.read_to_end(&mut bytes).ok()?;
    let mut trace_model = TraceModel::new();
    let mut reader = Reader::new(&bytes).ok()?;
    for record in reader.by_ref() {
        match record {
            Ok(record) => drop(trace_model.consume(&record)),
            Err(_) => trace_model.damaged(),
        }
    }
    trace_model.reconcile(&reader);
    let all = trace_model.judge(THRESHOLD);
    let of = |is: fn(Verdict) -> bool| {
        all.iter()
            .filter(|(_, judgement)| is(judgement.verdict))
            .count()
    };
    Some(StuckSummary {
        stuck: of(Verdict::is_stuck),
        busy: of(|verdict| verdict == Verdict::Busy),
        gaps: trace_model.gaps(all, THRESHOLD),
    })
}

impl fmt::Display for StuckSummary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stuck {
            0 => out.write_str("nothing looks stuck")?,
            1 => out.write_str("1 coroutine looks stuck")?,
            many => write!(out, "{} coroutines look stuck", grouped(many as u64))?,
        }
        match (self.stuck, self.busy) {
            (_, 0) => {}
            (0, 1) => out.write_str(", but 1 coroutine keeps its thread")?,
            (_, 1) => out.write_str(", 1 keeps its thread")?,
            (0, many) => write!(
                out,
                ", but {} coroutines keep their threads",
                grouped(many as u64)
            )?,
            (_, many) => write!(out, ", {} keep their threads", grouped(many as u64))?,
        }
        match gaps::caveat(&self.gaps).filter(|_| self.stuck == 0) {
            Some(caveat) if self.busy == 0 => write!(out, ", but {caveat}"),
            Some(caveat) => write!(out, "; {caveat}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctp_trace::Writer;
    use ctp_trace::record::{End, Start};

    use super::*;

    // CTP-21
    #[test]
    fn those_that_keep_a_thread_are_told_after_those_that_are_stuck() {
        let message = |stuck, busy| {
            let gaps = Vec::new();
            StuckSummary { stuck, busy, gaps }.to_string()
        };
        let none = "nothing looks stuck, but 1 coroutine keeps its thread";
        assert_eq!(message(0, 1), none);
        let none = "nothing looks stuck, but 2 coroutines keep their threads";
        assert_eq!(message(0, 2), none);
        assert_eq!(message(1, 0), "1 coroutine looks stuck");
        let many = "1 047 coroutines look stuck, 2 keep their threads";
        assert_eq!(message(1_047, 2), many);
    }

    // CT-24
    #[test]
    fn nothing_is_said_to_be_fine_where_something_is_missing() {
        let message = |stuck, busy| {
            let gaps = vec![Gap::Unrecorded(1), Gap::Stopped];
            StuckSummary { stuck, busy, gaps }.to_string()
        };
        let missing = "whether that is so cannot be told: 1 process of the program is not in this \
                       trace, or only in part; recording was stopped for a while";
        assert_eq!(message(0, 0), format!("nothing looks stuck, but {missing}"));
        let busy = "nothing looks stuck, but 1 coroutine keeps its thread";
        assert_eq!(message(0, 1), format!("{busy}; {missing}"));
        assert_eq!(message(1, 0), "1 coroutine looks stuck");
    }

    // CT-24
    #[test]
    fn a_trace_that_lacks_events_is_in_doubt() {
        let file = tempfile::tempfile().expect("can be made");
        let end = End {
            events: 9,
            ..End::default()
        };
        let writer = Writer::new(&file, &Start::default()).expect("can be written");
        writer.finish(&end).expect("can be written");
        let message = stuck_summary(&file, 9).expect("it is a file").to_string();
        let caveat = "nothing looks stuck, but whether that is so cannot be told: 9 events that the \
                     trace counts are not in it";
        assert_eq!(message, caveat);
    }
}
