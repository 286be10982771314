//! The doorbell, with the recorder's steps as in `ctp-record`: arm, order, last scan, then either
//! disarm or block until a probe rings.

use ctp_nostd::doorbell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;

use crate::check;
use crate::membarrier::Membarrier;

#[derive(Default)]
struct Doorbell {
    /// Events published; represents the stations.
    head: AtomicU32,
    sleeping: AtomicU32,
    rings: AtomicU32,
}

impl Doorbell {
    fn publish(&self, must_ring: fn(&AtomicU32) -> bool) {
        self.head.fetch_add(1, Release);
        if must_ring(&self.sleeping) {
            self.rings.fetch_add(1, Relaxed); // the byte in the socket
        }
    }

    /// True if the recorder goes to sleep.
    fn scan_for_the_last_time(&self) -> bool {
        let found = self.head.load(Acquire) > 0;
        if found {
            doorbell::disarm(&self.sleeping);
        }
        !found
    }
}

/// Checks the result after all threads have ended.
fn assert_not_lost(doorbell_words: &Doorbell, sleeps: bool) {
    let rings = doorbell_words.rings.load(Relaxed);
    assert!(rings <= 1, "a single ring per sleep");
    assert!(!sleeps || rings == 1, "lost");
    assert!(
        !sleeps || !doorbell::disarm(&doorbell_words.sleeping),
        "the ringer took the flag"
    );
}

fn no_wake_is_lost(arm: fn(&AtomicU32), must_ring: fn(&AtomicU32) -> bool, probes: usize) {
    check(move || {
        let doorbell_words = Arc::new(Doorbell::default());
        let probe = |_| {
            let doorbell_words = Arc::clone(&doorbell_words);
            thread::spawn(move || doorbell_words.publish(must_ring))
        };
        let probes: Vec<_> = (0..probes).map(probe).collect();
        arm(&doorbell_words.sleeping);
        let sleeps = doorbell_words.scan_for_the_last_time();
        for probe in probes {
            probe.join().expect("a probe does not panic");
        }
        assert_not_lost(&doorbell_words, sleeps);
    });
}

fn arm_without_fence(sleeping: &AtomicU32) {
    sleeping.store(1, Relaxed);
}

fn must_ring_without_fence(sleeping: &AtomicU32) -> bool {
    sleeping.load(Relaxed) == 1 && sleeping.compare_exchange(1, 0, Relaxed, Relaxed).is_ok()
}

// CTP-15
#[test]
fn sleeping_recorder_is_woken() {
    no_wake_is_lost(doorbell::arm, doorbell::must_ring, 1);
}

// CTP-15, CTP-16
#[test]
fn only_the_first_of_two_probes_rings() {
    no_wake_is_lost(doorbell::arm, doorbell::must_ring, 2);
}

#[test]
#[should_panic = "lost"]
fn without_the_recorders_fence_a_wake_is_lost() {
    no_wake_is_lost(arm_without_fence, doorbell::must_ring, 1);
}

#[test]
#[should_panic = "lost"]
fn without_the_probes_fence_a_wake_is_lost() {
    no_wake_is_lost(doorbell::arm, must_ring_without_fence, 1);
}

/// The interrupt hits the probe before, in the middle of, or after its event.
fn no_wake_is_lost_ordered(issue: bool, hit: usize) {
    check(move || {
        let doorbell_words = Arc::new(Doorbell::default());
        let barrier = Arc::new(Membarrier::default());
        let (ringer, processor) = (Arc::clone(&doorbell_words), Arc::clone(&barrier));
        let probe = thread::spawn(move || {
            let interrupt = |place| {
                if issue && place == hit {
                    processor.interrupt();
                }
            };
            interrupt(0);
            ringer.head.fetch_add(1, Release);
            interrupt(1);
            if doorbell::must_ring_ordered(&ringer.sleeping) {
                ringer.rings.fetch_add(1, Relaxed);
            }
            interrupt(2);
        });
        doorbell::arm(&doorbell_words.sleeping);
        if issue {
            barrier.issue();
        }
        let sleeps = doorbell_words.scan_for_the_last_time();
        probe.join().expect("a probe does not panic");
        assert_not_lost(&doorbell_words, sleeps);
    });
}

// CTP-15
#[test]
fn a_membarrier_replaces_the_probes_fence() {
    (0..3).for_each(|hit| no_wake_is_lost_ordered(true, hit));
}

#[test]
#[should_panic = "lost"]
fn without_the_membarrier_a_wake_is_lost() {
    no_wake_is_lost_ordered(false, 0);
}

/// Two probes emit an event and may meet a shortage, while the recorder goes to sleep until a shortage.
fn shortage_rings_once(is_short: bool) {
    check(move || {
        let doorbell_words = Arc::new(Doorbell::default());
        let probe = |_| {
            let doorbell_words = Arc::clone(&doorbell_words);
            thread::spawn(move || {
                doorbell_words.publish(doorbell::must_ring);
                if doorbell::must_ring_for_shortage(&doorbell_words.sleeping, || is_short) {
                    doorbell_words.rings.fetch_add(1, Relaxed);
                }
            })
        };
        let probes: Vec<_> = (0..2).map(probe).collect();
        doorbell::arm_for_shortage(&doorbell_words.sleeping);
        for probe in probes {
            probe.join().expect("a probe does not panic");
        }
        let rings = doorbell_words.rings.load(Relaxed);
        assert!(rings <= u32::from(is_short), "{rings}");
        let is_silent = doorbell::disarm(&doorbell_words.sleeping);
        assert_eq!(is_silent, rings == 0);
    });
}

// CTP-16
#[test]
fn a_shortage_rings_once() {
    shortage_rings_once(true);
}

// CTP-16
#[test]
fn events_do_not_ring_while_the_recorder_waits_for_a_shortage() {
    shortage_rings_once(false);
}
