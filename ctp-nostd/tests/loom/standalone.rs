//! Times and counts that no other word guards, as whole words or as two halves.

use ctp_nostd::layout::StandaloneU64;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;

use crate::check;

/// The lower half becomes smaller and the upper half larger at each step.
const VALUES: [u64; 3] = [0x0_FFFF_FFFF, 0x1_0000_0007, 0x2_0000_0003];

// CTP-27
#[test]
fn reader_sees_whole_values_in_order() {
    check(|| {
        let word = Arc::new(StandaloneU64::new(VALUES[0]));
        let written = Arc::clone(&word);
        let writer = thread::spawn(move || {
            VALUES[1..]
                .iter()
                .for_each(|value| written.store(*value, Release));
        });
        let read = [0, 1].map(|_| word.load_whole(Acquire));
        let seen = read.into_iter().flatten();
        let seen: Vec<u64> = seen
            .inspect(|value| assert!(VALUES.contains(value)))
            .collect();
        assert!(seen.is_sorted(), "{seen:x?}");
        writer.join().expect("a writer does not panic");
        assert_eq!(word.load_whole(Acquire), Some(VALUES[2]));
    });
}

// CTP-27
#[test]
fn a_value_is_read_with_what_was_written_before() {
    check(|| {
        let word = Arc::new(StandaloneU64::new(VALUES[0]));
        let before = Arc::new(AtomicU32::new(0));
        let (written, first) = (Arc::clone(&word), Arc::clone(&before));
        let writer = thread::spawn(move || {
            first.store(1, Relaxed);
            written.store(VALUES[0] + 1, Release);
        });
        if word.load_whole(Acquire) == Some(VALUES[0] + 1) {
            assert_eq!(before.load(Relaxed), 1);
        }
        writer.join().expect("a writer does not panic");
    });
}

// CTP-27
#[test]
fn two_writers_leave_a_value_of_either() {
    check(|| {
        let word = Arc::new(StandaloneU64::new(VALUES[0]));
        let writers = [VALUES[0] + (1 << 32), VALUES[1]].map(|value| {
            let written = Arc::clone(&word);
            thread::spawn(move || written.store_shared(value))
        });
        if let Some(seen) = word.load_whole(Acquire) {
            let all = [VALUES[0], VALUES[0] + (1 << 32), VALUES[1]];
            assert!(all.contains(&seen), "{seen:x}");
        }
        for writer in writers {
            writer.join().expect("a writer does not panic");
        }
        let last = word.load_whole(Acquire);
        assert!([VALUES[0] + (1 << 32), VALUES[1]].map(Some).contains(&last));
    });
}

/// A copy of the word of two halves, with or without the mark or the order of the real word.
#[derive(Default)]
struct Weakened {
    low: AtomicU32,
    high: AtomicU32,
}

const MARK: u32 = u32::MAX;

fn copy_is_never_torn(has_mark: bool, is_ordered: bool) {
    check(move || {
        let (release, acquire) = if is_ordered {
            (Release, Acquire)
        } else {
            (Relaxed, Relaxed)
        };
        let word = Arc::new(Weakened::default());
        word.low.store(9, Relaxed);
        let written = Arc::clone(&word);
        let writer = thread::spawn(move || {
            if has_mark {
                written.high.store(MARK, Relaxed); // SW1
            }
            written.low.store(3, release); // SW2
            written.high.store(1, release); // SW3
        });
        let high = word.high.load(acquire); // SR1
        let low = word.low.load(acquire); // SR2
        let is_whole = word.high.load(Relaxed) == high && high != MARK; // SR3
        if is_whole {
            assert_eq!((high, low), [(0, 9), (1, 3)][high as usize], "torn");
        }
        writer.join().expect("a writer does not panic");
    });
}

#[test]
fn simplified_word_is_sound() {
    copy_is_never_torn(true, true);
}

#[test]
#[should_panic = "torn"]
fn without_the_mark_a_word_tears() {
    copy_is_never_torn(false, true);
}

#[test]
#[should_panic = "torn"]
fn without_the_order_a_word_tears() {
    copy_is_never_torn(true, false);
}
