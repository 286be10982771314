//! The activities and marks of a shown coroutine, collected event by event.

use ctp_trace::record::{Close, Event, EventKind, Nanos, SiteId, ThreadEvent, Wake, WakeCall};
use ctp_trace::verdict::Verdict;

use super::marks::{MarkAuthor, Marks, RowMark};
use super::population::RowCandidate;
use super::track::{Piece, PieceKind, PieceTrack};
use crate::time_scale::{Scale, UNITS};

/// The maximum number of pieces of all rows together, zoomed out and zoomed in, and of a single
/// row.
const FAR: usize = 24_000;
const NEAR: usize = 72_000;
const MAX_PIECES: usize = 3_000;

/// The maximum number of marks of a kind, of all rows together and of a single row.
const MARKS: usize = 30_000;
const MAX_MARKS: usize = 1_500;

/// Two pixels of the picture. Shorter pieces are shaded, and drawn only when zoomed in.
const TWO_PIXELS: u64 = UNITS / 450;

/// The row of a coroutine.
#[derive(Clone, Debug)]
pub struct Row {
    /// The coroutine.
    pub member: RowCandidate,
    /// The activities for the zoomed-out picture.
    pub far: PieceTrack,
    /// The activities for the zoomed-in picture.
    pub near: PieceTrack,
    /// The last activity, if the coroutine never ended.
    pub open: Option<Piece>,
    /// When the coroutine was woken.
    pub wakes: Marks,
    /// When a resource that the coroutine waited for was closed.
    pub closes: Marks,
    /// When the coroutine continued on another thread.
    pub moves: Marks,
    /// How often the coroutine continued on another thread.
    pub moved: u64,
    /// The number of events seen, and the number of events known to be missing between them.
    pub events: (u64, u64),
    /// The coroutine's wake word at the end.
    pub wake: Option<Wake>,
    /// The latest recorded `wake()` call: the wake count with this call, and the caller.
    pub called: Option<(u32, MarkAuthor)>,
    /// The closing of the resource that the coroutine waits for at the end.
    pub lost: Option<RowMark>,
    last: Option<Event>,
    /// How many events precede the first event that a flight recorder kept.
    earlier: u64,
    thread: Option<u64>,
}

impl Row {
    /// Creates an empty row for a coroutine. `rows` is the number of all rows, which share the limits.
    pub fn new(member: &RowCandidate, scale: &Scale, rows: usize) -> Self {
        let (length, room) = (scale.length(), |all: usize| (all / rows).min(MAX_PIECES));
        let marks = (MARKS / rows).min(MAX_MARKS);
        let two_pixels = u128::from(length) * u128::from(TWO_PIXELS) / u128::from(UNITS);
        let two_pixels = u64::try_from(two_pixels).unwrap_or(u64::MAX);
        Row {
            member: member.clone(),
            far: PieceTrack::new(length, two_pixels, room(FAR)),
            near: PieceTrack::new(length, 0, room(NEAR)),
            open: None,
            wakes: Marks::new(marks),
            closes: Marks::new(marks),
            moves: Marks::new(marks),
            moved: 0,
            events: (0, 0),
            wake: None,
            called: None,
            lost: None,
            last: None,
            earlier: 0,
            thread: None,
        }
    }

    /// Whether pieces or marks were merged even for the zoomed-in picture.
    pub fn is_merged(&self) -> bool {
        let mut pieces = self.near.pieces().iter();
        self.wakes.is_thinned()
            || self.closes.is_thinned()
            || pieces.any(|piece| matches!(piece.activity, PieceKind::Mixed { .. }))
    }

    /// The activities for the zoomed-out picture, and for the zoomed-in picture if that shows more.
    pub fn tracks(&self) -> impl Iterator<Item = &PieceTrack> {
        let has_more = self.far.pieces() != self.near.pieces();
        [&self.far]
            .into_iter()
            .chain(has_more.then_some(&self.near))
    }

    /// When the coroutine ended, if in the shown time.
    pub fn death(&self, scale: &Scale) -> Option<Nanos> {
        let over = self.member.verdict == Verdict::Over && scale.has(self.member.until);
        over.then_some(self.member.until)
    }

    /// Adds the next event of the coroutine.
    pub fn add_event(&mut self, event: &Event, scale: &Scale) {
        self.events.0 += 1;
        if let Some(gap) = event.gap_after(self.last.as_ref(), self.earlier) {
            self.events.1 = self.events.1.saturating_add(gap);
            let activity = match gap {
                // The activity in between is unknown, although no event was lost.
                0 if event.after_filtered => Some(PieceKind::Lost(0)),
                // Events that a flight recorder did not keep are not shown.
                0 if self.last.is_none() && 0 < self.earlier => None,
                0 => self.activity(),
                lost => Some(PieceKind::Lost(lost)),
            };
            self.push(activity, event.at, scale);
        }
        if event.kind == EventKind::Run {
            self.mark_move(event, scale);
        }
        (self.last, self.lost) = (Some(*event), None);
    }

    fn activity(&self) -> Option<PieceKind> {
        let Some(last) = &self.last else {
            return Some(PieceKind::Born);
        };
        match last.kind {
            EventKind::Birth => Some(PieceKind::Born),
            EventKind::Run => Some(PieceKind::Runs(last.tid)),
            EventKind::Suspend => Some(PieceKind::Waits(last.site, last.wait, last.arg)),
            EventKind::Death => None,
        }
    }

    fn push(&mut self, activity: Option<PieceKind>, to: Nanos, scale: &Scale) {
        if let Some(piece) = self.piece(activity, to, scale) {
            self.far.push(piece);
            self.near.push(piece);
        }
    }

    fn piece(&self, activity: Option<PieceKind>, to: Nanos, scale: &Scale) -> Option<Piece> {
        let since = self.last.map_or(self.member.born, |last| last.at);
        let (from, to) = scale.clip(since, to)?;
        let activity = activity?;
        Some(Piece { from, to, activity })
    }

    fn mark_move(&mut self, event: &Event, scale: &Scale) {
        if self.thread.is_some_and(|thread| thread != event.tid) {
            self.moved += 1;
            let (at, by) = (event.at, None);
            self.moves.add(RowMark { at, by }, scale, &self.near);
        }
        self.thread = Some(event.tid);
    }

    /// Sets how many events precede the first event that a flight recorder kept.
    pub fn set_earlier(&mut self, events: u64) {
        self.earlier = events;
    }

    /// Takes note of the wake word. Returns whether the word shows a new wake. A wake call that a
    /// thread recorded is already marked.
    pub fn woken(&mut self, wake: &Wake, scale: &Scale) -> bool {
        self.wake = Some(*wake);
        let reported = self.called.is_some_and(|(count, _)| count == wake.count);
        let is_new = 0 < wake.count && !reported;
        if is_new {
            let (at, by) = (wake.at, None);
            self.wakes.add(RowMark { at, by }, scale, &self.near);
        }
        is_new
    }

    /// Takes note of a recorded `wake()` call.
    pub fn called(&mut self, thread_event: &ThreadEvent, call: &WakeCall, scale: &Scale) {
        let mark = mark(thread_event, call.site);
        self.called = mark.by.map(|by| (call.count, by));
        self.wakes.add(mark, scale, &self.near);
    }

    /// Takes note of the closing of a resource. Only the first closing during a wait can be that of
    /// the awaited resource. Later the number belongs to another resource.
    pub fn closed(&mut self, thread_event: &ThreadEvent, close: &Close, scale: &Scale) {
        let is_awaited = self.last.is_some_and(|last| {
            last.kind == EventKind::Suspend
                && last.at < thread_event.at
                && close.is_of(last.wait, last.arg)
        });
        if is_awaited && self.member.process == thread_event.process && self.lost.is_none() {
            let mark = mark(thread_event, close.site);
            self.lost = Some(mark);
            self.closes.add(mark, scale, &self.near);
        }
    }

    /// Sets the open activity at the end of the trace. If the verdict is UNKNOWN, the activity is
    /// unknown too.
    pub fn finish(&mut self, scale: &Scale) {
        let activity = match self.member.verdict {
            Verdict::Over => None,
            Verdict::Unknown => Some(PieceKind::Lost(0)),
            _ => self.activity(),
        };
        self.open = self.piece(activity, self.member.until, scale);
    }
}

fn mark(thread_event: &ThreadEvent, site: SiteId) -> RowMark {
    let tid = thread_event.tid;
    RowMark {
        at: thread_event.at,
        by: Some(MarkAuthor { tid, site }),
    }
}
