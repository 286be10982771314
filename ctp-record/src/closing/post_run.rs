//! Counts the stuck and busy coroutines of the trace that was just written. Uses the same records and the same
//! rule as the report, so that both always agree.
//!
//! The trace is read back if any coroutine may be stuck. Counting while the program runs would need a model of every
//! coroutine, which costs the recorder time and memory.

use std::fmt;
use std::fs::File;

use ctp_trace::model::{Gap, gaps};
use ctp_trace::verdict::{THRESHOLD, Verdict};
use ctp_trace::{Reader, Source, TraceModel, read_file_at};

use crate::cli::words::grouped;

/// A larger trace is left to the report, so that the prompt returns soon.
const MAX_BYTES: u64 = 32 << 20;

/// A trace of more events is left to the report, too, even if its file is small.
const MAX_EVENTS: u64 = 10_000_000;

/// Counts by verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StuckSummary {
    /// Coroutines that look stuck.
    pub stuck: usize,
    /// Coroutines that block their thread.
    pub busy: usize,
    /// Missing data that may hide other stuck coroutines.
    pub gaps: Vec<Gap>,
}

/// Counts the stuck and busy coroutines of a trace of this many events. `None` if reading it back would take too
/// long or is impossible (a pipe).
pub fn read_back(trace: &File, events: u64) -> Option<StuckSummary> {
    let metadata = trace.metadata().ok()?;
    let is_large = MAX_BYTES < metadata.len() || MAX_EVENTS < events;
    if !metadata.is_file() || is_large {
        return None;
    }
    let written = WrittenTrace {
        file: trace,
        length: metadata.len(),
    };
    let mut trace_model = read(written, TraceModel::new())?;
    let shutdowns = trace_model.shutdowns();
    if !shutdowns.is_empty() {
        trace_model = read(written, TraceModel::before(shutdowns))?;
    }
    let all = trace_model.judge(THRESHOLD);
    let count = |has_verdict: fn(Verdict) -> bool| {
        all.iter()
            .filter(|(_, judgement)| has_verdict(judgement.verdict))
            .count()
    };
    Some(StuckSummary {
        stuck: count(Verdict::is_stuck),
        busy: count(|verdict| verdict == Verdict::Busy),
        gaps: trace_model.gaps(all, THRESHOLD),
    })
}

/// The file of the trace, of which one chunk at a time is in memory.
#[derive(Clone, Copy)]
struct WrittenTrace<'f> {
    file: &'f File,
    length: u64,
}

impl Source for WrittenTrace<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, room: &mut [u8]) -> usize {
        read_file_at(self.file, offset, room)
    }
}

/// Reads the trace into the model.
fn read(trace: WrittenTrace<'_>, mut trace_model: TraceModel) -> Option<TraceModel> {
    let mut reader = Reader::of(trace).ok()?;
    while let Some(chunk) = reader.next_records() {
        match chunk {
            Ok(records) => {
                for record in &records {
                    trace_model.consume(record);
                }
                reader.reuse(records);
            }
            Err(_) => trace_model.note_damage(),
        }
    }
    trace_model.finish_reading(&reader);
    Some(trace_model)
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
            (0, 1) => out.write_str(", but 1 coroutine blocks its thread")?,
            (_, 1) => out.write_str(", 1 blocks its thread")?,
            (0, many) => write!(
                out,
                ", but {} coroutines block their threads",
                grouped(many as u64)
            )?,
            (_, many) => write!(out, ", {} block their threads", grouped(many as u64))?,
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
    fn busy_coroutines_come_after_stuck_coroutines() {
        let message = |stuck, busy| {
            let gaps = Vec::new();
            StuckSummary { stuck, busy, gaps }.to_string()
        };
        let none = "nothing looks stuck, but 1 coroutine blocks its thread";
        assert_eq!(message(0, 1), none);
        let none = "nothing looks stuck, but 2 coroutines block their threads";
        assert_eq!(message(0, 2), none);
        assert_eq!(message(1, 0), "1 coroutine looks stuck");
        let many = "1 047 coroutines look stuck, 2 block their threads";
        assert_eq!(message(1_047, 2), many);
    }

    // CT-24
    #[test]
    fn missing_data_adds_a_caveat() {
        let message = |stuck, busy| {
            let gaps = vec![Gap::Unrecorded(1), Gap::Stopped];
            StuckSummary { stuck, busy, gaps }.to_string()
        };
        let missing = "this is uncertain: 1 process of the program is not in this \
                       trace, or only in part; recording was stopped for a while";
        assert_eq!(message(0, 0), format!("nothing looks stuck, but {missing}"));
        let busy = "nothing looks stuck, but 1 coroutine blocks its thread";
        assert_eq!(message(0, 1), format!("{busy}; {missing}"));
        assert_eq!(message(1, 0), "1 coroutine looks stuck");
    }

    // CT-24
    #[test]
    fn a_trace_with_missing_events_gets_a_caveat() {
        let file = tempfile::tempfile().expect("a file");
        let end = End {
            events: 9,
            ..End::default()
        };
        let writer = Writer::new(&file, &Start::default()).expect("a writable file");
        writer.finish(&end).expect("a writable file");
        let message = read_back(&file, 9).expect("a regular file").to_string();
        let caveat = "nothing looks stuck, but this is uncertain: 9 events that the \
                     trace counts are not in it";
        assert_eq!(message, caveat);
    }
}
