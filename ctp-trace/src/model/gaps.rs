//! What a trace lacks to decide whether something is stuck. Both tools check this before they report
//! that nothing is stuck: the recorder in its closing line, the reporter when its exit status is used as
//! a test.

use std::fmt;

use super::unclear_waits::UnclearWaits;
use super::{Coroutine, TraceModel};
use crate::quantity::{counted, counted_as};
use crate::record::{CoroutineId, ExitReason, Nanos};
use crate::verdict::{Judgement, Verdict};

/// Missing data that may hide a stuck coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// This many coroutines found no station.
    Refused(u64),
    /// This many processes are missing, entirely or in part.
    Unrecorded(u64),
    /// A control request stopped the recording of all processes or of some.
    Stopped,
    /// A filter kept only this process: resources closed by other processes in the meantime are not
    /// recorded.
    SingleProcess(u32),
    /// This many records were invalid.
    Nonsense(u64),
    /// The trace has no end.
    NoEnd,
    /// This many parts of the trace cannot be read.
    Unreadable(u64),
    /// This many chunks have types that a later version added.
    UnknownChunks(u64),
    /// The trace has this many coroutines fewer than stated.
    AbsentCoroutines(u64),
    /// The trace has this many events fewer than stated.
    AbsentEvents(u64),
    /// The trace has this many records fewer than stated.
    AbsentRecords(u64),
    /// The trace states this many lost events that belong to no known coroutine.
    UnattributedLosses(u64),
    /// A memory image does not say when it was taken, and has coroutines that have not ended.
    Image,
    /// This many coroutines have been in their state for longer than the threshold, and records that could
    /// explain their state are missing.
    Lost(u64),
    /// This many coroutines have waited for longer than the threshold at sites that stand for all waits of
    /// a function, so that a wait which never ends may look usual.
    SharedSites(u64),
    /// This many coroutines have waited for far longer than usual in library functions that several kinds of
    /// waits share, so that it is not known whether they wait for work or for what others hold.
    UnclearWaits(u64),
}

impl TraceModel {
    /// The gaps of the trace. `judged` has the judgements of all coroutines that have not ended.
    /// `threshold` is how long a state must last before it gets a verdict.
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
        gaps.extend(self.gaps_of_waits(judged, threshold));
        gaps
    }

    /// The waits about which the trace says too little: those that have only been compared with other waits of
    /// the same function, whatever those were for, and those of which it is not clear what they are for.
    pub fn gaps_of_waits(
        &self,
        judged: impl IntoIterator<Item = (CoroutineId, Judgement)>,
        threshold: Nanos,
    ) -> Vec<Gap> {
        let unclear = UnclearWaits::new(self, threshold);
        let (mut at_shared_sites, mut hiding) = (0, 0);
        for (id, judgement) in judged {
            if self.is_only_compared_at_shared_site(id, &judgement, threshold) {
                at_shared_sites += 1;
            } else if unclear.may_hide_hang(id, &judgement) {
                hiding += 1;
            }
        }
        let gaps = [
            some(at_shared_sites, Gap::SharedSites),
            some(hiding, Gap::UnclearWaits),
        ];
        gaps.into_iter().flatten().collect()
    }

    fn is_only_compared_at_shared_site(
        &self,
        id: CoroutineId,
        judgement: &Judgement,
        threshold: Nanos,
    ) -> bool {
        judgement.verdict == Verdict::Waiting
            && judgement.reason.is_by_length()
            && threshold <= judgement.age
            && self
                .get(id)
                .is_some_and(|coroutine| self.waits_at_shared_site(coroutine))
    }

    /// Gaps of the trace as a whole, which may hide any coroutine.
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

    /// Gaps of the file. Three counts hide no coroutine and are no gap: sites and names without room
    /// (`End::unnamed`), events of ended coroutines that a flight recorder could not attribute
    /// (`Window::unattributed`), and durations missing in totals (`left_out`).
    fn gaps_of_file(&self) -> Vec<Gap> {
        let accounts = &self.missing.accounts;
        let no_end = self.end().is_none().then_some(Gap::NoEnd);
        let mut gaps = Vec::from_iter(no_end);
        gaps.extend(some(accounts.unreadable_parts, Gap::Unreadable));
        gaps.extend(some(accounts.unknown_chunks, Gap::UnknownChunks));
        gaps.extend(self.unmatched_counts());
        gaps
    }

    /// Whether a record is missing that could explain the state of this coroutine. The record may be the
    /// close of the awaited resource, which would make the coroutine stuck. A wait for a timer lacks no
    /// such record, because timers are not closed.
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

    /// Whether a record of this coroutine is missing on which verdicts rest: its counts, or its wake word
    /// if other records mention wakes. A complete trace has both. A flight recorder leaves out the wake
    /// word of a coroutine that continued after the end of the window.
    fn lacks_state_of(&self, coroutine: &Coroutine) -> bool {
        let is_woken = coroutine.wakes.call.is_some()
            || coroutine.last.is_some_and(|last| last.wake_seen != 0);
        let has_no_wake_word =
            coroutine.wakes.word.is_none() && is_woken && self.window().is_none();
        self.end().is_some() && (!coroutine.account.is_closed() || has_no_wake_word)
    }
}

/// The gap with this count, or `None` if the count is 0.
fn some(count: u64, gap: fn(u64) -> Gap) -> Option<Gap> {
    (0 < count).then(|| gap(count))
}

/// The sentence that it is uncertain whether nothing is stuck, with the reasons; `None` without gaps.
pub fn caveat<T: fmt::Display>(gaps: &[T]) -> Option<String> {
    let reasons: Vec<String> = gaps.iter().map(T::to_string).collect();
    (!reasons.is_empty()).then(|| format!("this is uncertain: {}", reasons.join("; ")))
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
                write!(out, "only events of process {pid} were kept for a while")
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
                write!(out, "records are missing that could explain the state of {coroutines}")
            }
            Gap::SharedSites(count) => write_shared_sites(count, out),
            Gap::UnclearWaits(count) => write_unclear_waits(count, out),
        }
    }
}

fn write_shared_sites(count: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let wait = counted_as(count, "coroutine waits", "coroutines wait");
    write!(
        out,
        "{wait} in functions whose awaits all look like one; build the program with \
         RUSTFLAGS=\"-C force-frame-pointers=yes\""
    )
}

fn write_unclear_waits(count: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let have = counted_as(count, "coroutine has", "coroutines have");
    write!(
        out,
        "{have} waited far longer than usual in a library function that locks, channels and other waits \
         share; build the program with RUSTFLAGS=\"-C force-frame-pointers=yes\""
    )
}
