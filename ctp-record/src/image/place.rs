//! Where in a dump a probe's memory is. Each place that may be it is judged as it lies there: the magic
//! may be in very many, and a copy for each would take as long as the dump is long.

use ctp_nostd::Refused;
use ctp_nostd::layout::{
    EXT_MAGIC, EXT_REV, Header, LAYOUT_HASH, MAGIC, MOST_STATIONS, Station, VERSION,
};

/// A memory in a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'d> {
    /// All from there on.
    pub memory: &'d [u8],
    /// Where it begins.
    pub offset: usize,
    /// How many there are in the dump.
    pub of: usize,
}

/// The first one in which a coroutine was born: what a program's file holds for its memory may be in
/// the dump too, as it was before the program began. If there is none, the first one; nothing if there
/// is no memory.
pub fn memory_in(dump: &[u8]) -> Option<Result<Place<'_>, Refused>> {
    let (mut found, mut damaged): (Option<Place<'_>>, _) = (None, None);
    for offset in places_of(dump, &MAGIC.to_le_bytes()) {
        let memory = &dump[offset..];
        match check(memory) {
            Ok(()) => found = Some(Place::or_better(found, memory, offset)),
            // The magic alone may be a constant of the program's code.
            Err(Refused::Version(_)) if damaged.is_some() => {}
            Err(refused) => damaged = Some(refused),
        }
    }
    found.map(Ok).or(damaged.map(Err))
}

impl<'d> Place<'d> {
    /// This one, unless what was found before is as good.
    fn or_better(before: Option<Self>, memory: &'d [u8], offset: usize) -> Self {
        let of = 1 + before.map_or(0, |it| it.of);
        let is_lived_in = |memory: &[u8]| 0 < field(memory, "allocated_count");
        let is_better = |it: &Place<'_>| is_lived_in(it.memory) || !is_lived_in(memory);
        match before.filter(is_better) {
            Some(before) => Place { of, ..before },
            None => Place { memory, offset, of },
        }
    }
}

fn places_of<'d>(dump: &'d [u8], magic: &'d [u8; 8]) -> impl Iterator<Item = usize> + 'd {
    dump.windows(magic.len())
        .enumerate()
        .filter_map(move |(start, bytes)| (bytes == magic).then_some(start))
}

/// What a [`Region`](ctp_nostd::Region) of a copy would say, which starts with the magic. Besides, nothing is
/// missing behind the stations, where the tables of sites and names are.
fn check(memory: &[u8]) -> Result<(), Refused> {
    let found = memory.len();
    let at_least = |needed| match found < needed {
        true => Err(Refused::TooShort(found, needed)),
        false => Ok(()),
    };
    at_least(size_of::<Header>())?;
    let version = field(memory, "version") as u32;
    if version != VERSION {
        return Err(Refused::Version(version));
    }
    let stations = field(memory, "max_stations").min(MOST_STATIONS.into()) as usize;
    if stations == 0 {
        return Err(Refused::NoStations);
    }
    at_least(size_of::<Header>() + stations * size_of::<Station>())?;
    match is_extended(memory) {
        true => at_least(field(memory, "file_bytes") as usize),
        false => Ok(()),
    }
}

fn is_extended(memory: &[u8]) -> bool {
    field(memory, "ext_magic") == EXT_MAGIC
        && field(memory, "ext_version") == EXT_REV.into()
        && field(memory, "layout_hash") == LAYOUT_HASH
}

/// A number in the header.
fn field(memory: &[u8], name: &str) -> u64 {
    let mut fields = Header::FIELDS.iter();
    let field = fields.find(|(it, _, _)| *it == name);
    let bytes = field.and_then(|&(_, at, size)| memory.get(at..at + size));
    let bytes = bytes.unwrap_or_default().iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::shm::Copy;

    /// With these words of the header.
    fn memory(bytes: usize, words: &[(&str, u64)]) -> Vec<u8> {
        let mut memory = vec![0; bytes.max(size_of::<Header>())];
        for &(name, at, size) in Header::FIELDS {
            let word = words.iter().find(|(it, _)| *it == name);
            let word = word.map_or(0, |(_, word)| *word).to_le_bytes();
            let size = size.min(8);
            memory[at..at + size].copy_from_slice(&word[..size]);
        }
        memory.truncate(bytes);
        memory
    }

    /// By a copy.
    fn verdict_of_a_region(memory: &[u8], promised: u64) -> Result<(), Refused> {
        let copy = Copy::of(memory).expect("there is memory for it");
        let is_short = (memory.len() as u64) < promised;
        match copy.region()?.extended && is_short {
            true => Err(Refused::TooShort(memory.len(), promised as usize)),
            false => Ok(()),
        }
    }

    fn mostly(usual: u64, other: u64) -> impl Strategy<Value = u64> {
        prop_oneof![5 => Just(usual), 1 => Just(other)]
    }

    proptest! {
        #[test]
        fn a_place_is_judged_as_a_region_of_a_copy_would(
            bytes in prop_oneof![8..1100_usize, 1100..9000_usize],
            version in mostly(1, 2),
            stations in prop_oneof![5 => 0..9_u64, 1 => Just(u32::MAX.into())],
            promised in prop_oneof![5 => 0..9000_u64, 1 => Just(u64::MAX)],
            ext_magic in mostly(EXT_MAGIC, 1),
            ext_version in mostly(EXT_REV.into(), 2),
            layout_hash in mostly(LAYOUT_HASH, 3),
        ) {
            let memory = memory(bytes, &[
                ("magic", MAGIC),
                ("version", version),
                ("max_stations", stations),
                ("ext_magic", ext_magic),
                ("ext_version", ext_version),
                ("layout_hash", layout_hash),
                ("file_bytes", promised),
            ]);
            prop_assert_eq!(check(&memory), verdict_of_a_region(&memory, promised));
        }
    }

    #[test]
    fn a_dump_that_is_full_of_the_magic_is_read_in_no_time() {
        let mut dump = MAGIC.to_le_bytes().repeat(1 << 17);
        // What the last place says.
        assert_eq!(memory_in(&dump), Some(Err(Refused::TooShort(8, 1024))));
        let begin = dump.len();
        dump.extend(memory(
            2048,
            &[("magic", MAGIC), ("version", 1), ("max_stations", 1)],
        ));
        let place = memory_in(&dump)
            .expect("there is one")
            .expect("it is whole");
        assert_eq!(
            (place.memory, place.offset, place.of),
            (&dump[begin..], begin, 1)
        );
    }

    #[test]
    fn a_memory_in_which_a_coroutine_was_born_goes_before_one_as_the_program_found_it() {
        let of = |coroutines| {
            let words = [
                ("magic", MAGIC),
                ("version", 1),
                ("max_stations", 1),
                ("allocated_count", coroutines),
            ];
            memory(2048, &words)
        };
        let taken = |coroutines: [u64; 3]| {
            let dump = coroutines.map(of).concat();
            let place = memory_in(&dump).expect("there are some");
            let place = place.expect("they are whole");
            assert_eq!(place.of, 3);
            place.offset / 2048
        };
        assert_eq!(taken([0, 0, 0]), 0);
        assert_eq!(taken([0, 1, 0]), 1);
        assert_eq!(taken([0, 2, 1]), 1);
        assert_eq!(taken([1, 2, 0]), 0);
    }
}
