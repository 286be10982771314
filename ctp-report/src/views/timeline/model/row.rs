//! What one of those that are shown did, gathered event by event.

use ctp_trace::record::{Close, Event, EventKind, Nanos, SiteId, ThreadEvent, Wake, WakeCall};
use ctp_trace::verdict::Verdict;

use super::marks::{By, Mark, Marks};
use super::population::Member;
use super::track::{Activity, Piece, Track};
use crate::time_scale::{Scale, UNITS};

/// Pieces that all rows together may have, from afar and from near by, and one of them.
const FAR: usize = 24_000;
const NEAR: usize = 72_000;
const MAX_PIECES: usize = 3_000;

/// Marks of one sort that all rows together may have.
const MARKS: usize = 30_000;
const MAX_MARKS: usize = 1_500;

/// Two pixels of the picture: what is shorter is shaded there, and drawn only when zoomed.
const TWO_PIXELS: u64 = UNITS / 450;

/// What is drawn of one coroutine.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who it is.
    pub member: Member,
    /// What it did, as it can be seen from afar.
    pub far: Track,
    /// What it did, as seen from near by.
    pub near: Track,
    /// What it did last, if it never ended.
    pub open: Option<Piece>,
    /// When it was woken.
    pub wakes: Marks,
    /// When what it waited for was closed.
    pub closes: Marks,
    /// When it went on on another thread.
    pub moves: Marks,
    /// How often it went on on another thread.
    pub moved: u64,
    /// Events of it that were seen, and those known to be missing between them.
    pub events: (u64, u64),
    /// Its wake word at the end.
    pub wake: Option<Wake>,
    /// The latest call of `wake()` that a thread told of: the count of wakes with it, and who.
    pub called: Option<(u32, By)>,
    /// When and by whom what it waits for at the end was closed.
    pub lost: Option<Mark>,
    last: Option<Event>,
    /// Events before the first that a flight recorder kept.
    earlier: u64,
    thread: Option<u64>,
}

impl Row {
    /// Nothing yet of this one, of so many rows.
    pub fn new(member: &Member, scale: &Scale, rows: usize) -> Self {
        let (length, room) = (scale.length(), |all: usize| (all / rows).min(MAX_PIECES));
        let marks = (MARKS / rows).min(MAX_MARKS);
        let two_pixels = u128::from(length) * u128::from(TWO_PIXELS) / u128::from(UNITS);
        let two_pixels = u64::try_from(two_pixels).unwrap_or(u64::MAX);
        Row {
            member: member.clone(),
            far: Track::new(length, two_pixels, room(FAR)),
            near: Track::new(length, 0, room(NEAR)),
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

    /// Whether there is more to show than there is room for.
    pub fn is_merged(&self) -> bool {
        let merged = |piece: &Piece| matches!(piece.activity, Activity::Mixed { .. });
        let thinned = self.wakes.is_thinned() || self.closes.is_thinned();
        thinned || self.near.pieces().iter().any(merged)
    }

    /// What it did as seen from afar, and as seen from near by if that is more.
    pub fn tracks(&self) -> impl Iterator<Item = &Track> {
        let has_more = self.far.pieces() != self.near.pieces();
        [&self.far]
            .into_iter()
            .chain(has_more.then_some(&self.near))
    }

    /// When it ended, if it did at a time that is shown.
    pub fn death(&self, scale: &Scale) -> Option<Nanos> {
        let over = self.member.verdict == Verdict::Over && scale.has(self.member.until);
        over.then_some(self.member.until)
    }

    /// Goes one event on.
    pub fn event(&mut self, event: &Event, scale: &Scale) {
        let expected = self
            .last
            .map_or(self.earlier, |last| last.n.saturating_add(1));
        let expected = expected.saturating_add(event.after_filtered.into());
        self.events.0 += 1;
        if let Some(gap) = event.n.checked_sub(expected) {
            self.events.1 = self.events.1.saturating_add(gap);
            let activity = match gap {
                // What it did in between is not known, though nothing is lost.
                0 if event.after_filtered => Some(Activity::Lost(0)),
                // What a flight recorder did not keep is not shown.
                0 if self.last.is_none() && 0 < self.earlier => None,
                0 => self.activity(),
                lost => Some(Activity::Lost(lost)),
            };
            self.push(activity, event.at, scale);
        }
        if event.kind == EventKind::Run {
            self.runs_on(event, scale);
        }
        (self.last, self.lost) = (Some(*event), None);
    }

    fn activity(&self) -> Option<Activity> {
        let Some(last) = &self.last else {
            return Some(Activity::Born);
        };
        match last.kind {
            EventKind::Birth => Some(Activity::Born),
            EventKind::Run => Some(Activity::Runs(last.tid)),
            EventKind::Suspend => Some(Activity::Waits(last.site, last.wait, last.arg)),
            EventKind::Death => None,
        }
    }

    fn push(&mut self, activity: Option<Activity>, to: Nanos, scale: &Scale) {
        if let Some(piece) = self.piece(activity, to, scale) {
            self.far.push(piece);
            self.near.push(piece);
        }
    }

    fn piece(&self, activity: Option<Activity>, to: Nanos, scale: &Scale) -> Option<Piece> {
        let since = self.last.map_or(self.member.born, |last| last.at);
        let (from, to) = scale.clip(since, to)?;
        let activity = activity?;
        Some(Piece { from, to, activity })
    }

    fn runs_on(&mut self, event: &Event, scale: &Scale) {
        if self.thread.is_some_and(|thread| thread != event.tid) {
            self.moved += 1;
            let (at, by) = (event.at, None);
            self.moves.add(Mark { at, by }, scale, &self.near);
        }
        self.thread = Some(event.tid);
    }

    /// So many events came before the first that a flight recorder kept.
    pub fn begins_after(&mut self, events: u64) {
        self.earlier = events;
    }

    /// Takes note of its wake word, and says whether that tells of a wake: one that its thread told
    /// of is marked already.
    pub fn woken(&mut self, wake: &Wake, scale: &Scale) -> bool {
        self.wake = Some(*wake);
        let reported = self.called.is_some_and(|(count, _)| count == wake.count);
        let is_new = 0 < wake.count && !reported;
        if is_new {
            let (at, by) = (wake.at, None);
            self.wakes.add(Mark { at, by }, scale, &self.near);
        }
        is_new
    }

    /// Takes note of a call of `wake()`.
    pub fn called(&mut self, thread_event: &ThreadEvent, call: &WakeCall, scale: &Scale) {
        let mark = mark(thread_event, call.site);
        self.called = mark.by.map(|by| (call.count, by));
        self.wakes.add(mark, scale, &self.near);
    }

    /// Takes note that a resource is gone. Only the first time since it waits can it be what it
    /// waits for: later the number is another's.
    pub fn closed(&mut self, thread_event: &ThreadEvent, close: &Close, scale: &Scale) {
        let waits = |last: &Event| {
            let since = last.kind == EventKind::Suspend && last.at < thread_event.at;
            since && close.is_of(last.wait, last.arg)
        };
        let is_ours =
            self.member.process == thread_event.process && self.last.as_ref().is_some_and(waits);
        if is_ours && self.lost.is_none() {
            let mark = mark(thread_event, close.site);
            self.lost = Some(mark);
            self.closes.add(mark, scale, &self.near);
        }
    }

    /// What goes on at the end. What came after a loss is not known, whatever came before.
    pub fn close(&mut self, scale: &Scale) {
        let activity = match self.member.verdict {
            Verdict::Over => None,
            Verdict::Unknown => Some(Activity::Lost(0)),
            _ => self.activity(),
        };
        self.open = self.piece(activity, self.member.until, scale);
    }
}

fn mark(thread_event: &ThreadEvent, site: SiteId) -> Mark {
    let tid = thread_event.tid;
    Mark {
        at: thread_event.at,
        by: Some(By { tid, site }),
    }
}
