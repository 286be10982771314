//! What a snapshot tells, from several sources that are each in order of time: the lanes, and what
//! stations hold besides.

use ctp_nostd::lane::{Copied, Payload};
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{Control, ProcessId};

/// One source.
#[derive(Debug)]
pub struct Stream {
    /// The memory of a lane; of other sources it means nothing.
    pub part: usize,
    /// The thread whose records come out of it now, and its process.
    pub author: (u64, ProcessId),
    /// Records that found no room, and how many of them the lane has told of, if that is known.
    pub refused: u32,
    pub told_refused: Option<u32>,
    items: Items,
    next: usize,
}

#[derive(Debug)]
enum Items {
    Lane(Vec<Copied>),
    /// Time, whose, index and what.
    Stations(Vec<(u64, usize, u64, Epoch)>),
    Controls(Vec<(u64, Control)>),
}

/// What comes next out of a source.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// A record of a lane.
    Record(Payload),
    /// This coroutine's event of this index.
    Event(usize, u64, Epoch),
    /// From here on other events were kept.
    Control(Control),
}

impl Stream {
    fn of(items: Items) -> Self {
        Stream {
            part: 0,
            author: (0, ProcessId::default()),
            refused: 0,
            told_refused: Some(0),
            items,
            next: 0,
        }
    }

    /// Of the records of a lane, from `first` on.
    pub fn of_lane(part: usize, records: Vec<Copied>, first: usize) -> Self {
        Stream {
            part,
            next: first,
            ..Stream::of(Items::Lane(records))
        }
    }

    /// Of what stations hold.
    pub fn of_stations(mut events: Vec<(u64, usize, u64, Epoch)>) -> Self {
        events.sort_by_key(|(at, which, n, _)| (*at, *which, *n));
        Stream::of(Items::Stations(events))
    }

    /// Of changes of what is kept, by the time of the monotonic clock.
    pub fn of_controls(mut controls: Vec<(u64, Control)>) -> Self {
        controls.sort_by_key(|(at, _)| *at);
        Stream::of(Items::Controls(controls))
    }

    /// What is next, and when it was.
    pub fn front(&self) -> Option<(u64, Item)> {
        match &self.items {
            Items::Lane(records) => records.get(self.next).map(|copied| {
                let (at, payload) = copied.read();
                (at, Item::Record(payload))
            }),
            Items::Stations(events) => events
                .get(self.next)
                .map(|(at, which, n, epoch)| (*at, Item::Event(*which, *n, *epoch))),
            Items::Controls(controls) => controls
                .get(self.next)
                .map(|(at, control)| (*at, Item::Control(*control))),
        }
    }

    /// When that was; later than everything if there is nothing.
    pub fn time(&self) -> u64 {
        self.front().map_or(u64::MAX, |(at, _)| at)
    }

    /// It was taken.
    pub fn advance(&mut self) {
        self.next += 1;
    }
}
