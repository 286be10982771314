//! Turns slices, marks and arrows into track events.

use std::io;

use ctp_trace::hash::Map;
use ctp_trace::record::Nanos;
use serde_json::Value;

use crate::load::Model;
use crate::output::protobuf::Message;
use crate::views::tracks::perfetto::interned::InternTable;
use crate::views::tracks::perfetto::packets::Packets;
use crate::views::tracks::perfetto::rows::Rows;
use crate::views::tracks::sink::{
    Details, Mark, NamedCoroutine, Slice, SliceKind, Track, TrackSink, TracksOfProcess, WakeArrow,
};

/// Fields of a `TrackEvent`.
const CATEGORY_IIDS: u64 = 3;
const DEBUG_ANNOTATIONS: u64 = 4;
const TYPE: u64 = 9;
const NAME_IID: u64 = 10;
const TRACK_UUID: u64 = 11;
const NAME: u64 = 23;
const FLOW_IDS: u64 = 47;
const TERMINATING_FLOW_IDS: u64 = 48;

/// Values of `type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

/// Fields of a `DebugAnnotation`.
const DETAIL_NAME_IID: u64 = 1;
const UINT_VALUE: u64 = 3;
const STRING_VALUE: u64 = 6;
const DETAIL_NAME: u64 = 10;
const STRING_VALUE_IID: u64 = 17;

/// Writes tracks as packets.
pub struct Sink<'a> {
    model: &'a Model,
    packets: Packets<'a>,
    rows: Rows,
    texts: Texts,
    event: Message,
    /// By coroutine: an arrow that ends at its next run, and the time of the run.
    arrows: Map<Track, (u64, Nanos)>,
}

/// The texts that events refer to by number.
struct Texts {
    categories: InternTable,
    names: InternTable,
    details: InternTable,
    values: InternTable,
    /// The texts that the next packet has to define.
    interned: Message,
}

impl<'a> Sink<'a> {
    /// Creates a sink. The first packet is written already.
    pub fn new(model: &'a Model, packets: Packets<'a>) -> Self {
        Sink {
            model,
            packets,
            rows: Rows::default(),
            texts: Texts {
                categories: InternTable::of_categories(),
                names: InternTable::of_names(),
                details: InternTable::of_details(),
                values: InternTable::of_values(),
                interned: Message::default(),
            },
            event: Message::default(),
            arrows: Map::default(),
        }
    }

    /// Returns the number of written events, or the first error.
    pub fn finish(self) -> io::Result<u64> {
        self.packets.finish()
    }

    /// Begins an event on a track.
    fn begin(&mut self, kind: u64, track: Track) {
        let number = self.rows.number(track, &mut self.packets);
        self.event.clear();
        self.event.number(TYPE, kind);
        self.event.number(TRACK_UUID, number);
    }

    /// Adds category, name and further fields to the event.
    fn describe(&mut self, category: &str, name: &str, details: &Details) {
        let (texts, event) = (&mut self.texts, &mut self.event);
        if let Some(number) = texts.categories.number(category, &mut texts.interned) {
            event.number(CATEGORY_IIDS, number);
        }
        match texts.names.number(name, &mut texts.interned) {
            Some(number) => event.number(NAME_IID, number),
            None => event.text(NAME, name),
        }
        for (name, value) in details {
            event.message(DEBUG_ANNOTATIONS, &texts.detail(name, value));
        }
    }

    /// Writes the event.
    fn put(&mut self, at: Nanos) {
        self.packets.event(at, &self.event, &self.texts.interned);
        self.texts.interned.clear();
    }

    fn instant(&mut self, track: Track, category: &str, mark: &Mark<'_>) {
        self.begin(INSTANT, track);
        self.describe(category, mark.name, &mark.details);
        self.put(mark.at);
    }

    /// The arrow that ends at this slice, if any.
    fn take_arrow(&mut self, track: Track, slice: &Slice<'_>) -> Option<u64> {
        let (_, run_at) = self.arrows.get(&track)?;
        if slice.kind == SliceKind::Queued || *run_at != slice.from {
            return None;
        }
        self.arrows.remove(&track).map(|(number, _)| number)
    }

    /// Whether the slice lasts to the end of the recording, and not only to that of its process.
    fn is_open(&self, track: Track, slice: &Slice<'_>) -> bool {
        let (Track::Coroutine(process, _) | Track::Thread { process, .. }) = track;
        let trace_model = &self.model.trace_model;
        let is_last = slice.kind.is_open() && slice.to == trace_model.end_of(process);
        is_last && trace_model.ended_early(process).is_none()
    }
}

impl Texts {
    fn detail(&mut self, name: &str, value: &Value) -> Message {
        let mut detail = Message::default();
        match self.details.number(name, &mut self.interned) {
            Some(number) => detail.number(DETAIL_NAME_IID, number),
            None => detail.text(DETAIL_NAME, name),
        }
        match (value.as_str(), value.as_u64()) {
            (Some(text), _) => match self.values.number(text, &mut self.interned) {
                Some(number) => detail.number(STRING_VALUE_IID, number),
                None => detail.text(STRING_VALUE, text),
            },
            (None, Some(number)) => detail.number(UINT_VALUE, number),
            (None, None) => detail.text(STRING_VALUE, &value.to_string()),
        }
        detail
    }
}

impl TrackSink for Sink<'_> {
    fn process(&mut self, process: &TracksOfProcess) {
        self.rows.process(process, &mut self.packets);
    }

    fn coroutine(&mut self, track: Track, coroutine: &NamedCoroutine<'_>) {
        let (title, is_bad) = (coroutine.title(), coroutine.is_bad);
        self.rows
            .coroutine(track, &title, is_bad, &mut self.packets);
    }

    /// A slice that is open at the end of the recording has no end. If the coroutine is stuck, a mark says
    /// so.
    fn slice(&mut self, track: Track, slice: Slice<'_>) {
        let arrow = self.take_arrow(track, &slice);
        self.begin(SLICE_BEGIN, track);
        self.describe(slice.kind.word(), slice.name, &slice.details);
        if let Some(number) = arrow {
            self.event.fixed64(TERMINATING_FLOW_IDS, number);
        }
        self.put(slice.from);
        let is_open = self.is_open(track, &slice);
        if slice.kind == SliceKind::Stuck {
            let mark = Mark {
                name: slice.name,
                at: slice.from,
                details: slice.details,
            };
            self.instant(track, slice.kind.word(), &mark);
        }
        if !is_open {
            self.begin(SLICE_END, track);
            self.put(slice.to.max(slice.from));
        }
    }

    fn mark(&mut self, track: Track, mark: Mark<'_>) {
        self.instant(track, "mark", &mark);
    }

    fn wake(&mut self, wake: WakeArrow<'_>) {
        self.arrows.insert(wake.woken, (wake.number, wake.run_at));
        self.begin(INSTANT, wake.caller);
        self.describe("wake", wake.call.name, &wake.call.details);
        self.event.fixed64(FLOW_IDS, wake.number);
        self.put(wake.call.at);
    }
}
