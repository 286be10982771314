//! The latch of an aggregate, and its two copies.

use ctp_nostd::aggregate::{Bins, Latched};
use ctp_nostd::layout::Aggregate;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use loom::thread;

use crate::check;

#[derive(Default)]
struct Words {
    latch: AtomicU32,
    a: Aggregate,
    b: Aggregate,
}

impl Words {
    fn latched(&self) -> Latched<'_> {
        Latched::new(&self.latch, &self.a, &self.b)
    }
}

/// Two durations that fall into different bins.
const FIRST: u64 = 100;
const SECOND: u64 = 100_000;

// AGG-02, AGG-03, AGG-09
#[test]
fn aggregate_is_read_whole_and_never_goes_back() {
    check(|| {
        let words = Arc::new(Words::default());
        words.latched().clear();
        let written = Arc::clone(&words);
        let writer = thread::spawn(move || {
            assert!(written.latched().add(FIRST, Bins::USUAL));
            assert!(written.latched().add(SECOND, Bins::USUAL));
        });
        if let Some(found) = words.latched().read_once() {
            let in_bins: u32 = found.bins.iter().sum();
            let expected = match found.count {
                0 => (0, u64::MAX, 0),
                1 => (FIRST, FIRST, FIRST),
                _ => (FIRST + SECOND, FIRST, SECOND),
            };
            assert_eq!(u64::from(in_bins), found.count);
            assert_eq!((found.sum_ns, found.min_ns, found.max_ns), expected);
        }
        writer.join().expect("a writer does not panic");
        assert_eq!(
            words.latched().read_once().map(|durations| durations.count),
            Some(2)
        );
    });
}

/// The orderings that the model keeps.
#[derive(Clone, Copy)]
struct Orderings {
    before_odd: bool,
    behind_odd: bool,
    before_even: bool,
    behind_even: bool,
    reader: bool,
}

const ALL: Orderings = Orderings {
    before_odd: true,
    behind_odd: true,
    before_even: true,
    behind_even: true,
    reader: true,
};

/// The same protocol with copies of two words: copies of 64 bits, written in halves.
#[derive(Default)]
struct Small {
    latch: AtomicU64,
    copies: [[AtomicU64; 2]; 2],
}

impl Small {
    /// Takes this many steps, and then dies.
    fn add(&self, n: u64, with: Orderings, steps: usize) {
        let latch = (n - 1) * 4;
        let fence_if = |is_there: bool| is_there.then(|| fence(Release));
        let store = |copy: usize, word: usize| self.copies[copy][word].store(n, Relaxed);
        let even = if with.before_even { Release } else { Relaxed };
        let acts: [&dyn Fn(); 7] = [
            &|| {
                fence_if(with.before_odd);
                self.latch.store(latch + 1, Relaxed);
                fence_if(with.behind_odd);
            },
            &|| store(0, 0),
            &|| store(0, 1),
            &|| {
                self.latch.store(latch + 2, even);
                fence_if(with.behind_even);
            },
            &|| store(1, 0),
            &|| store(1, 1),
            &|| self.latch.store(latch + 4, Relaxed),
        ];
        acts.iter().take(steps).for_each(|act| act());
    }

    fn read(&self, with: Orderings) -> Option<[u64; 2]> {
        let before = self.latch.load(Acquire);
        let copy = &self.copies[(before % 2) as usize];
        let words = [0, 1].map(|word: usize| copy[word].load(Relaxed));
        if with.reader {
            fence(Acquire);
        }
        let after = self.latch.load(Relaxed);
        let ended = before % 4 == 2 && after == before + 2;
        (after == before || ended).then_some(words)
    }
}

fn a_copy_is_never_torn(with: Orderings) {
    check(move || {
        let words = Arc::new(Small::default());
        let written = Arc::clone(&words);
        let writer = thread::spawn(move || {
            written.add(1, with, usize::MAX);
            written.add(2, with, usize::MAX);
        });
        if let Some([first, second]) = words.read(with) {
            assert_eq!(first, second, "torn");
        }
        writer.join().expect("a writer does not panic");
    });
}

#[test]
fn simplified_aggregate_is_sound() {
    a_copy_is_never_torn(ALL);
}

// AGG-06, AGG-24
#[test]
fn writer_that_dies_in_an_update_leaves_a_whole_copy() {
    for steps in 0..=7 {
        check(move || {
            let words = Arc::new(Small::default());
            let written = Arc::clone(&words);
            let writer = thread::spawn(move || {
                written.add(1, ALL, usize::MAX);
                written.add(2, ALL, steps);
            });
            writer.join().expect("a writer does not panic");
            let [first, second] = words.read(ALL).expect("no writer is active");
            assert_eq!(first, second, "torn");
            assert_eq!(first, if steps < 4 { 1 } else { 2 });
        });
    }
}

#[test]
#[should_panic = "torn"]
fn without_the_fence_before_odd_the_second_copy_tears() {
    a_copy_is_never_torn(Orderings {
        before_odd: false,
        ..ALL
    });
}

#[test]
#[should_panic = "torn"]
fn without_the_fence_after_odd_the_first_copy_tears() {
    a_copy_is_never_torn(Orderings {
        behind_odd: false,
        ..ALL
    });
}

#[test]
#[should_panic = "torn"]
fn without_the_release_of_even_the_first_copy_tears() {
    a_copy_is_never_torn(Orderings {
        before_even: false,
        ..ALL
    });
}

#[test]
#[should_panic = "torn"]
fn without_the_fence_after_even_the_second_copy_tears() {
    a_copy_is_never_torn(Orderings {
        behind_even: false,
        ..ALL
    });
}

#[test]
#[should_panic = "torn"]
fn without_the_readers_fence_an_aggregate_tears() {
    a_copy_is_never_torn(Orderings {
        reader: false,
        ..ALL
    });
}
