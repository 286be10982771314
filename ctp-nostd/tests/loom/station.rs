//! Handing out stations.

use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::{Header, Station};
use ctp_nostd::{Platform, Probe, Region, ShortLanes, alloc};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;

use crate::check;

const STATIONS: u32 = 2;

#[derive(Default)]
struct Allocator {
    count: AtomicU32,
    refused: AtomicU32,
    taken: [AtomicU32; STATIONS as usize],
}

impl Allocator {
    fn move_in(&self, index: Option<u32>) {
        if let Some(taken) = index.and_then(|index| self.taken.get(index as usize)) {
            assert_eq!(taken.fetch_add(1, Relaxed), 0, "handed out twice");
        }
    }
}

type Claim = fn(&AtomicU32, u32, &AtomicU32) -> Option<u32>;

/// Two probes of this crate, a peer that adds without a bound, and a recorder that resets the
/// count.
fn nothing_is_handed_out_twice(claim: Claim) {
    check(move || {
        let allocator = Arc::new(Allocator::default());
        let start = |work: fn(&Allocator, Claim)| {
            let allocator = Arc::clone(&allocator);
            thread::spawn(move || work(&allocator, claim))
        };
        let ours = |allocator: &Allocator, claim: Claim| {
            allocator.move_in(claim(&allocator.count, STATIONS, &allocator.refused));
        };
        let threads = [
            start(ours),
            start(ours),
            start(|allocator, _| allocator.move_in(Some(allocator.count.fetch_add(1, Relaxed)))),
        ];
        alloc::limit_claims(&allocator.count, STATIONS, &allocator.refused);
        for thread in threads {
            thread.join().expect("nothing is handed out twice");
        }
        alloc::limit_claims(&allocator.count, STATIONS, &allocator.refused);
        assert_eq!(allocator.count.load(Relaxed), STATIONS);
        assert_eq!(
            allocator.refused.load(Relaxed),
            1,
            "three claims for two stations"
        );
    });
}

// CTP-04, CTP-05
#[test]
fn station_has_a_single_owner() {
    nothing_is_handed_out_twice(alloc::claim);
}

#[test]
#[should_panic = "handed out twice"]
fn without_a_compare_and_swap_a_station_has_two() {
    nothing_is_handed_out_twice(|count, max, _| {
        let index = count.load(Relaxed);
        count.store(index + 1, Relaxed);
        (index < max).then_some(index)
    });
}

// CTP-04
#[test]
fn a_count_near_the_end_hands_out_nothing() {
    check(|| {
        let allocator = Arc::new(Allocator::default());
        allocator.count.store(u32::MAX, Relaxed);
        let other = Arc::clone(&allocator);
        let probe = thread::spawn(move || alloc::claim(&other.count, STATIONS, &other.refused));
        let here = alloc::claim(&allocator.count, STATIONS, &allocator.refused);
        let there = probe.join().expect("a claim does not panic");
        assert_eq!((here, there), (None, None));
        assert_eq!(allocator.refused.load(Relaxed), 2);
    });
}

/// Stations that are left and taken again. An entry that was never written holds no station.
struct Ring {
    head: AtomicU32,
    tail: AtomicU32,
    entries: [AtomicU32; STATIONS as usize],
    taken: [AtomicU32; STATIONS as usize],
    left: [AtomicU32; STATIONS as usize],
}

type Take = fn(&AtomicU32, &AtomicU32, &[AtomicU32]) -> Option<u32>;
type Put = fn(&AtomicU32, &[AtomicU32], u32);

impl Ring {
    fn new() -> Self {
        Ring {
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            entries: [(); STATIONS as usize].map(|()| AtomicU32::new(u32::MAX)),
            taken: Default::default(),
            left: Default::default(),
        }
    }

    /// A coroutine: moves in, has an event, and leaves.
    fn live(&self, take: Take) {
        let Some(index) = take(&self.head, &self.tail, &self.entries) else {
            return;
        };
        let taken = self
            .taken
            .get(index as usize)
            .expect("the entry was not put");
        let before = taken.load(Relaxed);
        assert_eq!(before % 2, 0, "two coroutines in a station");
        taken.store(before + 1, Relaxed);
        taken.store(before + 2, Relaxed);
        self.left[index as usize].store(1, Release);
    }

    /// The recorder: reads the stations that were left, and puts them back.
    fn pass(&self, put: Put) {
        for (index, left) in self.left.iter().enumerate() {
            if left.load(Acquire) == 1 {
                left.store(0, Relaxed);
                put(&self.tail, &self.entries, index as u32);
            }
        }
    }
}

fn station_is_left_before_being_reused(take: Take, put: Put) {
    check(move || {
        let ring = Arc::new(Ring::new());
        put(&ring.tail, &ring.entries, 0);
        let probes = [(); 2].map(|()| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                ring.live(take);
                ring.live(take);
            })
        });
        put(&ring.tail, &ring.entries, 1);
        ring.pass(put);
        ring.pass(put);
        for probe in probes {
            probe.join().expect("a probe does not panic");
        }
    });
}

// CTP-22
#[test]
fn station_has_a_single_owner_at_a_time() {
    station_is_left_before_being_reused(alloc::take_back, alloc::put_back);
}

#[test]
#[should_panic = "two coroutines in a station"]
fn without_the_compare_and_swap_two_take_the_same() {
    let take: Take = |head, tail, ring| {
        let taken = head.load(Relaxed);
        if tail.load(Acquire) == taken {
            return None;
        }
        head.store(taken + 1, Relaxed);
        Some(ring[(taken % STATIONS) as usize].load(Relaxed))
    };
    station_is_left_before_being_reused(take, alloc::put_back);
}

#[test]
#[should_panic = "the entry was not put"]
fn without_release_an_unwritten_entry_is_taken() {
    let put: Put = |tail, ring, station| {
        let put = tail.load(Relaxed);
        ring[(put % STATIONS) as usize].store(station, Relaxed);
        tail.store(put + 1, Relaxed);
    };
    station_is_left_before_being_reused(alloc::take_back, put);
}

struct Board;

#[expect(unsafe_code, reason = "the trait is unsafe to implement")]
// SAFETY: it has no `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        7
    }

    fn thread() -> u64 {
        8
    }

    fn ring() {}
}

/// The probe itself moves in, twice, while the recorder reads the identity.
// CTP-22
#[test]
fn identity_is_read_whole_or_not_at_all() {
    check(|| {
        let region = Region {
            header: Box::leak(Box::default()) as &Header,
            stations: Box::leak(Box::new([Station::default()])),
            sites: &[],
            chains: &[],
            names: &[],
            attaches: &[],
            free: &[],
            lanes: &[],
            records: &[],
            short: ShortLanes::default(),
            ring: (),
            is_overwritten: false,
            is_extended: true,
        };
        let station = &region.stations[0];
        drop(Probe::<Board>::new(region, 1).born("first"));
        region.header.limit_claims(0); // the station is free again
        let probe = thread::spawn(move || drop(Probe::<Board>::new(region, 2).born("second")));
        let found = station.identity();
        let whole = |attach_id: u32, is_dead: bool| Identity {
            probe_id: u64::from(attach_id) << 48 | u64::from(attach_id) << 24 | 1,
            birth_ts: 7,
            is_dead,
            is_extended: true,
            records_wakes: false,
            kind: 0,
            generation: 2 * attach_id,
            owner: attach_id,
            meta: 0,
            base_n: 2 * u64::from(attach_id - 1),
        };
        let possible = [whole(1, true), whole(2, false), whole(2, true)];
        assert!(
            found.is_none_or(|found| possible.contains(&found)),
            "{found:?}"
        );
        probe.join().expect("a probe does not panic");
        assert_eq!(station.identity(), Some(whole(2, true)));
    });
}
