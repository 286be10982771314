//! A lane: its thread and the recorder, and threads that want the same lane.

use std::ops::Range;

use ctp_nostd::lane::{
    Copied, LaneRequest, Payload, Place, Pool, RecordState, Ring, Room, give_back,
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

/// A record whose words all tell which attempt it was.
fn fill_in(place: Place<'_>, attempt: u64) {
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

    /// So many of them in the room that is known, their places taken in one step; else each by
    /// itself, and there is another look.
    fn write_in(&self, ring: Ring<'_>, room: &mut Room, attempts: Range<u64>) {
        let places = attempts.end - attempts.start;
        let now = || Some(attempts.start + 10);
        if let Some((_, at)) = ring.reserve_in(*room, places, now) {
            for (more, attempt) in (0..).zip(attempts) {
                let place = ring.place_in(*room, at + more);
                fill_in(place.expect("the ring has it"), attempt);
            }
            return;
        }
        attempts.for_each(|attempt| self.write_into(ring, attempt));
        *room = ring.room();
    }

    /// What is committed from there on, in order; all of it is given back.
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

    /// Of these, as far as they are of one lap and committed.
    fn numbers(&self, records: Range<u64>) -> Vec<u64> {
        let number = |copied: Copied| {
            let (at, payload) = copied.read();
            let n = payload.n;
            let site = SiteWord::from_id(n as u32 + 20).0;
            assert_eq!((at, payload.site, payload.arg), (n + 10, site, n + 30));
            n
        };
        self.ring().copies(records).map(number).collect()
    }
}

fn each_is_read_whole_and_in_order_or_counted(written: u32, write: fn(&Memory)) {
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
fn every_record_is_read_whole_and_in_order_or_counted() {
    each_is_read_whole_and_in_order_or_counted(3, |memory| {
        (0..3).for_each(|attempt| memory.write(attempt));
    });
}

// LT-05, LT-07
#[test]
fn two_that_were_reserved_in_one_step_are_read_like_others() {
    each_is_read_whole_and_in_order_or_counted(3, |memory| {
        memory.write(0);
        memory.write_in(memory.ring(), &mut memory.ring().room(), 1..3);
    });
}

// LT-05, LT-07
#[test]
fn in_room_that_was_found_before_none_is_written_over_that_was_not_read() {
    each_is_read_whole_and_in_order_or_counted(4, |memory| {
        let mut room = Room::NONE;
        (0..4).for_each(|attempt| {
            memory.write_in(memory.ring(), &mut room, attempt..attempt + 1);
        });
    });
}

/// What was seen whole of a ring that is written over, from its oldest record on.
fn look(ring: &Ring<'_>) -> Vec<u64> {
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
fn no_record_that_is_written_over_is_taken_for_whole() {
    check(|| {
        let memory = Arc::new(Memory::default());
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let (ring, mut room) = (written.ring().overwritten(true), Room::NONE);
            (0..4).for_each(|attempt| {
                written.write_in(ring, &mut room, attempt..attempt + 1);
            });
        });
        let seen = look(&memory.ring().overwritten(true));
        assert!(seen.is_sorted());
        writer.join().expect("a writer does not panic");
        assert_eq!(look(&memory.ring().overwritten(true)), [2, 3]);
        assert_eq!(memory.ring().lost(), 0);
    });
}

/// So many, and who asks next.
type Lanes<const COUNT: usize> = Arc<([Lane; COUNT], AtomicU32)>;

/// Of one long lane, and otherwise of short ones.
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
fn a_lane_has_one_thread_and_none_is_taken_before_those_in_front_of_it() {
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
fn where_there_are_too_few_lanes_exactly_those_are_taken() {
    check(|| {
        let lanes: Lanes<2> = Arc::default();
        let others = [1, 2].map(|number| {
            let theirs = Arc::clone(&lanes);
            thread::spawn(move || take(&theirs, number))
        });
        let mine = take(&lanes, 3);
        let others = others.map(|it| it.join().expect("a claim does not panic"));
        let all = [mine, others[0], others[1]];
        assert_eq!(all.iter().flatten().count(), 2);
        assert!(all.contains(&Some(0)) && all.contains(&Some(1)));
    });
}

// LT-03, LT-12
#[test]
fn a_lane_that_is_given_back_has_one_thread() {
    check(|| {
        let lanes: Lanes<1> = Arc::default();
        assert_eq!(take(&lanes, 1), Some(0));
        let others = [2, 3].map(|number| {
            let theirs = Arc::clone(&lanes);
            thread::spawn(move || take(&theirs, number))
        });
        give_back(&lanes.0[0]);
        let others = others.map(|it| it.join().expect("a claim does not panic"));
        assert!(others.iter().flatten().count() <= 1);
    });
}

// LT-12, LT-33
#[test]
fn a_lane_that_is_given_back_beside_one_that_nobody_had_has_one_thread() {
    check(|| {
        let lanes: Lanes<2> = Arc::default();
        assert_eq!(take(&lanes, 1), Some(0));
        let others = [2, 3].map(|number| {
            let theirs = Arc::clone(&lanes);
            thread::spawn(move || take(&theirs, number))
        });
        give_back(&lanes.0[0]);
        let [one, other] = others.map(|it| it.join().expect("a claim does not panic"));
        assert!(one.is_some() || other.is_some());
        assert!(one != other);
    });
}

// LT-05, LT-12
#[test]
fn who_takes_a_lane_that_was_given_back_writes_over_nothing_that_was_not_read() {
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
        first.join().expect("it does not panic");
        let written = 2 + u64::from(second.join().expect("a claim does not panic"));
        seen.extend(memory.drain(&mut next));
        assert_eq!(seen, (0..written).collect::<Vec<_>>());
        assert_eq!(memory.ring().lost(), 0);
    });
}

/// A ring of one record with two words, and the orderings of the real one or not.
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
    /// The record is given back before it is read. (That the store of `tail` needs release cannot
    /// be shown: the checker has no loads that happen after later stores.)
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

fn a_record_is_whole(flaw: Flaw) {
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
fn the_small_copy_of_the_lane_is_sound() {
    a_record_is_whole(Flaw::None);
}

#[test]
#[should_panic = "torn"]
fn without_release_a_record_is_read_before_it_is_there() {
    a_record_is_whole(Flaw::Commit);
}

#[test]
#[should_panic = "torn"]
fn without_the_order_of_its_return_a_record_is_overwritten_while_it_is_read() {
    a_record_is_whole(Flaw::Tail);
}

/// The same ring, written over: the reader attempts at the head once more.
#[derive(Clone, Copy)]
enum Haste {
    None,
    /// The payload may be there before the head says so.
    NoFence,
    /// The head is not looked at again.
    NoLook,
}

impl Single {
    fn overwrite(&self, value: u32, haste: Haste) {
        self.head.store(value, Relaxed);
        if !matches!(haste, Haste::NoFence) {
            fence(Release);
        }
        self.payload.store(value.into(), Relaxed);
        self.commit.store(value, Release);
    }

    fn see(&self, haste: Haste) {
        let commit = self.commit.load(Acquire);
        let payload = self.payload.load(Relaxed);
        fence(Acquire);
        let is_over = commit < self.head.load(Relaxed) && !matches!(haste, Haste::NoLook);
        assert!(is_over || payload == commit.into(), "torn");
    }
}

fn what_is_written_over_is_not_taken(haste: Haste) {
    check(move || {
        let single = Arc::new(Single::default());
        let read = Arc::clone(&single);
        let reader = thread::spawn(move || read.see(haste));
        (1..=2).for_each(|value| single.overwrite(value, haste));
        reader.join().expect("torn");
    });
}

#[test]
fn the_small_copy_of_the_overwritten_lane_is_sound() {
    what_is_written_over_is_not_taken(Haste::None);
}

#[test]
#[should_panic = "torn"]
fn without_the_fence_a_record_is_written_over_before_it_is_said() {
    what_is_written_over_is_not_taken(Haste::NoFence);
}

#[test]
#[should_panic = "torn"]
fn without_another_look_a_record_is_read_while_it_is_written_over() {
    what_is_written_over_is_not_taken(Haste::NoLook);
}
