//! Events that go to the sink together: what it does with one leaves more at hand for the next.

use ctp_trace::record::Event;

use super::Sink;

/// The latest ones. Nothing but definitions goes to the sink before they have.
#[derive(Debug)]
pub(super) struct Batch {
    events: Box<[Event; MOST]>,
    length: usize,
}

/// Few enough to stay in the nearest cache.
const MOST: usize = 64;

impl Default for Batch {
    fn default() -> Self {
        Batch {
            events: Box::new([Event::default(); MOST]),
            length: 0,
        }
    }
}

impl Batch {
    /// Adds one. If there are so many by now, all go to the sink.
    #[inline(always)]
    pub fn add(&mut self, event: Event, sink: &mut dyn Sink) {
        self.events[self.length % MOST] = event;
        self.length += 1;
        if self.length == MOST {
            self.hand_over(sink);
        }
    }

    /// All go to the sink.
    pub fn hand_over(&mut self, sink: &mut dyn Sink) {
        let length = std::mem::take(&mut self.length);
        if 0 < length {
            sink.take_events(&self.events[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use ctp_trace::record::Record;

    use super::*;

    #[derive(Default)]
    struct Numbers(Vec<u64>);

    impl Sink for Numbers {
        fn take(&mut self, record: Record) {
            if let Record::Event(event) = record {
                self.0.push(event.n);
            }
        }
    }

    #[test]
    fn each_event_goes_to_the_sink_once_and_in_order() {
        let (mut batch, mut sink) = (Batch::default(), Numbers::default());
        let numbered = |n| Event {
            n,
            ..Event::default()
        };
        batch.hand_over(&mut sink);
        (0..200).for_each(|n| batch.add(numbered(n), &mut sink));
        assert_eq!(sink.0.len(), 192);
        batch.hand_over(&mut sink);
        batch.hand_over(&mut sink);
        assert!(sink.0.iter().copied().eq(0..200));
    }
}
