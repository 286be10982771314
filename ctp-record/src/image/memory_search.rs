//! Searches a dump for a probe's memory. Each candidate is checked in place: the magic may occur very often, and a copy
//! of a candidate may be as large as the rest of the dump.

use ctp_nostd::Refused;
use ctp_nostd::layout::{
    Compact, EXT_MAGIC, EXT_REV, Full, Header, Layout, MAX_STATIONS, StationOf, VERSION,
};

use super::words::{field, word_at};

/// A memory in a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLocation<'d> {
    /// The memory, and all bytes of the dump behind it.
    pub memory: &'d [u8],
    /// Its offset in the dump.
    pub offset: usize,
    /// The number of memories in the dump.
    pub count: usize,
}

/// The first memory in which a coroutine was born, else the first memory. The dump may also contain the initial content
/// of the memory, from the program's file, in which no coroutine was born. `None` if the dump holds no memory.
pub fn memory_in(dump: &[u8]) -> Option<Result<MemoryLocation<'_>, Refused>> {
    let (mut found, mut damaged): (Option<MemoryLocation<'_>>, _) = (None, None);
    for offset in offsets_of_magics(dump) {
        let memory = &dump[offset..];
        match check(memory) {
            Ok(()) => found = Some(MemoryLocation::or_better(found, memory, offset)),
            // The magic alone may be a constant of the program's code.
            Err(Refused::Version(_)) if damaged.is_some() => {}
            Err(refused) => damaged = Some(refused),
        }
    }
    found.map(Ok).or(damaged.map(Err))
}

impl<'d> MemoryLocation<'d> {
    /// The better of the memory found before and a further memory.
    fn or_better(before: Option<Self>, memory: &'d [u8], offset: usize) -> Self {
        let count = 1 + before.map_or(0, |before| before.count);
        match before.filter(|before| has_coroutines(before.memory) || !has_coroutines(memory)) {
            Some(before) => MemoryLocation { count, ..before },
            None => MemoryLocation {
                memory,
                offset,
                count,
            },
        }
    }
}

fn has_coroutines(memory: &[u8]) -> bool {
    0 < field(memory, "allocated_count")
}

/// Where the dump has the first word of a memory, in either layout.
fn offsets_of_magics(dump: &[u8]) -> impl Iterator<Item = usize> {
    let magics = [Full::MAGIC, Compact::MAGIC].map(u64::to_le_bytes);
    let words = dump.windows(size_of::<u64>()).enumerate();
    words.filter_map(move |(start, word)| magics.iter().any(|magic| magic == word).then_some(start))
}

fn at_least(memory: &[u8], needed: usize) -> Result<(), Refused> {
    if memory.len() < needed {
        Err(Refused::TooShort(memory.len(), needed))
    } else {
        Ok(())
    }
}

/// Checks memory that begins with the magic of either layout.
fn check(memory: &[u8]) -> Result<(), Refused> {
    if word_at(memory, 0) == Compact::MAGIC {
        check_as::<Compact>(memory)
    } else {
        check_as::<Full>(memory)
    }
}

/// Whether a [`RegionOf`](ctp_nostd::RegionOf) of a copy would accept the memory, which begins with the magic.
/// Also requires the tables of sites and names behind the stations to be complete.
fn check_as<L: Layout>(memory: &[u8]) -> Result<(), Refused> {
    at_least(memory, size_of::<Header>())?;
    let version = field(memory, "version") as u32;
    if version != VERSION {
        return Err(Refused::Version(version));
    }
    if L::STATION_BYTES != 0 {
        check_sizes::<L>(memory)?;
    }
    let stations = field(memory, "max_stations").min(MAX_STATIONS.into()) as usize;
    if stations == 0 {
        return Err(Refused::NoStations);
    }
    at_least(
        memory,
        size_of::<Header>() + stations * size_of::<StationOf<L>>(),
    )?;
    if is_extended::<L>(memory) {
        at_least(memory, field(memory, "file_bytes") as usize)
    } else {
        Ok(())
    }
}

/// Checks the sizes of stations and entries, which memory of the full layout does not state.
fn check_sizes<L: Layout>(memory: &[u8]) -> Result<(), Refused> {
    let station_bytes = field(memory, "station_bytes") as u32;
    if station_bytes != L::STATION_BYTES {
        return Err(Refused::StationBytes(station_bytes));
    }
    let layout_hash = field(memory, "layout_hash");
    if layout_hash != L::HASH {
        return Err(Refused::LayoutHash(layout_hash));
    }
    Ok(())
}

fn is_extended<L: Layout>(memory: &[u8]) -> bool {
    field(memory, "ext_magic") == EXT_MAGIC
        && field(memory, "ext_version") == EXT_REV.into()
        && field(memory, "layout_hash") == L::HASH
}

#[cfg(test)]
mod tests {
    use ctp_nostd::layout::{LAYOUT_HASH, MAGIC};
    use proptest::prelude::*;

    use super::*;
    use crate::memory::shm::Copy;

    /// A memory with these words in its header.
    fn memory(bytes: usize, words: &[(&str, u64)]) -> Vec<u8> {
        let mut memory = vec![0; bytes.max(size_of::<Header>())];
        for field in Header::FIELDS {
            let word = words.iter().find(|(word, _)| *word == field.name);
            let word = word.map_or(0, |(_, word)| *word).to_le_bytes();
            let bytes = field.bytes.min(8);
            memory[field.offset..field.offset + bytes].copy_from_slice(&word[..bytes]);
        }
        memory.truncate(bytes);
        memory
    }

    /// What a region of a copy accepts.
    fn verdict_of_a_region(memory: &[u8], promised: u64) -> Result<(), Refused> {
        let copy = Copy::of(memory).expect("there is memory for it");
        let is_short = (memory.len() as u64) < promised;
        if copy.region()?.is_extended && is_short {
            Err(Refused::TooShort(memory.len(), promised as usize))
        } else {
            Ok(())
        }
    }

    fn mostly(usual: u64, other: u64) -> impl Strategy<Value = u64> {
        prop_oneof![5 => Just(usual), 1 => Just(other)]
    }

    proptest! {
        #[test]
        fn check_agrees_with_a_region_of_a_copy(
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
    fn dump_full_of_the_magic_is_read_fast() {
        let mut dump = MAGIC.to_le_bytes().repeat(1 << 17);
        // The result of the last candidate.
        assert_eq!(memory_in(&dump), Some(Err(Refused::TooShort(8, 1024))));
        let begin = dump.len();
        dump.extend(memory(
            2048,
            &[("magic", MAGIC), ("version", 1), ("max_stations", 1)],
        ));
        let location = memory_in(&dump)
            .expect("the dump has a memory")
            .expect("the memory is whole");
        assert_eq!(
            (location.memory, location.offset, location.count),
            (&dump[begin..], begin, 1)
        );
    }

    #[test]
    fn memory_with_a_coroutine_is_preferred() {
        let taken = |coroutines: [u64; 3]| {
            let dump = coroutines
                .map(|coroutines| {
                    let words = [
                        ("magic", MAGIC),
                        ("version", 1),
                        ("max_stations", 1),
                        ("allocated_count", coroutines),
                    ];
                    memory(2048, &words)
                })
                .concat();
            let location = memory_in(&dump).expect("the dump has memories");
            let location = location.expect("the memories are whole");
            assert_eq!(location.count, 3);
            location.offset / 2048
        };
        assert_eq!(taken([0, 0, 0]), 0);
        assert_eq!(taken([0, 1, 0]), 1);
        assert_eq!(taken([0, 2, 1]), 1);
        assert_eq!(taken([1, 2, 0]), 0);
    }
}
