//! A lane: its thread and the recorder, and threads that request the same lane.

use std::ops::Range;

use ctp_nostd::lane::{
    Copied, LaneRequest, Payload, Pool, RecordState, ReservedRecord, Ring, Room, give_back,
};
use ctp_nostd::layout::{Lane, LaneRecord};
use ctp_nostd::site::SiteWord;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use loom::thread;

use crate::check;

#[derive(Default)]
struct Memory {
    lane: Lane,
    records: [LaneRecord; 2],
}

/// Fills in a record in which every word shows the number of the attempt.
fn fill_in(place: ReservedRecord<'_>, attempt: u64) {
    let payload = Payload {
        kind: 2,
        n: attempt,
        site: SiteWord::from_id(attempt as u32 + 20).0,
        arg: attempt + 30,
        ..Payload::default()
    };
    place.commit(attempt + 10, payload);
}

impl Memory {
    fn ring(&self) -> Ring<'_> {
        Ring::new(&self.lane, &self.records)
    }

    fn write(&self, attempt: u64) {
        self.write_into(self.ring(), attempt);
    }

    fn write_into(&self, ring: Ring<'_>, attempt: u64) {
        let (_, place) = ring.reserve(|| attempt + 10);
        if let Some(place) = place {
            fill_in(place, attempt);
        }
    }

    /// Writes these records into the known room, with positions taken in a single step. Without
    /// room, writes each record by itself, and checks for room again.
    fn write_in(&self, ring: Ring<'_>, room: &mut Room, attempts: Range<u64>) {
        let places = attempts.end - attempts.start;
        if let Some((_, at)) = ring.reserve_in(*room, places, || Some(attempts.start + 10)) {
            for (more, attempt) in (0..).zip(attempts) {
                let place = ring.place_in(*room, at + more);
                fill_in(place.expect("a position of the ring"), attempt);
            }
            return;
        }
        attempts.for_each(|attempt| self.write_into(ring, attempt));
        *room = ring.room();
    }

    /// The committed records from there on, in order; releases all of them.
    fn drain(&self, from: &mut u64) -> Vec<u64> {
        let mut seen = Vec::new();
        let limit = self.ring().head();
        while let part @ [_, ..] = &*self.numbers(*from..limit) {
            *from += part.len() as u64;
            seen.extend(part);
        }
        self.ring().release(*from);
        seen
    }

    /// The numbers of these records, as far as they are of a single lap and committed.
    fn numbers(&self, records: Range<u64>) -> Vec<u64> {
        self.ring()
            .copies(records)
            .map(|copied| {
                let (at, payload) = copied.read();
                let n = payload.n;
                let site = SiteWord::from_id(n as u32 + 20).0;
                assert_eq!((at, payload.site, payload.arg), (n + 10, site, n + 30));
                n
            })
            .collect()
    }
}

fn records_are_read_in_order_or_counted(written: u32, write: fn(&Memory)) {
    check(move || {
        let memory = Arc::new(Memory::default());
        let shared = Arc::clone(&memory);
        let writer = thread::spawn(move || write(&shared));
        let mut next = 0;
        let mut seen = memory.drain(&mut next);
        writer.join().expect("a writer does not panic");
        seen.extend(memory.drain(&mut next));
        assert!(seen.is_sorted());
        assert_eq!(seen.len() as u32 + memory.ring().lost(), written);
    });
}

// LT-05, LT-07
#[test]
fn every_record_is_read_in_order_or_counted() {
    records_are_read_in_order_or_counted(3, |memory| {
        (0..3).for_each(|attempt| memory.write(attempt));
    });
}

// LT-05, LT-07
#[test]
fn pair_reserved_in_a_single_step_is_read_in_order() {
    records_are_read_in_order_or_counted(3, |memory| {
        memory.write(0);
        memory.write_in(memory.ring(), &mut memory.ring().room(), 1..3);
    });
}

// LT-05, LT-07
#[test]
fn cached_room_overwrites_no_unread_record() {
    records_are_read_in_order_or_counted(4, |memory| {
        let mut room = Room::NONE;
        (0..4).for_each(|attempt| {
            memory.write_in(memory.ring(), &mut room, attempt..attempt + 1);
        });
    });
}

/// The whole records of a ring that is overwritten, from its oldest record on.
fn whole_records(ring: &Ring<'_>) -> Vec<u64> {
    let whole = |at| match ring.see(at) {
        RecordState::Whole(copied) => Some((at, copied)),
        RecordState::Pending | RecordState::Overwritten => None,
    };
    let is_own = |(place, copied): (u64, Copied)| {
        let (at, payload) = copied.read();
        let site = SiteWord::from_id(place as u32 + 20).0;
        let found = (at, payload.n, payload.site, payload.arg);
        assert_eq!(found, (place + 10, place, site, place + 30), "torn");
        place
    };
    let places = ring.oldest()..ring.head();
    places.filter_map(whole).map(is_own).collect()
}

// LT-05, LT-08
#[test]
fn overwritten_record_is_not_taken_for_whole() {
    check(|| {
        let memory = Arc::new(Memory::default());
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let (ring, mut room) = (written.ring().overwritten(true), Room::NONE);
            (0..4).for_each(|attempt| {
                written.write_in(ring, &mut room, attempt..attempt + 1);
            });
        });
        let seen = whole_records(&memory.ring().overwritten(true));
        assert!(seen.is_sorted());
        writer.join().expect("a writer does not panic");
        assert_eq!(whole_records(&memory.ring().overwritten(true)), [2, 3]);
        assert_eq!(memory.ring().lost(), 0);
    });
}

/// Lanes, and the state that one search leaves to the next.
type Lanes<const COUNT: usize> = Arc<([Lane; COUNT], AtomicU32)>;

/// Takes a lane of a pool with a single long lane.
fn take<const COUNT: usize>(lanes: &Lanes<COUNT>, thread: u32) -> Option<usize> {
    let (lanes, turn) = &**lanes;
    let (long, short) = lanes.split_at(1);
    let request = LaneRequest {
        thread,
        owner: 1,
        attempts: 0,
        has_exited: |_| false,
        introduce: |_| true,
    };
    request.claim(Pool { long, short, turn })
}

// LT-03, LT-12, LT-13
#[test]
fn lanes_are_exclusive_and_taken_in_order() {
    check(|| {
        let lanes: Lanes<3> = Arc::default();
        let theirs = Arc::clone(&lanes);
        let other = thread::spawn(move || take(&theirs, 1));
        let mine = take(&lanes, 2);
        let other = other.join().expect("a claim does not panic");
        let mut taken = [mine, other];
        taken.sort();
        assert_eq!(taken, [Some(0), Some(1)]);
    });
}

// LT-12
#[test]
fn all_lanes_are_taken_if_there_are_too_few() {
    check(|| {
        let lanes: Lanes<2> = Arc::default();
        let others = [1, 2].map(|number| {
            let theirs = Arc::clone(&lanes);
            thread::spawn(move || take(&theirs, number))
        });
        let mine = take(&lanes, 3);
        let others = others.map(|thread| thread.join().expect("a claim does not panic"));
        let all = [mine, others[0], others[1]];
        assert_eq!(all.iter().flatten().count(), 2);
        assert!(all.contains(&Some(0)) && all.contains(&Some(1)));
    });
}

// LT-03, LT-12
#[test]
fn returned_lane_has_a_single_thread() {
    check(|| {
        let lanes: Lanes<1> = Arc::default();
        assert_eq!(take(&lanes, 1), Some(0));
        let others = [2, 3].map(|number| {
            let theirs = Arc::clone(&lanes);
            thread::spawn(move || take(&theirs, number))
        });
        give_back(&lanes.0[0]);
        let others = others.map(|thread| thread.join().expect("a claim does not panic"));
        assert!(others.iter().flatten().count() <= 1);
    });
}

// LT-12, LT-33
#[test]
fn returned_lane_next_to_an_unused_lane_is_exclusive() {
    check(|| {
        let lanes: Lanes<2> = Arc::default();
        assert_eq!(take(&lanes, 1), Some(0));
        let others = [2, 3].map(|number| {
            let theirs = Arc::clone(&lanes);
            thread::spawn(move || take(&theirs, number))
        });
        give_back(&lanes.0[0]);
        let [first, second] = others.map(|thread| thread.join().expect("a claim does not panic"));
        assert!(first.is_some() || second.is_some());
        assert!(first != second);
    });
}

// LT-05, LT-12
#[test]
fn new_owner_overwrites_no_unread_record() {
    check(|| {
        let memory = Arc::new(Memory::default());
        let claim = |memory: &Memory, thread| {
            let request = LaneRequest {
                thread,
                owner: 1,
                attempts: 0,
                has_exited: |_| false,
                introduce: |_| memory.ring().room() != Room::NONE,
            };
            let turn = AtomicU32::new(0);
            let pool = Pool {
                long: std::slice::from_ref(&memory.lane),
                short: &[],
                turn: &turn,
            };
            request.claim(pool).is_some()
        };
        assert!(claim(&memory, 1));
        (0..2).for_each(|attempt| memory.write(attempt));
        let shared = Arc::clone(&memory);
        let first = thread::spawn(move || give_back(&shared.lane));
        let shared = Arc::clone(&memory);
        let second = thread::spawn(move || {
            let has_taken = claim(&shared, 2);
            if has_taken {
                let mut room = shared.ring().room();
                shared.write_in(shared.ring(), &mut room, 2..3);
            }
            has_taken
        });
        let mut next = 0;
        let mut seen = memory.drain(&mut next);
        first.join().expect("the thread does not panic");
        let written = 2 + u64::from(second.join().expect("a claim does not panic"));
        seen.extend(memory.drain(&mut next));
        assert_eq!(seen, (0..written).collect::<Vec<_>>());
        assert_eq!(memory.ring().lost(), 0);
    });
}

/// A ring of a single record with two words, with or without the orderings of the real ring.
#[derive(Default)]
struct Single {
    head: AtomicU32,
    tail: AtomicU32,
    commit: AtomicU32,
    payload: AtomicU64,
}

#[derive(Clone, Copy)]
enum Flaw {
    None,
    /// The commit is an ordinary store.
    Commit,
    /// The record is released before it is read. (The checker cannot show that the store of `tail`
    /// needs release, because it has no loads that happen after later stores.)
    Tail,
}

impl Single {
    fn write(&self, value: u64) {
        let head = self.head.load(Relaxed);
        if head == self.tail.load(Acquire) {
            self.head.store(head + 1, Relaxed);
            self.payload.store(value, Relaxed);
        }
    }

    fn commit(&self, flaw: Flaw) {
        let ordering = match flaw {
            Flaw::Commit => Relaxed,
            Flaw::None | Flaw::Tail => Release,
        };
        self.commit.store(self.head.load(Relaxed), ordering);
    }

    fn read(&self, flaw: Flaw) {
        if self.commit.load(Acquire) != 1 {
            return;
        }
        if matches!(flaw, Flaw::Tail) {
            self.tail.store(1, Release);
        }
        assert_eq!(self.payload.load(Relaxed), 1, "torn");
        self.tail.store(1, Release);
    }
}

fn record_is_read_whole(flaw: Flaw) {
    check(move || {
        let single = Arc::new(Single::default());
        let read = Arc::clone(&single);
        let reader = thread::spawn(move || read.read(flaw));
        single.write(1);
        single.commit(flaw);
        single.write(2);
        reader.join().expect("torn");
    });
}

#[test]
fn simplified_lane_is_sound() {
    record_is_read_whole(Flaw::None);
}

#[test]
#[should_panic = "torn"]
fn without_release_a_record_is_read_too_early() {
    record_is_read_whole(Flaw::Commit);
}

#[test]
#[should_panic = "torn"]
fn without_the_tail_order_a_record_tears() {
    record_is_read_whole(Flaw::Tail);
}

/// The same ring, overwritten: the reader loads the head once more.
#[derive(Clone, Copy)]
enum Omission {
    None,
    /// The payload may be visible before the head is.
    NoFence,
    /// The head is not loaded again.
    NoSecondLoad,
}

impl Single {
    fn overwrite(&self, value: u32, omission: Omission) {
        self.head.store(value, Relaxed);
        if !matches!(omission, Omission::NoFence) {
            fence(Release);
        }
        self.payload.store(value.into(), Relaxed);
        self.commit.store(value, Release);
    }

    fn see(&self, omission: Omission) {
        let commit = self.commit.load(Acquire);
        let payload = self.payload.load(Relaxed);
        fence(Acquire);
        let is_over =
            commit < self.head.load(Relaxed) && !matches!(omission, Omission::NoSecondLoad);
        assert!(is_over || payload == commit.into(), "torn");
    }
}

fn overwritten_value_is_not_taken(omission: Omission) {
    check(move || {
        let single = Arc::new(Single::default());
        let read = Arc::clone(&single);
        let reader = thread::spawn(move || read.see(omission));
        (1..=2).for_each(|value| single.overwrite(value, omission));
        reader.join().expect("torn");
    });
}

#[test]
fn simplified_overwritten_lane_is_sound() {
    overwritten_value_is_not_taken(Omission::None);
}

#[test]
#[should_panic = "torn"]
fn without_the_fence_an_overwritten_record_tears() {
    overwritten_value_is_not_taken(Omission::NoFence);
}

#[test]
#[should_panic = "torn"]
fn without_the_second_load_an_overwritten_record_tears() {
    overwritten_value_is_not_taken(Omission::NoSecondLoad);
}
