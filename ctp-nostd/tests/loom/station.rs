//! Handing out stations.

use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::{Header, Station};
use ctp_nostd::{Platform, Probe, Region, alloc};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use crate::check;

const STATIONS: u32 = 2;

#[derive(Default)]
struct Office {
    count: AtomicU32,
    refused: AtomicU32,
    taken: [AtomicU32; STATIONS as usize],
}

impl Office {
    fn move_in(&self, index: Option<u32>) {
        if let Some(taken) = index.and_then(|index| self.taken.get(index as usize)) {
            assert_eq!(taken.fetch_add(1, Relaxed), 0, "handed out twice");
        }
    }
}

type Claim = fn(&AtomicU32, u32, &AtomicU32) -> Option<u32>;

/// Two probes of ours, a peer that adds without looking, and a recorder that takes it back.
fn nothing_is_handed_out_twice(claim: Claim) {
    check(move || {
        let office = Arc::new(Office::default());
        let start = |work: fn(&Office, Claim)| {
            let office = Arc::clone(&office);
            thread::spawn(move || work(&office, claim))
        };
        let ours = |office: &Office, claim: Claim| {
            office.move_in(claim(&office.count, STATIONS, &office.refused));
        };
        let threads = [
            start(ours),
            start(ours),
            start(|office, _| office.move_in(Some(office.count.fetch_add(1, Relaxed)))),
        ];
        alloc::rein_in(&office.count, STATIONS, &office.refused);
        for thread in threads {
            thread.join().expect("nothing is handed out twice");
        }
        alloc::rein_in(&office.count, STATIONS, &office.refused);
        assert_eq!(office.count.load(Relaxed), STATIONS);
        assert_eq!(office.refused.load(Relaxed), 1, "three asked for two");
    });
}

// CTP-04, CTP-05
#[test]
fn a_station_has_one_occupant() {
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
fn a_count_near_its_end_hands_out_nothing() {
    check(|| {
        let office = Arc::new(Office::default());
        office.count.store(u32::MAX, Relaxed);
        let other = Arc::clone(&office);
        let probe = thread::spawn(move || alloc::claim(&other.count, STATIONS, &other.refused));
        let here = alloc::claim(&office.count, STATIONS, &office.refused);
        let there = probe.join().expect("a claim does not panic");
        assert_eq!((here, there), (None, None));
        assert_eq!(office.refused.load(Relaxed), 2);
    });
}

struct Board;

impl Platform for Board {
    fn now_ns() -> u64 {
        7
    }

    fn thread() -> u64 {
        8
    }

    fn ring() {}
}

/// The probe itself moves in, twice, while the recorder looks who is there.
// CTP-22
#[test]
fn who_lives_in_a_station_is_known_whole_or_not_at_all() {
    check(|| {
        let region = Region {
            header: Box::leak(Box::default()) as &Header,
            stations: Box::leak(Box::new([Station::default()])),
            sites: &[],
            names: &[],
            attaches: &[],
            extended: true,
        };
        let station = &region.stations[0];
        drop(Probe::<Board>::new(region, 1).born("first"));
        region.header.rein_in(0); // the station is free again
        let probe = thread::spawn(move || drop(Probe::<Board>::new(region, 2).born("second")));
        let found = station.identity();
        let whole = |attach_id: u32, is_dead: bool| Identity {
            probe_id: u64::from(attach_id) << 48 | u64::from(attach_id) << 24 | 1,
            birth_ts: 7,
            is_dead,
            extended: true,
            tells_wakes: false,
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
