//! A rush: lanes fill faster than all threads of the recorder together can go on. What can wait then
//! stands aside, so that the one thread that makes room in lanes, the drainer, finds a processor each
//! time. While it sleeps there is time to make ready what it will want.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Is there one? The drainer tells, the others ask.
#[derive(Debug)]
pub struct Rush {
    zero: Instant,
    /// Since `zero`.
    until_ns: AtomicU64,
    /// The drainer sleeps until then, since `zero`.
    asleep_until_ns: AtomicU64,
}

/// What the drainer has seen of it.
#[derive(Debug)]
pub struct Gauge {
    latest_look: Instant,
    /// For so long others have stood aside since there was nothing left for them to do.
    aside: Duration,
}

/// What came in the time since the look before, and what waits.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    pub records: u64,
    pub waiting_bytes: u64,
    pub has_room: bool,
}

/// What a record takes until it is written, by all threads together: where they come sooner, it is one.
const EACH_NS: u64 = 40;
/// It goes on for so long after it was last seen: where the drainer is kept waiting for a processor, the
/// others are not to want one too.
const HOLD: Duration = Duration::from_millis(16);
/// So long before the drainer wakes others stop: some pages of fresh memory.
const MARGIN: Duration = Duration::from_micros(20);
/// How often the others look whether it is over.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// What was read is not held back for longer than this.
const MOST_ASIDE: Duration = Duration::from_secs(1);
/// As good as nothing.
const LITTLE_BYTES: u64 = 1 << 20;

impl Default for Rush {
    fn default() -> Self {
        Rush {
            zero: Instant::now(),
            until_ns: AtomicU64::new(0),
            asleep_until_ns: AtomicU64::new(0),
        }
    }
}

impl Rush {
    pub fn is_on(&self) -> bool {
        self.zero.elapsed().as_nanos() < self.until_ns.load(Ordering::Relaxed).into()
    }

    /// Waits until it is over.
    pub fn wait_out(&self) {
        while self.is_on() {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The drainer is about to sleep for so long.
    pub fn note_sleep(&self, pause: Duration) {
        let until_ns = (self.zero.elapsed() + pause).as_nanos();
        self.asleep_until_ns
            .store(until_ns as u64, Ordering::Relaxed);
    }

    /// Does the drainer sleep, and for long enough that others may do something short?
    pub fn has_pause(&self) -> bool {
        let end_ns = (self.zero.elapsed() + MARGIN).as_nanos();
        end_ns < self.asleep_until_ns.load(Ordering::Relaxed).into()
    }

    fn go_on_until(&self, then: Instant) {
        let until_ns = then.duration_since(self.zero).as_nanos();
        self.until_ns.store(until_ns as u64, Ordering::Relaxed);
    }
}

impl Gauge {
    pub fn new() -> Self {
        Gauge {
            latest_look: Instant::now(),
            aside: Duration::ZERO,
        }
    }

    /// Tells others what to do about it.
    pub fn look(&mut self, now: Instant, flood: Flood, rush: &Rush) {
        let elapsed = now.duration_since(self.latest_look);
        self.latest_look = now;
        if flood.waiting_bytes < LITTLE_BYTES {
            self.aside = Duration::ZERO;
        }
        let is_quick = elapsed < Duration::from_nanos(flood.records * EACH_NS);
        if is_quick && flood.has_room && self.aside < MOST_ASIDE {
            self.aside += elapsed;
            rush.go_on_until(now + HOLD);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);
    const FLAT_OUT: Flood = Flood {
        records: 50_000,
        waiting_bytes: 100 << 20,
        has_room: true,
    };

    /// After so many looks at the same.
    fn is_on_after(looks: u32, flood: Flood) -> bool {
        let (rush, mut gauge) = (Rush::default(), Gauge::new());
        let begin = Instant::now();
        (1..=looks).for_each(|look| gauge.look(begin + look * PAUSE, flood, &rush));
        let end_ns = (begin + looks * PAUSE).duration_since(rush.zero).as_nanos();
        end_ns < rush.until_ns.load(Ordering::Relaxed).into()
    }

    #[test]
    fn others_stand_aside_only_while_more_comes_than_they_could_do() {
        assert!(is_on_after(1, FLAT_OUT));
        assert!(!is_on_after(
            1,
            Flood {
                records: 20_000,
                ..FLAT_OUT
            }
        ));
        assert!(!is_on_after(
            1,
            Flood {
                has_room: false,
                ..FLAT_OUT
            }
        ));
    }

    #[test]
    fn there_is_time_only_while_the_drainer_sleeps() {
        let rush = Rush::default();
        assert!(!rush.has_pause());
        rush.note_sleep(Duration::from_secs(3600));
        assert!(rush.has_pause());
        rush.note_sleep(MARGIN);
        assert!(!rush.has_pause());
    }

    #[test]
    fn nothing_is_held_back_for_long() {
        assert!(is_on_after(1_000, FLAT_OUT) && !is_on_after(1_100, FLAT_OUT));
        assert!(is_on_after(
            1_100,
            Flood {
                waiting_bytes: 0,
                ..FLAT_OUT
            }
        ));
    }
}
