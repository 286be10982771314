//! The calibration of the processor's counter.

use ctp_nostd::clock::{self, Calibration};
use ctp_nostd::layout::Header;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use loom::thread;

use crate::check;

fn line(number: u64) -> Calibration {
    Calibration {
        ticks: number,
        ns: number + 10,
        mult: number + 20,
    }
}

// CTP-26
#[test]
fn a_calibration_is_a_single_line() {
    check(|| {
        let header = Arc::new(Header::default());
        clock::publish(&header, &line(1));
        let written = Arc::clone(&header);
        let recorder = thread::spawn(move || {
            clock::publish(&written, &line(2));
            clock::publish(&written, &line(3)); // over the copy that a probe may be reading
        });
        if let Some(read) = clock::read(&header) {
            assert_eq!(read, line(read.ticks));
        }
        recorder.join().expect("a recorder does not panic");
    });
}

// CTP-26
#[test]
fn first_calibration_is_read_whole_or_not_at_all() {
    check(|| {
        let header = Arc::new(Header::default());
        let written = Arc::clone(&header);
        let recorder = thread::spawn(move || clock::publish(&written, &line(1)));
        let read = clock::read(&header);
        assert!(read.is_none_or(|read| read == line(1)));
        recorder.join().expect("a recorder does not panic");
    });
}

/// Two copies of two words, with or without either fence.
#[derive(Default)]
struct Copies {
    index: AtomicU32,
    copies: [[AtomicU64; 2]; 2],
}

impl Copies {
    fn publish(&self, number: u64, with_fence: bool) {
        let next = self.index.load(Relaxed) + 1;
        if with_fence {
            fence(Release);
        }
        let copy = &self.copies[next as usize % 2];
        copy.iter().for_each(|word| word.store(number, Relaxed));
        self.index.store(next, Release);
    }

    fn read(&self, with_fence: bool) -> Option<[u64; 2]> {
        let index = self.index.load(Acquire);
        let copy = &self.copies[index as usize % 2];
        let read = [0, 1].map(|i| copy[i].load(Relaxed));
        if with_fence {
            fence(Acquire);
        }
        (self.index.load(Relaxed) == index).then_some(read)
    }
}

fn copies_are_whole(writer_fence: bool, reader_fence: bool) {
    check(move || {
        let copies = Arc::new(Copies::default());
        copies.publish(1, writer_fence);
        let written = Arc::clone(&copies);
        let recorder = thread::spawn(move || {
            written.publish(2, writer_fence);
            written.publish(3, writer_fence);
        });
        if let Some([first, second]) = copies.read(reader_fence) {
            assert_eq!(first, second, "torn");
        }
        recorder.join().expect("a recorder does not panic");
    });
}

#[test]
#[should_panic = "torn"]
fn without_the_recorders_fence_a_calibration_tears() {
    copies_are_whole(false, true);
}

#[test]
#[should_panic = "torn"]
fn without_the_probes_fence_a_calibration_tears() {
    copies_are_whole(true, false);
}
