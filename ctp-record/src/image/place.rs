//! Where in a dump a probe's memory is. Each place that may be it is judged as it lies there: the magic
//! may be in very many, and a copy for each would take as long as the dump is long.

use ctp_nostd::Refused;
use ctp_nostd::layout::{
    EXT_MAGIC, EXT_REV, Header, LAYOUT_HASH, MAGIC, MOST_STATIONS, Station, VERSION,
};

/// All from the first place on that starts with the magic and is cTP; nothing if there is none.
pub fn memory_in(dump: &[u8]) -> Option<Result<&[u8], Refused>> {
    let mut damaged = None;
    for start in places_of(dump, &MAGIC.to_le_bytes()) {
        let memory = &dump[start..];
        match check(memory) {
            Ok(()) => return Some(Ok(memory)),
            // The magic alone may be a constant of the program's code.
            Err(Refused::Version(_)) if damaged.is_some() => {}
            Err(refused) => damaged = Some(Err(refused)),
        }
    }
    damaged
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
    use crate::shm::Copy;

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
        assert_eq!(memory_in(&dump), Some(Ok(&dump[begin..])));
    }
}
