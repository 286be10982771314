//! The fields of packets and of event records, from which the metadata and the encoded bytes follow.

/// A field of a packet: its name, its number of bits, and its role for readers, if it has one.
#[derive(Clone, Copy, Debug)]
pub struct PacketField {
    /// The name.
    pub name: &'static str,
    /// 8, 32 or 64.
    pub bits: u32,
    /// The role, as the specification calls it.
    pub role: Option<&'static str>,
}

const fn packet_field(name: &'static str, bits: u32, role: &'static str) -> PacketField {
    let role = Some(role);
    PacketField { name, bits, role }
}

/// The value of `magic`, as in version 1 of the format.
pub const MAGIC: u64 = 0xc1fc_1fc1;

/// The fields at the start of each packet.
pub const PACKET_HEADER: [PacketField; 2] = [
    packet_field("magic", 32, "packet-magic-number"),
    packet_field("stream_id", 32, "data-stream-id"),
];

/// The fields that follow. Lengths count bits, and include the fields before them.
pub const PACKET_CONTEXT: [PacketField; 5] = [
    packet_field("packet_size", 64, "packet-total-length"),
    packet_field("content_size", 64, "packet-content-length"),
    packet_field("timestamp_begin", 64, "default-clock-timestamp"),
    packet_field("timestamp_end", 64, "packet-end-default-clock-timestamp"),
    packet_field("packet_seq_num", 64, "packet-sequence-number"),
];

/// The fields at the start of each event record.
pub const EVENT_HEADER: [PacketField; 2] = [
    packet_field("id", 8, "event-record-class-id"),
    packet_field("timestamp", 64, "default-clock-timestamp"),
];

/// The fields that follow: where the event happened.
pub const EVENT_CONTEXT: [PacketField; 2] = [
    PacketField {
        name: "pid",
        bits: 32,
        role: None,
    },
    PacketField {
        name: "tid",
        bits: 64,
        role: None,
    },
];

/// The type of a field of an event record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// An unsigned number of 32 bits.
    U32,
    /// An unsigned number of 64 bits.
    U64,
    /// A number of 32 bits that stands for a text.
    Label(LabelSet),
    /// A text, with a zero byte at its end.
    Text,
}

/// Texts that are written once, in the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelSet {
    /// Functions with file and line.
    Places,
    /// Names of coroutines.
    Names,
    /// Kinds of waits, and the words of verdicts.
    Words,
}

impl LabelSet {
    /// All sets, in the order of their numbers.
    pub const ALL: [LabelSet; 3] = [LabelSet::Places, LabelSet::Names, LabelSet::Words];

    /// The name of the type whose values are these texts.
    pub fn name(self) -> &'static str {
        match self {
            LabelSet::Places => "places",
            LabelSet::Names => "names",
            LabelSet::Words => "words",
        }
    }
}

/// A field of an event record.
pub type EventField = (&'static str, FieldType);

const COROUTINE: EventField = ("coroutine", FieldType::U32);
const NAME: EventField = ("name", FieldType::Label(LabelSet::Names));
const PLACE: EventField = ("place", FieldType::Label(LabelSet::Places));
const WAITS_FOR: EventField = ("waits_for", FieldType::Label(LabelSet::Words));
const RESOURCE: EventField = ("resource", FieldType::U64);
/// The coroutine that ran at a call, or 0.
const BY: EventField = ("by", FieldType::U32);

/// The kinds of event records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    /// A coroutine exists from now on. `place` is where it was spawned.
    Birth,
    /// A coroutine runs from now on.
    Run,
    /// A coroutine waits from now on.
    Suspend,
    /// A coroutine ended.
    Death,
    /// A call of `wake()`.
    Wake,
    /// A resource was closed.
    Close,
    /// A resource was acquired.
    Acquire,
    /// A resource was released.
    Release,
    /// A thread recorded something for the first time.
    ThreadBegin,
    /// A thread announced its end.
    ThreadEnd,
    /// Events of a coroutine are missing between its record before, if there is one, and this time.
    EventsLost,
    /// Records of a thread are missing before this time.
    RecordsLost,
    /// The verdict on a coroutine that has not ended.
    Verdict,
}

impl EventClass {
    /// All classes, in the order of their ids.
    pub const ALL: [EventClass; 13] = [
        EventClass::Birth,
        EventClass::Run,
        EventClass::Suspend,
        EventClass::Death,
        EventClass::Wake,
        EventClass::Close,
        EventClass::Acquire,
        EventClass::Release,
        EventClass::ThreadBegin,
        EventClass::ThreadEnd,
        EventClass::EventsLost,
        EventClass::RecordsLost,
        EventClass::Verdict,
    ];

    /// The name that readers show.
    pub fn name(self) -> &'static str {
        match self {
            EventClass::Birth => "coroutine_birth",
            EventClass::Run => "coroutine_run",
            EventClass::Suspend => "coroutine_suspend",
            EventClass::Death => "coroutine_death",
            EventClass::Wake => "wake",
            EventClass::Close => "close",
            EventClass::Acquire => "acquire",
            EventClass::Release => "release",
            EventClass::ThreadBegin => "thread_begin",
            EventClass::ThreadEnd => "thread_end",
            EventClass::EventsLost => "events_lost",
            EventClass::RecordsLost => "records_lost",
            EventClass::Verdict => "verdict",
        }
    }

    /// The fields, in order.
    pub fn fields(self) -> &'static [EventField] {
        const WORD: FieldType = FieldType::Label(LabelSet::Words);
        match self {
            EventClass::Birth => &[COROUTINE, NAME, PLACE, ("probe_id", FieldType::U64)],
            EventClass::Run | EventClass::Death => &[COROUTINE, NAME],
            EventClass::Suspend => &[COROUTINE, NAME, PLACE, WAITS_FOR, RESOURCE],
            EventClass::Wake => &[COROUTINE, NAME, PLACE, BY],
            EventClass::Close => &[PLACE, WAITS_FOR, RESOURCE],
            EventClass::Acquire | EventClass::Release => &[PLACE, WAITS_FOR, RESOURCE, BY],
            EventClass::ThreadBegin | EventClass::ThreadEnd => &[],
            EventClass::EventsLost => &[COROUTINE, NAME, ("lost", FieldType::U64)],
            EventClass::RecordsLost => &[("lost", FieldType::U64)],
            EventClass::Verdict => &[
                COROUTINE,
                NAME,
                PLACE,
                ("verdict", WORD),
                ("confidence", WORD),
                ("state", WORD),
                ("reason", WORD),
                ("age_ns", FieldType::U64),
                ("explanation", FieldType::Text),
                ("proof", FieldType::Text),
            ],
        }
    }
}
