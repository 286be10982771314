//! What a trace lacks that would tell whether something is stuck. Both tools ask this before they say
//! that nothing is: the recorder in its closing line, the reporter where it is used as a gate.

use std::fmt;

use super::{Coroutine, TraceModel};
use crate::quantity::{counted, counted_as};
use crate::record::{CoroutineId, ExitReason, Nanos};
use crate::verdict::{Judgement, Verdict};

/// Something is missing, so that a stuck coroutine may not be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// So many coroutines found no station.
    Refused(u64),
    /// So many processes are missing, or a part of what they did.
    Unrecorded(u64),
    /// A control request stopped the recording, of all processes or of some.
    Stopped,
    /// A filter kept one process only: nothing is told of what the others closed meanwhile.
    SingleProcess(u32),
    /// So many records made no sense.
    Nonsense(u64),
    /// The trace has no end.
    NoEnd,
    /// So many parts of the trace cannot be read.
    Unreadable(u64),
    /// So many chunks are of types that a later version added.
    UnknownChunks(u64),
    /// The trace has so many coroutines fewer than it states.
    AbsentCoroutines(u64),
    /// The trace has so many events fewer than it states.
    AbsentEvents(u64),
    /// The trace has so many records fewer than it states.
    AbsentRecords(u64),
    /// The trace states so many lost events that no coroutine in it had.
    UnattributedLosses(u64),
    /// A memory image does not say when it was taken, and coroutines in it were not over.
    Image,
    /// So many coroutines have been as they are for long, and records that would tell why are missing.
    Lost(u64),
}

impl TraceModel {
    /// What is missing, if anything is. `judged` is what the rule says of the coroutines that are not
    /// over; `threshold` is how long something must last to be worth a word.
    pub fn gaps(
        &self,
        judged: impl IntoIterator<Item = (CoroutineId, Judgement)>,
        threshold: Nanos,
    ) -> Vec<Gap> {
        let judged: Vec<_> = judged.into_iter().collect();
        let is_image = self.end().is_some_and(|end| end.how == ExitReason::Image);
        let of_image = (is_image && !judged.is_empty()).then_some(Gap::Image);
        let lost = judged
            .iter()
            .filter(|(id, judgement)| self.lacks_records_of(*id, judgement, threshold))
            .count() as u64;
        let mut gaps = self.gaps_of_all();
        gaps.extend(of_image);
        gaps.extend(some(lost, Gap::Lost));
        gaps
    }

    /// What concerns the trace as a whole: any coroutine may be stuck there.
    fn gaps_of_all(&self) -> Vec<Gap> {
        let mut gaps = self.gaps_of_file();
        let end = self.end().copied().unwrap_or_default();
        gaps.extend(some(end.refused, Gap::Refused));
        gaps.extend(some(end.unrecorded, Gap::Unrecorded));
        let mut changes = self.filtering().changes.iter();
        let is_stopped = changes.clone().any(|change| change.stopped);
        gaps.extend(is_stopped.then_some(Gap::Stopped));
        let single_process = changes.find(|change| change.only_process != 0);
        gaps.extend(single_process.map(|change| Gap::SingleProcess(change.only_process)));
        gaps.extend(some(end.quarantined, Gap::Nonsense));
        gaps
    }

    /// What is missing of the file. Three counts hide no coroutine and are no gap: sites and names
    /// without room (`End::unnamed`), events of ended coroutines that a flight recorder could not
    /// attribute (`Window::unattributed`), and durations that are in no sum (`left_out`).
    fn gaps_of_file(&self) -> Vec<Gap> {
        let accounts = &self.missing.accounts;
        let no_end = self.end().is_none().then_some(Gap::NoEnd);
        let mut gaps = Vec::from_iter(no_end);
        gaps.extend(some(accounts.unreadable_parts, Gap::Unreadable));
        gaps.extend(some(accounts.unknown_chunks, Gap::UnknownChunks));
        gaps.extend(self.unmatched_counts());
        gaps
    }

    /// Is a record missing that would tell more of this coroutine? It may be that of a closing, after which
    /// one that waits would be stuck. A timer is not closed.
    fn lacks_records_of(&self, id: CoroutineId, judgement: &Judgement, threshold: Nanos) -> bool {
        let Some(coroutine) = self.get(id) else {
            return false;
        };
        let (_, since) = coroutine.state();
        if since.until(self.end_of(coroutine.process)) < threshold {
            return false;
        }
        match judgement.verdict {
            Verdict::Unknown => true,
            Verdict::Waiting | Verdict::Busy if self.lacks_state_of(coroutine) => true,
            Verdict::Waiting if judgement.reason.describe().may_miss_closing => {
                self.missing.losses.any_since(coroutine.process, since)
            }
            _ => false,
        }
    }

    /// Is a record missing that a whole trace has of each coroutine: its account, or its wake word if
    /// others mention wakes of it? Verdicts rest on both. A flight recorder leaves out the wake word
    /// of a coroutine that went on after the end of the window.
    fn lacks_state_of(&self, coroutine: &Coroutine) -> bool {
        let is_woken = coroutine.wakes.call.is_some()
            || coroutine.last.is_some_and(|last| last.wake_seen != 0);
        let has_no_wake_word =
            coroutine.wakes.word.is_none() && is_woken && self.window().is_none();
        self.end().is_some() && (!coroutine.account.is_closed() || has_no_wake_word)
    }
}

/// A gap of so many, unless there are none.
fn some(count: u64, gap: fn(u64) -> Gap) -> Option<Gap> {
    (0 < count).then(|| gap(count))
}

/// That it cannot be told whether nothing is stuck, and why; nothing if there is no reason.
pub fn caveat<T: fmt::Display>(gaps: &[T]) -> Option<String> {
    let reasons: Vec<String> = gaps.iter().map(T::to_string).collect();
    (!reasons.is_empty())
        .then(|| format!("whether that is so cannot be told: {}", reasons.join("; ")))
}

impl fmt::Display for Gap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Gap::Refused(count) => {
                let coroutines = counted(count, "coroutine");
                write!(out, "{coroutines} found no station and were not recorded")
            }
            Gap::Unrecorded(count) => {
                let are = counted_as(count, "process of the program is", "processes of the program are");
                write!(out, "{are} not in this trace, or only in part")
            }
            Gap::Stopped => out.write_str("recording was stopped for a while"),
            Gap::SingleProcess(pid) => {
                write!(out, "of other processes than {pid} nothing was kept for a while")
            }
            Gap::Nonsense(count) => {
                let records = counted(count, "record");
                write!(out, "{records} made no sense and were left out")
            }
            Gap::NoEnd => out.write_str("the trace is cut off"),
            Gap::Unreadable(count) => {
                let parts = counted(count, "part");
                write!(out, "{parts} of the trace cannot be read")
            }
            Gap::UnknownChunks(count) => {
                let parts = counted_as(count, "part of the trace is", "parts of the trace are");
                write!(out, "{parts} of a later version and cannot be understood")
            }
            Gap::AbsentCoroutines(count) => {
                let are = counted_as(count, "coroutine that the trace counts is", "coroutines that the trace counts are");
                write!(out, "{are} not in it")
            }
            Gap::AbsentEvents(count) => {
                let are = counted_as(count, "event that the trace counts is", "events that the trace counts are");
                write!(out, "{are} not in it")
            }
            Gap::AbsentRecords(count) => {
                let are = counted_as(count, "record that the trace counts is", "records that the trace counts are");
                write!(out, "{are} not in it")
            }
            Gap::UnattributedLosses(count) => {
                let events = counted_as(count, "lost event belongs", "lost events belong");
                write!(out, "{events} to no coroutine in the trace")
            }
            Gap::Image => out.write_str(
                "an image does not say when it was taken, so how long its coroutines have waited is \
                 not known",
            ),
            Gap::Lost(count) => {
                let coroutines = counted(count, "coroutine");
                write!(out, "of {coroutines} records are missing that would tell")
            }
        }
    }
}
