//! A trace is a sequence of packets. All of them belong to one packet sequence, which shares interned
//! texts and defaults.

use std::io::{self, Write};

use ctp_trace::record::{Nanos, Start};

use crate::output::protobuf::Message;

/// The only field of the message `Trace`.
const PACKET: u64 = 1;

/// Fields of a `TracePacket`.
const CLOCK_SNAPSHOT: u64 = 6;
const TIMESTAMP: u64 = 8;
const SEQUENCE_ID: u64 = 10;
const TRACK_EVENT: u64 = 11;
const INTERNED_DATA: u64 = 12;
const SEQUENCE_FLAGS: u64 = 13;
const DEFAULTS: u64 = 59;
const TRACK_DESCRIPTOR: u64 = 60;

/// Values of `sequence_flags`.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Field of `TracePacketDefaults`.
const TIMESTAMP_CLOCK_ID: u64 = 58;

/// Fields of a `ClockSnapshot` and of its clocks.
const CLOCKS: u64 = 1;
const PRIMARY_TRACE_CLOCK: u64 = 2;
const CLOCK_ID: u64 = 1;
const CLOCK_TIMESTAMP: u64 = 2;

/// Clocks of the kernel.
const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;
/// A clock of this packet sequence, which counts from the start of the recording. Its timestamps take
/// fewer bytes than those of the kernel's clocks.
const SINCE_START: u64 = 64;

/// The id of the packet sequence.
const SEQUENCE: u64 = 1;

/// Writes packets.
pub struct Packets<'o> {
    out: &'o mut dyn Write,
    packet: Message,
    framed: Message,
    events: u64,
    /// The first error. Nothing is written afterwards.
    failed: Option<io::Error>,
}

impl<'o> Packets<'o> {
    /// Writes the first packet, which states the clock.
    pub fn new(out: &'o mut dyn Write, start: &Start) -> Self {
        let mut packets = Packets {
            out,
            packet: Message::default(),
            framed: Message::default(),
            events: 0,
            failed: None,
        };
        packets.put(STATE_CLEARED, |packet| {
            packet.message(CLOCK_SNAPSHOT, &clocks(start));
            let mut defaults = Message::default();
            defaults.number(TIMESTAMP_CLOCK_ID, SINCE_START);
            packet.message(DEFAULTS, &defaults);
        });
        packets
    }

    /// Writes the description of a track.
    pub fn track(&mut self, descriptor: &Message) {
        self.put(NEEDS_STATE, |packet| {
            packet.message(TRACK_DESCRIPTOR, descriptor);
        });
    }

    /// Writes an event, with the texts that it refers to for the first time.
    pub fn event(&mut self, at: Nanos, event: &Message, interned: &Message) {
        self.put(NEEDS_STATE, |packet| {
            packet.number(TIMESTAMP, at.0);
            packet.message(TRACK_EVENT, event);
            if !interned.is_empty() {
                packet.message(INTERNED_DATA, interned);
            }
        });
        self.events += 1;
    }

    /// Returns the number of events, or the first error.
    pub fn finish(self) -> io::Result<u64> {
        self.failed.map_or(Ok(self.events), Err)
    }

    fn put(&mut self, flags: u64, fill: impl FnOnce(&mut Message)) {
        if self.failed.is_some() {
            return;
        }
        self.packet.clear();
        fill(&mut self.packet);
        self.packet.number(SEQUENCE_ID, SEQUENCE);
        self.packet.number(SEQUENCE_FLAGS, flags);
        self.framed.clear();
        self.framed.message(PACKET, &self.packet);
        self.failed = self.out.write_all(self.framed.bytes()).err();
    }
}

/// The time of the start on all clocks.
fn clocks(start: &Start) -> Message {
    let mut snapshot = Message::default();
    for (id, time) in [
        (REALTIME, start.started_unix_ns),
        (MONOTONIC, start.started_monotonic_ns),
        (SINCE_START, 0),
    ] {
        let mut clock = Message::default();
        clock.number(CLOCK_ID, id);
        clock.number(CLOCK_TIMESTAMP, time);
        snapshot.message(CLOCKS, &clock);
    }
    snapshot.number(PRIMARY_TRACE_CLOCK, MONOTONIC);
    snapshot
}
