//! Detection of a live v1 peer's dialect.

use ctp_nostd::dialect::{self, Dialect};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{Acquire, Release};
use loom::thread;

use crate::check;

/// A D2 peer's first two events, as the published SDKs write them (odd with release), while a
/// reader reads the slots one after the other.
fn live_peer_is_not_taken_for_d1(attempts: usize) {
    check(move || {
        let seqs = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let written = Arc::clone(&seqs);
        let peer = thread::spawn(move || {
            for seq in &*written {
                seq.store(1, Release);
                seq.store(2, Release);
            }
        });
        let detect = || {
            let [first, second] = [0, 1].map(|slot| seqs[slot].load(Acquire));
            dialect::detect(&[first, second, 0, 0, 0, 0, 0, 0])
        };
        let is_d1 = (0..attempts).all(|_| detect() == Some(Dialect::PerStation));
        assert!(!is_d1, "taken for D1");
        peer.join().expect("a peer does not panic");
    });
}

// CTP-12
#[test]
fn two_reads_detect_a_live_peer() {
    live_peer_is_not_taken_for_d1(2);
}

#[test]
#[should_panic = "taken for D1"]
fn without_the_second_read_a_peer_is_misdetected() {
    live_peer_is_not_taken_for_d1(1);
}
