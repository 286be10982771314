//! A program that writes against two readings in any order.

use std::ops::Range;

use ctp_nostd::layout::MAGIC;
use proptest::prelude::*;

use super::*;

/// A store of a program: the offset in its station, and the bytes.
type Store = (usize, Vec<u8>);

const HEADER: usize = size_of::<Header>();

/// A memory with one station.
fn memory<L: Layout>() -> Vec<u8> {
    let mut memory = vec![0; HEADER + size_of::<StationOf<L>>()];
    let magic = if L::STATION_BYTES == 0 {
        MAGIC
    } else {
        COMPACT_MAGIC
    };
    put(&mut memory, 0, magic);
    put_half(&mut memory, offset_of(Header::FIELDS, "max_stations"), 1);
    memory
}

/// A byte of an event. It is not 0, and differs from the same byte of the events before and after it.
fn byte_of(n: u64, at: usize) -> u8 {
    ((n % 255 * 37 + at as u64) % 255) as u8 + 1
}

/// The stores of event `n`, in order, as a target without atomics of 64 bits makes them.
fn stores<L: Layout>(n: u64) -> Vec<Store> {
    let slot = slot_range::<L>(index_in::<L>(n)).start;
    let seq = slot + offset_of(Slot::FIELDS, "seq");
    let last = final_seq_in::<L>(n);
    let low = |seq: u64| (seq as u32).to_le_bytes().to_vec();
    let payload = (0..size_of::<Slot>()).step_by(4).map(|at| slot + at);
    let payload = payload.filter(|at| !(seq..seq + 8).contains(at));
    let payload = payload.map(|at| (at, (at..at + 4).map(|at| byte_of(n, at)).collect()));
    let head = offset_of(StationOf::<L>::FIELDS, "event_head");
    [(seq, low(last - 1))]
        .into_iter()
        .chain(payload)
        .chain([
            (seq + 4, low(last >> 32)),
            (seq, low(last)),
            (head, low(n + 1)),
        ])
        .collect()
}

/// The station after each number of stores: the content of a memory at each moment.
fn moments<L: Layout>(first: u64, events: u64) -> Vec<Vec<u8>> {
    let mut moments = vec![memory::<L>()];
    for (at, bytes) in (first..first + events).flat_map(stores::<L>) {
        let mut next = moments.last().expect("there is a first moment").clone();
        next[HEADER + at..][..bytes.len()].copy_from_slice(&bytes);
        moments.push(next);
    }
    moments
}

/// Whether each settled slot is a whole event.
fn is_right<L: Layout>(settled: &[u8]) -> bool {
    let station = &settled[HEADER..];
    let seqs = seqs::<L>(station).into_iter().enumerate();
    let mut settled = seqs.filter(|(_, seq)| *seq != 0);
    settled.all(|(index, seq)| {
        let n = event_in::<L>(index, seq);
        let slot = slot_range::<L>(index);
        let at_seq = slot.start + offset_of(Slot::FIELDS, "seq");
        let mut payload = slot.filter(|at| !(at_seq..at_seq + 8).contains(at));
        payload.all(|at| station[at] == byte_of(n, at))
    })
}

/// The values of a byte at these moments, without repetition.
fn values(moments: &[Vec<u8>], window: Range<usize>, at: usize) -> Vec<u8> {
    let mut values: Vec<u8> = moments[window].iter().map(|moment| moment[at]).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Every two readings of a slot that agree, if each byte is read at any moment of its reading: for
/// each choice of the sequence number, the payload with as many wrong bytes as possible.
fn worst_agreements<L: Layout>(
    moments: &[Vec<u8>],
    [first, second]: [Range<usize>; 2],
    slot: Range<usize>,
) -> Vec<Vec<u8>> {
    let both = |at: usize| {
        let second = values(moments, second.clone(), at);
        let mut both = values(moments, first.clone(), at);
        both.retain(|value| second.contains(value));
        both
    };
    let seq = slot.start + offset_of(Slot::FIELDS, "seq");
    let mut readings = vec![moments[second.start].clone()];
    for at in seq..seq + 8 {
        let choices = both(at);
        readings = choices
            .iter()
            .flat_map(|value| {
                readings.iter().map(|reading| {
                    let mut reading = reading.clone();
                    reading[at] = *value;
                    reading
                })
            })
            .collect();
    }
    readings.retain_mut(|reading| {
        let n = event_in::<L>(0, word_at(reading, seq).max(2));
        slot.clone()
            .filter(|at| !(seq..seq + 8).contains(at))
            .all(|at| {
                let choices = both(at);
                let wrong = choices
                    .iter()
                    .find(|value| **value != byte_of(n, at - HEADER));
                let chosen = wrong.or(choices.first());
                chosen.inspect(|value| reading[at] = **value).is_some()
            })
    });
    readings
}

/// The memory at each moment while these events are written to the same slot.
fn moments_of_slot<L: Layout>(mut memory: Vec<u8>, events: &[u64]) -> Vec<Vec<u8>> {
    let mut moments = vec![memory.clone()];
    for (at, bytes) in events.iter().copied().flat_map(stores::<L>) {
        memory[HEADER + at..][..bytes.len()].copy_from_slice(&bytes);
        moments.push(memory.clone());
    }
    moments
}

/// The second reading begins after each store in turn. The first takes the whole time before, and the
/// second the whole time after: shorter readings find no other bytes.
fn no_interleaving_settles_a_wrong_slot<L: Layout>(moments: &[Vec<u8>]) {
    let slot = slot_range::<L>(0);
    let slot = HEADER + slot.start..HEADER + slot.end;
    let mut settled = 0;
    for middle in 0..moments.len() {
        let readings = [0..middle + 1, middle..moments.len()];
        for reading in worst_agreements::<L>(moments, readings, slot.clone()) {
            let result = settle(&reading, &reading);
            assert!(
                is_right::<L>(&result),
                "{middle}: {:x?}",
                &result[slot.clone()]
            );
            settled += u32::from(result[slot.clone()] != [0; 64]);
        }
    }
    // At least where the second reading begins between two events.
    assert!(3 <= settled, "{settled}");
}

// CTP-06
#[test]
fn no_interleaving_of_unordered_reads_settles_a_wrong_slot() {
    let moments = moments_of_slot::<Full>(memory::<Full>(), &[0, 8, 16, 24, 32]);
    no_interleaving_settles_a_wrong_slot::<Full>(&moments);
}

// CTP-06, CTP-27
#[test]
fn no_interleaving_settles_a_wrong_slot_at_the_crossing() {
    let before = event_in::<Compact>(0, (1 << 32) - 4);
    let memory = moments_of_slot::<Compact>(memory::<Compact>(), &[before]).pop();
    let memory = memory.expect("there is a last moment");
    let moments = moments_of_slot::<Compact>(memory, &[2, 4, 6, 8].map(|more| before + more));
    no_interleaving_settles_a_wrong_slot::<Compact>(&moments);
}

/// Reads each byte at the moment that the list gives for it.
fn read(moments: &[Vec<u8>], times: impl Iterator<Item = usize>) -> Vec<u8> {
    let bytes = times.enumerate().map(|(at, time)| moments[time][at]);
    bytes.collect()
}

/// What a copy has of a program that writes events all the time.
fn events_are_settled<L: Layout>(
    events: u64,
    window: [usize; 3],
    delays: &[u16],
) -> Result<(), TestCaseError> {
    let moments = moments::<L>(0, events);
    let mut window = window.map(|at| at % moments.len());
    window.sort_unstable();
    let [begin, middle, end] = window;
    let bytes = moments[0].len();
    let within = |from: usize, to: usize| {
        (0..bytes).map(move |at| from + usize::from(delays[at % delays.len()]) % (to - from + 1))
    };
    let first = read(&moments, within(begin, middle));
    let second = read(&moments, within(middle, end));
    let settled = settle(&first, &second);
    prop_assert!(is_right::<L>(&settled));
    let station = &settled[HEADER..];
    let head = word_at(station, offset_of(StationOf::<L>::FIELDS, "event_head"));
    prop_assert!(head <= events || head >> 32 == u64::from(CHANGING));
    if begin == end {
        // A memory at rest: all events are there, except one in progress.
        let held = seqs::<L>(station).iter().filter(|seq| **seq != 0).count() as u64;
        prop_assert!(head.min(L::SLOTS) <= held + 1);
    }
    Ok(())
}

proptest! {
    // CTP-06, CTP-27
    #[test]
    fn any_two_readings_settle_whole_events(
        events in 1..20_u64,
        window in prop::array::uniform3(0..500_usize),
        delays in prop::collection::vec(any::<u16>(), 1..400),
    ) {
        events_are_settled::<Full>(events, window, &delays)?;
        events_are_settled::<Compact>(events, window, &delays)?;
    }

    // CTP-28
    #[test]
    fn any_bytes_are_settled_without_panic(
        words in prop::collection::vec((0..320_usize, any::<u64>()), 0..40),
        cut in 0..2600_usize,
    ) {
        for mut second in [memory::<Full>(), memory::<Compact>()] {
            let mut first = second.clone();
            for (at, word) in &words {
                put(if at % 2 == 0 { &mut first } else { &mut second }, at / 2 * 8 + 8, *word);
            }
            first.truncate(cut);
            prop_assert_eq!(settle(&first, &second).len(), second.len());
        }
    }
}

// CTP-28
#[test]
fn coroutine_that_moves_in_between_is_left_out() {
    let mut first = memory::<Full>();
    let generation = HEADER + offset_of(StationOf::<Full>::FIELDS, "generation");
    put_half(&mut first, generation, 2);
    let settled = |second: &[u8]| half_at(&settle(&first, second), generation);
    assert_eq!(settled(&first), 2);
    let mut second = first.clone();
    put_half(&mut second, generation, 4);
    assert_eq!(settled(&second), 5);
    // The first reading is too short to have the station.
    assert_eq!(
        half_at(&settle(&first[..HEADER + 9], &first), generation),
        3
    );
}
